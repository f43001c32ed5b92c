package feed

import (
	"context"
	"iter"
	"strconv"
	"strings"
	"sync"

	"github.com/rollcall-go/rollcall/internal/wait"
	"github.com/rollcall-go/rollcall/presence/track"
)

// A hinter tells the other nodes which feeds have a new revision.
type hinter struct {
	tracker  *track.Tracker
	stats    *counters
	follower *follower // of this node
	hints    *hints
}

// hints waits to tell other nodes which feeds have a new revision. The text is a line
// "<revision> <name>" for each feed, and says nothing else (rule F9).
type hints struct {
	mu     sync.Mutex
	latest map[Name]int64
	kick   wait.Wakeup
}

// Bounds of hints. A dropped hint does no harm, because the next check finds the change.
const (
	maxHintBytes    = 2 << 10 // in one text
	maxHintsWaiting = 100_000 // feeds, while the presence store is out
)

func newHints() *hints { return &hints{latest: make(map[Name]int64), kick: wait.NewWakeup()} }

// add takes hints to send. It does not block.
func (h *hints) add(changed []Hint) {
	h.mu.Lock()
	for _, c := range changed {
		if _, known := h.latest[c.Name]; known || len(h.latest) < maxHintsWaiting {
			h.latest[c.Name] = max(h.latest[c.Name], c.Rev)
		}
	}
	h.mu.Unlock()
	h.kick.Wake()
}

// take returns the hints that wait, and forgets them.
func (h *hints) take() (all []Hint) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for name, rev := range h.latest {
		all = append(all, Hint{name, rev})
	}
	clear(h.latest)
	return all
}

// hintTexts iterates over the texts of some hints, with the hints that are in each text, in order.
func hintTexts(all []Hint) iter.Seq2[string, []Hint] {
	return func(yield func(string, []Hint) bool) {
		for len(all) > 0 {
			var text strings.Builder
			n := 0
			for ; n < len(all) && (n == 0 || text.Len()+len(all[n].Name)+24 <= maxHintBytes); n++ {
				if n > 0 {
					text.WriteByte('\n')
				}
				text.WriteString(strconv.FormatInt(all[n].Rev, 10) + " " + string(all[n].Name))
			}
			if !yield(text.String(), all[:n]) {
				return
			}
			all = all[n:]
		}
	}
}

// changed tells this node, and then all others, that feeds have new revisions.
func (h *hinter) changed(all ...Hint) {
	if len(all) == 0 {
		return
	}
	for _, one := range all {
		h.follower.hinted(one)
	}
	h.hints.add(all)
}

// hinted schedules a read of a feed, if a page here follows it and it lacks the revision.
func (f *follower) hinted(h Hint) bool {
	l := f.states.find(h.Name)
	if l == nil {
		return false
	}
	if v := l.view.Load(); !v.known || h.Rev > v.head.Rev {
		f.reading.want(h.Name)
	}
	return true
}

// tell sends hints until ctx ends. It repeats those that the presence store did not accept.
func (h *hinter) tell(ctx context.Context) {
	for wait.Until(ctx, h.hints.kick, -1) {
		for !h.tellAll(ctx) {
			if !wait.For(ctx, retryOut) {
				return
			}
		}
	}
}

// tellAll sends the waiting hints. It returns false if the store did not accept one.
func (h *hinter) tellAll(ctx context.Context) bool {
	latest := h.hints.take()
	for text, of := range hintTexts(latest) {
		bound, cancel := context.WithTimeout(ctx, patience)
		err := h.tracker.Hint(bound, text)
		cancel()
		if err != nil {
			h.hints.add(latest)
			return false
		}
		h.stats.hintsSent.Add(uint64(len(of)))
		latest = latest[len(of):]
	}
	return true
}

// Hear implements track.LineSource. A hint may be forged. All that it can cause is one read of a feed that
// pages here follow (rule F9).
func (h *hinter) Hear(node, text string) {
	if node == h.tracker.Config().Node { // changed has already told this node
		return
	}
	for hint := range strings.Lines(text) {
		rev, name, ok := strings.Cut(strings.TrimSuffix(hint, "\n"), " ")
		r, err := strconv.ParseInt(rev, 10, 64)
		if ok && err == nil && h.follower.hinted(Hint{Name(name), r}) {
			h.stats.hintsHeard.Add(1)
		}
	}
}
