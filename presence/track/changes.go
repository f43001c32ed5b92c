package track

import (
	"context"
	"iter"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// A Change is what [Tracker.Changes] yields: one step of a topic.
type Change struct {
	Topic  presence.Topic
	Cursor presence.Cursor // resume after this change with it
	Total  int             // visible users online after the change

	// State means that Joins is the whole roster: users who are not in it are gone. The first change without
	// a cursor is a State, and so is each change after a gap in the log.
	State  bool
	Joins  []presence.Member   // users who came, or have a new profile
	Leaves []backend.Departure // users who left
}

// changesOf is [Tracker.Changes].
func changesOf(ctx context.Context, o *opener, topic presence.Topic, from presence.Cursor) iter.Seq2[Change, error] {
	return func(yield func(Change, error) bool) {
		c, err := o.open(ctx, ConnectOptions{Topics: []presence.Topic{topic}, Cursor: from, Observe: true, Limit: 1})
		if err != nil {
			if ctx.Err() == nil {
				yield(Change{}, err)
			}
			return
		}
		defer c.Close()
		for {
			d := c.next(c.topics()[0], nil)
			for _, f := range d.all() {
				if change, ok := changeOf(&f); ok && !yield(change, nil) {
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

// changeOf returns the change in a frame, and false for a frame that has only figures.
func changeOf(f *frame) (Change, bool) {
	c := Change{Topic: f.Topic, Cursor: f.Cursor}
	switch said := f.content.(type) {
	case *View:
		c.State, c.Total, c.Joins = true, said.Total, members(said.newestOfAll(said.Total))
	case *net:
		c.Total, c.Joins, c.Leaves = said.total, members(said.joins), said.leaves
	default:
		return Change{}, false
	}
	return c, true
}
