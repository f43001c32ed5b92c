package track

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/presence/backend"
)

// asked returns those of the store's figures that the topic's kind asks for. If this node remembers a better
// record, the store has lost data, and asked sends it the record.
func (r *replica) asked(c backend.Counts) backend.Counts {
	if c.Bots = namedBots(c.Bots); !r.kind.Bots {
		c.Bots = nil
	}
	if !r.kind.Peak {
		c.Peak = backend.Peak{}
		return c
	}
	best, better := r.peaks.merge(r.out.topic, c.Peak)
	if c.Peak = best; better {
		r.writer.add(r.out.topic, backend.Op{Kind: backend.OpPeak, Peak: best})
	}
	return c
}

// maxBotNames bounds the names of bots in a topic's figures, since each heartbeat may have them.
const maxBotNames = 32

// namedBots returns how many bots each name has, for the names with the most. The bots of all others are
// [backend.OtherBots].
func namedBots(bots map[string]int) map[string]int {
	if len(bots) <= maxBotNames {
		return bots
	}
	names := slices.SortedFunc(maps.Keys(bots), func(a, b string) int {
		return cmp.Or(bots[b]-bots[a], strings.Compare(a, b))
	})
	named := make(map[string]int, maxBotNames+1)
	for i, name := range names {
		n := bots[name]
		if i >= maxBotNames {
			name = backend.OtherBots
		}
		named[name] += n
	}
	return named
}

// A figurePace lets figures change at most twice a second, whichever code asks for them, because each change
// is a heartbeat to every reader.
type figurePace struct {
	last time.Time
	gap  time.Duration // time between the latest two changes; at most twice houseKeeping
}

// jitter is how much too early an answer may come, if the previous one came late.
const jitter = 100 * time.Millisecond

// pass reports whether figures may change now, and counts the change.
func (p *figurePace) pass() bool {
	now := time.Now()
	gap := min(now.Sub(p.last), 2*houseKeeping)
	if gap+p.gap < 2*houseKeeping-jitter {
		return false
	}
	p.last, p.gap = now, gap
	return true
}

// takeLocked takes figures, unless they have changed a moment ago, and reports whether they differ from those of
// the View. A topic that was stale takes them at once.
func (r *replica) takeLocked(c backend.Counts) (differ bool) {
	c.Peak = r.counts.Peak.Better(c.Peak) // a later answer may have overtaken this one
	differ, stale := !r.view.Load().tells(c), !r.staleSince.IsZero()
	if differ && r.pace.pass() || stale {
		r.counts, r.staleSince = c, time.Time{}
		r.showFiguresLocked()
	}
	return differ || stale
}

// takeFigures applies figures that showFigures asked for. Unlike refresh it does not look for gaps, because a
// diff that is under way is not missing.
func (r *replica) takeFigures(c backend.Counts) {
	c = r.asked(c)
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed && r.ledger.loaded() && r.staleSince.IsZero() {
		r.takeLocked(c)
	}
}

// setPeak applies a record from a notice.
func (r *replica) setPeak(p backend.Peak) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if best := r.counts.Peak.Better(p); !r.closed && r.ledger.loaded() && !samePeak(best, r.counts.Peak) {
		r.counts.Peak = best
		r.showFiguresLocked()
	}
}
