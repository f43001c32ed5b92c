package handlers

// An agenda is a heap of a shard's streams, ordered by when they are due. A stream that was served early keeps
// its place, so it may come to the top too early: about once a heartbeat.
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
