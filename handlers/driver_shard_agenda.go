package handlers

// An agenda is the heap of a shard's streams, the one that is due first at the top. A
// stream that was served before it was due stays in its place, so it may come to the
// top too early: about once a heartbeat.
type agenda []*shardStream

func (a agenda) Len() int           { return len(a) }
func (a agenda) Less(i, j int) bool { return a[i].due.Before(a[j].due) }
func (a agenda) Swap(i, j int) {
	a[i], a[j] = a[j], a[i]
	a[i].place, a[j].place = i, j
}

func (a *agenda) Push(s any) {
	s.(*shardStream).place = len(*a)
	*a = append(*a, s.(*shardStream))
}

func (a *agenda) Pop() any {
	last := len(*a) - 1
	s := (*a)[last]
	(*a)[last] = nil
	*a = (*a)[:last]
	return s
}
