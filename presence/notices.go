package presence

import (
	"context"
	"time"
)

// said are this node's latest notices, so that a store that did not take one, or
// lost it before all had heard it, is told again. The tracker's mutex guards it.
type said map[Notice]*saying // by notice, without what a later one replaces

type saying struct {
	notice Notice
	at     time.Time // when it happened
	told   bool      // the store has it
}

// saidFor is how long a notice is kept that the store took: any node that is not
// cut off has heard it by then.
const saidFor = time.Minute

// tell makes every node hear a notice, now or once the store is back. A status
// that the store does not take is not set: its user is told so.
func (t *Tracker) tell(ctx context.Context, n Notice) error {
	at := time.Now()
	err := t.store.Notify(ctx, n)
	if err == nil || n.StatusOf == "" {
		key := n.key()
		t.mu.Lock()
		t.said.add(key, &saying{notice: n, at: at, told: err == nil}, t.cfg.Pending)
		t.mu.Unlock()
	}
	return storeOut(err)
}

// add takes a notice, unless there is no room for one more that is of the moment.
// Sign-outs and statuses have room of their own, which nothing else takes.
func (s said) add(key Notice, saying *saying, room int) {
	if _, known := s[key]; !known && len(s) >= room && !saying.notice.Lasts() {
		return
	}
	s[key] = saying
}

// outdate forgets a status that was said here, and that another one replaced since:
// nobody may be told of it again.
func (s said) outdate(n Notice) {
	key := n.key()
	if mine := s[key]; mine != nil && mine.notice.Status != n.Status {
		delete(s, key)
	}
}

// key names what a later notice replaces.
func (n Notice) key() Notice {
	n.Status, n.Ago = "", 0
	return n
}

// lost makes what was said lately be told again, to a store that lost data.
func (s said) lost() {
	for _, saying := range s {
		saying.told = false
	}
}

// retell tells what the store has not got, and forgets what is old. It reports
// whether the store has it all.
func (t *Tracker) retell(ctx context.Context) bool {
	t.mu.Lock()
	var due []*saying
	for key, saying := range t.said {
		if !saying.told {
			due = append(due, saying)
		} else if time.Since(saying.at) > saidFor {
			delete(t.said, key)
		}
	}
	t.mu.Unlock()
	for _, saying := range due {
		late := saying.notice
		late.Ago = time.Since(saying.at)
		if t.store.Notify(ctx, late) != nil {
			return false
		}
		t.mu.Lock()
		saying.told = true
		t.mu.Unlock()
	}
	return true
}
