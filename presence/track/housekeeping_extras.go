package track

import (
	"context"
	"maps"
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
	if kind.Peak && x.peaks.keeper != nil {
		x.peaks.keeper.load(topic)
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
		now.Bots = stored.Bots
	}
	if kind.Peak {
		best, better := x.peaks.merge(topic, stored.Peak)
		if now.Peak = best; better {
			x.writer.add(topic, backend.Op{Kind: backend.OpPeak, Peak: best})
		}
	}
	return now
}

// An extrasCheck decides when the store is asked for the extras of a topic.
type extrasCheck struct {
	answered time.Time // when the store answered; zero: not since the topic was loaded
	same     int32     // answers in a row that changed nothing
	total    int32     // users online when that question was asked
	asking   int32     // users online when the latest question was asked
}

// extrasAreDue reports whether the store must be asked.
func (r *replica) extrasAreDue() bool {
	if !r.kind.Peak && !r.kind.Bots {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.ledger.loaded() || r.closed {
		return false
	}
	total, since := r.peakTotalLocked(), time.Since(r.check.answered)
	r.check.asking = int32(total)
	grown := r.kind.Peak && total > r.extras.Peak.Total && total > int(r.check.total)
	return grown || since >= peakEvery || r.kind.Bots && since >= botsEvery && r.check.same < botsRest
}

// peakTotalLocked returns the users online, with guests if the record counts them, as this node knows them.
func (r *replica) peakTotalLocked() int {
	total := r.ledger.total()
	if r.kind.PeakGuests {
		total += r.counts.Guests
	}
	return total
}

// setExtras takes the extras of a topic.
func (r *replica) setExtras(now backend.Extras) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.check.answered, r.check.total = time.Now(), r.check.asking
	if r.check.same++; r.changeExtrasLocked(now) {
		r.check.same = 0
	}
}

// setPeak applies a record from a notice or from the site's table.
func (r *replica) setPeak(p backend.Peak) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.changeExtrasLocked(backend.Extras{Peak: p, Bots: r.extras.Bots})
}

// changeExtrasLocked makes a new View, and notifies readers, if the extras have changed. It reports whether
// they have.
func (r *replica) changeExtrasLocked(now backend.Extras) (changed bool) {
	changed = !r.closed && r.ledger.loaded() && r.mergeExtrasLocked(now)
	if changed {
		r.showFiguresLocked()
	}
	return changed
}

// mergeExtrasLocked stores extras for the next View, and reports whether they have changed.
func (r *replica) mergeExtrasLocked(now backend.Extras) bool {
	now.Peak = r.extras.Peak.Better(now.Peak) // a later answer may have overtaken this one
	if samePeak(now.Peak, r.extras.Peak) && maps.Equal(now.Bots, r.extras.Bots) {
		return false
	}
	r.extras = now
	r.extrasTurn++
	return true
}
