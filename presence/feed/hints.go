package feed

import (
	"context"
	"strconv"
	"strings"
	"sync"

	"github.com/rollcall-go/rollcall/internal/wait"
)

// hints waits to tell other nodes which feeds have a new revision. The text is a line
// "<revision> <name>" for each feed, and says nothing else (rule F9).
type hints struct {
	mu     sync.Mutex
	latest map[Name]int64
	kick   wait.Wakeup
}

// Bounds of hints. What is dropped is healed by the next check.
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

// texts returns all hints that wait, as texts.
func (h *hints) texts() []string {
	h.mu.Lock()
	latest := h.latest
	h.latest = make(map[Name]int64)
	h.mu.Unlock()
	var all []string
	var text strings.Builder
	for name, rev := range latest {
		if text.Len() > 0 && text.Len()+len(name)+24 > maxHintBytes {
			all = append(all, text.String())
			text.Reset()
		}
		if text.Len() > 0 {
			text.WriteByte('\n')
		}
		text.WriteString(strconv.FormatInt(rev, 10) + " " + string(name))
	}
	if text.Len() > 0 {
		all = append(all, text.String())
	}
	return all
}

// changed tells this node, and then all others, that feeds have new revisions.
func (k *Keeper) changed(all ...Hint) {
	if len(all) == 0 {
		return
	}
	for _, h := range all {
		k.hinted(h)
	}
	k.hints.add(all)
}

// hinted has a feed read if a page here follows it and does not have the revision.
func (k *Keeper) hinted(h Hint) bool {
	l := k.lines.find(h.Name)
	if l == nil {
		return false
	}
	if v := l.view.Load(); !v.known || h.Rev > v.head.Rev {
		k.reading.want(h.Name)
	}
	return true
}

// tell sends hints until ctx ends.
func (k *Keeper) tell(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-k.hints.kick:
		}
		for _, text := range k.hints.texts() {
			bound, cancel := context.WithTimeout(ctx, patience)
			if k.tracker.Hint(bound, text) == nil {
				k.count(&k.stats.hintsSent, uint64(strings.Count(text, "\n")+1))
			}
			cancel()
		}
	}
}

// Hear implements presence.Source. A hint may be forged: it leads to one read of a feed that
// pages here follow, and to no more (rule F9).
func (k *Keeper) Hear(node, text string) {
	if node == k.tracker.Config().Node { // changed has told this node
		return
	}
	for hint := range strings.Lines(text) {
		rev, name, ok := strings.Cut(strings.TrimSuffix(hint, "\n"), " ")
		r, err := strconv.ParseInt(rev, 10, 64)
		if ok && err == nil && k.hinted(Hint{Name(name), r}) {
			k.count(&k.stats.hintsHeard, 1)
		}
	}
}
