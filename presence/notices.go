package presence

import (
	"context"
	"maps"
	"time"
)

// tell makes every node hear a notice, now or once the store is back. A status
// that the store does not take is not set: its user is told so.
func (t *Tracker) tell(ctx context.Context, n Notice) error {
	at := time.Now()
	err := t.store.Notify(ctx, n)
	if err != nil && n.StatusOf == "" {
		t.mu.Lock()
		if len(t.untold) < t.cfg.Pending {
			t.untold[n] = at
		}
		t.mu.Unlock()
	}
	return storeOut(err)
}

// retell tells what the store did not take. The caller found it to be back.
func (t *Tracker) retell(ctx context.Context) {
	t.mu.Lock()
	waiting := maps.Clone(t.untold)
	t.mu.Unlock()
	for n, at := range waiting {
		late := n
		late.Ago = time.Since(at)
		if t.store.Notify(ctx, late) != nil {
			return
		}
		t.mu.Lock()
		if t.untold[n].Equal(at) {
			delete(t.untold, n)
		}
		t.mu.Unlock()
	}
}
