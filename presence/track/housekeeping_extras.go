package track

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/internal/wait"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// How often the store is asked for the extras of a topic that is loaded here. If a record grows, it is asked
// at once. Bots that stayed the same in botsRest answers in a row are asked for as seldom as records.
const (
	botsEvery = 2 * time.Second
	peakEvery = 10 * time.Second
	botsRest  = 5
)

// asksExtras reports whether a topic of any kind has extras.
func (c *Config) asksExtras() bool {
	for _, k := range c.Kinds {
		if k.Peak || k.Bots {
			return true
		}
	}
	return false
}

// extrasReader reads what the store keeps beside rosters: records and bots.
type extrasReader struct {
	store  backend.Store
	writer *writer
	peaks  *peaks
}

// keep asks the store for the records and bots of the topics here, in one round trip for all that are due,
// until ctx ends.
func (x *extrasReader) keep(ctx context.Context, t *topics) {
	for wait.For(ctx, houseKeeping) {
		x.refresh(ctx, t)
	}
}

func (x *extrasReader) refresh(ctx context.Context, t *topics) {
	var due []*replica
	var topics []presence.Topic
	for _, r := range t.all() {
		if r.extrasAreDue() {
			due, topics = append(due, r), append(topics, r.out.topic)
		}
	}
	if len(due) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, applyTimeout)
	defer cancel()
	extras, err := x.store.Extras(ctx, topics...)
	if err != nil || len(extras) != len(due) {
		return // the next tick asks again
	}
	for i, r := range due {
		r.setExtras(x.take(r.out.topic, r.kind, extras[i]))
	}
}

// load returns the extras of a topic that is being loaded, and whether they are known.
// It costs one round trip for a topic whose kind has any.
func (x *extrasReader) load(ctx context.Context, topic presence.Topic, kind presence.Kind) (now backend.Extras, known bool) {
	if !kind.Peak && !kind.Bots {
		return backend.Extras{}, true
	}
	extras, err := x.store.Extras(ctx, topic)
	if err != nil || len(extras) != 1 {
		return backend.Extras{}, false // housekeeping asks again
	}
	return x.take(topic, kind, extras[0]), true
}

// take returns those of the store's extras that the kind asks for. If this node remembers a better record,
// the store has lost data, and take sends it the record.
func (x *extrasReader) take(topic presence.Topic, kind presence.Kind, stored backend.Extras) (now backend.Extras) {
	if kind.Bots {
		now.Bots = namedBots(stored.Bots)
	}
	if kind.Peak {
		best, better := x.peaks.merge(topic, stored.Peak)
		if now.Peak = best; better {
			x.writer.add(topic, backend.Op{Kind: backend.OpPeak, Peak: best})
		}
	}
	return now
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

// topicExtras are the extras of a topic that is loaded here, and decide when the store is asked for them. The
// outlet's mutex guards them.
type topicExtras struct {
	latest   backend.Extras
	answered time.Time // when the store answered; zero: not since the topic was loaded
	same     int32     // answers in a row that changed nothing
	total    int32     // users online when that question was asked
	asking   int32     // users online when the latest question was asked
	turn     uint16    // a number that changes with latest, and wraps around
}

// due reports whether the store must be asked now. users and guests are those online, as this node knows them.
func (x *topicExtras) due(kind presence.Kind, users, guests int) bool {
	total, since := users, time.Since(x.answered)
	if kind.PeakGuests {
		total += guests
	}
	x.asking = int32(total)
	grown := kind.Peak && total > x.latest.Peak.Total && total > int(x.total)
	return grown || since >= peakEvery || kind.Bots && since >= botsEvery && x.same < botsRest
}

// answer takes the store's answer, and reports whether it has changed anything.
func (x *topicExtras) answer(now backend.Extras) (changed bool) {
	x.answered, x.total = time.Now(), x.asking
	x.same++
	if changed = x.merge(now); changed {
		x.same = 0
	}
	return changed
}

// restart takes the extras of a topic that was read.
func (x *topicExtras) restart(now stored) {
	x.answered, x.same, x.total, x.asking = time.Time{}, 0, 0, 0
	if now.known {
		x.answered, x.total = time.Now(), int32(now.counts.Total)
		x.merge(now.extras)
	}
}

// merge takes extras, and reports whether they have changed.
func (x *topicExtras) merge(now backend.Extras) (changed bool) {
	now.Peak = x.latest.Peak.Better(now.Peak) // a later answer may have overtaken this one
	if samePeak(now.Peak, x.latest.Peak) && maps.Equal(now.Bots, x.latest.Bots) {
		return false
	}
	x.latest = now
	x.turn++
	return true
}

// extrasAreDue reports whether the store must be asked.
func (r *replica) extrasAreDue() bool {
	if !r.kind.Peak && !r.kind.Bots {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ledger.loaded() && !r.closed && r.extras.due(r.kind, r.ledger.total(), r.counts.Guests)
}

// setExtras takes the extras of a topic for which the store was asked, and makes a new View if they have changed.
func (r *replica) setExtras(now backend.Extras) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed && r.extras.answer(now) {
		r.showFiguresLocked()
	}
}

// setPeak applies a record from a notice.
func (r *replica) setPeak(p backend.Peak) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed && r.ledger.loaded() && r.extras.merge(backend.Extras{Peak: p, Bots: r.extras.latest.Bots}) {
		r.showFiguresLocked()
	}
}
