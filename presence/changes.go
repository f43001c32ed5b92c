package presence

import (
	"context"
	"iter"
)

// A Change is what [Tracker.Changes] yields: one step of a topic.
type Change struct {
	Topic  Topic
	Cursor Cursor // go on from here another time
	Total  int    // visible users online after it

	// State says that Joins is the whole roster, in which whoever is missing is
	// gone: the first change without a cursor, and whenever the log does not
	// reach back.
	State  bool
	Joins  []Member    // who came, or has a new profile
	Leaves []Departure // who went
}

// Changes yields what happens in a topic, to a Go program as events do to a
// page: from a cursor on, or from the state of now where it is empty. It ends
// when ctx does or the loop breaks, with [ErrClosed] when the tracker closes,
// and with [ErrStoreOut] if nothing is known of the topic. A loop body that is
// slow gets a state instead of what it missed; it holds nobody up.
//
//	for change, err := range tracker.Changes(ctx, presence.Site, "") {
//		…
//	}
func (t *Tracker) Changes(ctx context.Context, topic Topic, from Cursor) iter.Seq2[Change, error] {
	return func(yield func(Change, error) bool) {
		c, err := t.Connect(ctx, ConnectOptions{Topics: []Topic{topic}, Cursor: from, Observe: true, Limit: 1})
		if err != nil {
			if ctx.Err() == nil {
				yield(Change{}, err)
			}
			return
		}
		defer c.Close()
		for {
			piece := c.next(c.topics()[0], 0, nil)
			for _, f := range piece.all() {
				if change, ok := f.change(); ok && !yield(change, nil) {
					return
				}
			}
			select {
			case <-c.Ready():
			case <-c.Done():
				yield(Change{}, c.Err())
				return
			case <-ctx.Done():
				return
			}
		}
	}
}

// change returns the frame for Go programs, and false for one that only counts.
func (f frame) change() (Change, bool) {
	c := Change{Topic: f.Topic, Cursor: f.Cursor}
	switch f.Type {
	case EventState:
		c.State, c.Total, c.Joins = true, f.view.Total, f.view.Newest(f.view.Total)
	case EventDiff, EventCount:
		c.Total, c.Joins, c.Leaves = f.net.total, members(f.net.joins), f.net.leaves
	default:
		return Change{}, false
	}
	return c, true
}
