package handlers

// An agenda is a shard's streams, the one that has something to do first at the
// top. A stream that was served earlier than it expected stays where it is: it is
// found to be too early once a heartbeat.
type agenda []*wire

func (a agenda) Len() int           { return len(a) }
func (a agenda) Less(i, j int) bool { return a[i].due.Before(a[j].due) }
func (a agenda) Swap(i, j int) {
	a[i], a[j] = a[j], a[i]
	a[i].place, a[j].place = i, j
}

func (a *agenda) Push(w any) {
	w.(*wire).place = len(*a)
	*a = append(*a, w.(*wire))
}

func (a *agenda) Pop() any {
	last := len(*a) - 1
	w := (*a)[last]
	(*a)[last] = nil
	*a = (*a)[:last]
	return w
}
