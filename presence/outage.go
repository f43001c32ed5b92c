package presence

import (
	"log/slog"
	"time"
)

// The kinds of calls that tell whether the store is out: a server may still
// answer reads and refuse writes.
const (
	writes = iota
	reads
	calls
)

// allBack is about how long it takes, once one node finds the store to be back, until
// all do.
const allBack = time.Second

// catchUp is how long all nodes together need, once the store is back, to renew
// what they hold, or to put it back.
func (c *Config) catchUp() time.Duration {
	return min(c.TTL, c.Heartbeat()+2*backoffLast)
}

// long is how long an outage may be without harm to leases: each has twice as much
// left when it begins. Without one, some call goes well every houseKeeping.
func (c *Config) long() time.Duration { return max(c.TTL/3, 2*houseKeeping) }

// suspect takes it that the store was out until now.
func (w *writer) suspect() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.back = time.Now()
}

// isOut reports whether the latest write or read of the store failed.
func (w *writer) isOut() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out[writes] || w.out[reads]
}

// backFor returns for how long the store has been back from an outage in which
// leases may have expired, as far as this node knows (not at all, while a write
// takes long: others may wait behind it), and false while it is out or calls hang.
func (w *writer) backFor() (time.Duration, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.writesLong() {
		return 0, true
	}
	return time.Since(w.back), !w.out[writes] && !w.out[reads] && time.Since(w.heard) <= w.cfg.long()
}

// writesLong reports whether the write under way takes long: it may hang, also
// where reads go well. The caller holds mu.
func (w *writer) writesLong() bool { return !w.asked.IsZero() && time.Since(w.asked) > w.cfg.long() }

// report takes how the latest call of a kind went. It logs when the store goes
// out and when it is back, and nothing between.
func (w *writer) report(kind int, err error) {
	w.mu.Lock()
	was := w.out[writes] || w.out[reads]
	w.out[kind] = err != nil
	is := w.out[writes] || w.out[reads]
	if err == nil && !is {
		if w.writesLong() || time.Since(w.heard) > w.cfg.long() { // also where a call hung, and did not fail
			w.back = time.Now()
		}
		w.heard = time.Now()
	}
	if kind == writes {
		w.asked = time.Time{}
	}
	waiting := w.ops
	w.mu.Unlock()
	switch {
	case is && !was:
		w.cfg.Logger.Warn("presence: the store is out; pages go on, writes wait until it is back", slog.Any("error", err), slog.Int("waiting", waiting))
	case was && !is:
		w.cfg.Logger.Info("presence: the store is back")
	}
}
