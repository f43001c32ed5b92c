package track

import (
	"context"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// figureChanges asks a store which topics' figures changed. Only housekeeping uses it.
type figureChanges struct {
	store backend.Store
	mark  string // of the latest answer
}

// ask returns the topics that may have changed since the last call, or nil if all may have.
func (f *figureChanges) ask(ctx context.Context) (map[presence.Topic]bool, error) {
	c, err := f.store.Changes(ctx, f.mark)
	f.mark = c.Mark
	if err != nil || c.All {
		return nil, err
	}
	changed := make(map[presence.Topic]bool, len(c.Topics))
	for _, t := range c.Topics {
		changed[t] = true
	}
	return changed, nil
}
