package presence

import (
	"context"
	"time"
)

// said are this node's latest notices, so that a store that did not take one, or
// lost it before all had heard it, is told again. Sign-outs and statuses have room
// of their own, which nothing else takes. The tracker's mutex guards it.
type said struct {
	max     int                // of each kind
	lasting map[Notice]*saying // by notice, without what a later one replaces
	moment  map[Notice]*saying
}

func newSaid(max int) said {
	return said{max: max, lasting: make(map[Notice]*saying), moment: make(map[Notice]*saying)}
}

// like returns the notices of the kind of one.
func (s said) like(n Notice) map[Notice]*saying {
	if n.Lasting {
		return s.lasting
	}
	return s.moment
}

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
	err := t.store.Publish(ctx, n)
	if err == nil || n.Kind != NoticeStatus {
		t.mu.Lock()
		t.said.add(&saying{notice: n, at: at, told: err == nil})
		t.mu.Unlock()
	}
	return storeOut(err)
}

// add takes a notice, if there is room for one more of its kind.
func (s said) add(new *saying) {
	mine, key := s.like(new.notice), new.notice.key()
	if _, known := mine[key]; known || len(mine) < s.max {
		mine[key] = new
	}
}

// all yields every notice, and the map that it is in.
func (s said) all(yield func(*saying, map[Notice]*saying) bool) {
	for _, notices := range []map[Notice]*saying{s.lasting, s.moment} {
		for _, saying := range notices {
			if !yield(saying, notices) {
				return
			}
		}
	}
}

// outdate forgets a status that was said here, and that another one replaced since:
// nobody may be told of it again.
func (s said) outdate(n Notice) {
	key := n.key()
	if mine := s.lasting[key]; mine != nil && mine.notice.status() != n.status() {
		delete(s.lasting, key)
	}
}

// key names what a later notice replaces.
func (n Notice) key() Notice {
	if n.Ago = 0; n.Kind == NoticeStatus {
		n.Payload = ""
	}
	return n
}

// lost makes what was said lately be told again, to a store that lost data.
func (s said) lost() {
	for saying := range s.all {
		saying.told = false
	}
}

// retell tells what the store has not got, and forgets what is old. It reports
// whether the store has it all.
func (t *Tracker) retell(ctx context.Context) bool {
	t.mu.Lock()
	var due []*saying
	for saying, notices := range t.said.all {
		if !saying.told {
			due = append(due, saying)
		} else if time.Since(saying.at) > saidFor {
			delete(notices, saying.notice.key())
		}
	}
	t.mu.Unlock()
	for _, saying := range due {
		late := saying.notice
		late.Ago = time.Since(saying.at)
		if t.store.Publish(ctx, late) != nil {
			return false
		}
		t.mu.Lock()
		saying.told = true
		t.mu.Unlock()
	}
	return true
}
