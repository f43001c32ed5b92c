package track

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// A housekeeper asks the store for the figures of all topics here in one round trip, publishes notices again
// that the store did not accept, and forgets topics and users that are no longer needed.
type housekeeper struct {
	life    *lifetime
	store   backend.Store
	outage  *outage
	users   *users
	topics  *topics
	choices *choices
	notices *notices
	changes figureChanges

	round int32 // only run uses it
	blind bool  // the latest round did not know which topics changed, and asked for half of those that rest
}

// run does the housekeeping until ctx ends.
func (h *housekeeper) run(ctx context.Context) {
	tick := time.NewTicker(houseKeeping)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			h.refresh(ctx)
			h.users.expire()
		}
	}
}

// refresh gives the loaded topics their latest figures, or marks them as stale. It asks less often for those
// that do not change. A node without topics learns of an outage by the renewals of its lease.
func (h *housekeeper) refresh(ctx context.Context) {
	var loaded, asked []*replica
	for _, r := range h.topics.used() {
		if r.view.Load() != nil {
			loaded = append(loaded, r)
		}
	}
	var topics []presence.Topic
	var at []int
	h.round++
	ctx, cancel := context.WithTimeout(ctx, applyTimeout)
	defer cancel()
	began := time.Now()
	changed, err := h.changed(ctx, loaded)
	for _, r := range loaded {
		if h.asksFor(r, len(loaded), changed) {
			asked, topics, at = append(asked, r), append(topics, r.out.topic), append(at, r.position())
		}
	}
	if len(topics) == 0 && changed == nil {
		if len(loaded) > 0 || h.outage.fineLately() && !h.notices.waiting() { // the loaded ones are asked for in the next round
			return
		}
		topics = []presence.Topic{presence.Site} // to find out whether the store is reachable
	}
	var counts []backend.Counts
	if err == nil && len(topics) > 0 {
		h.outage.begin(reads)
		counts, err = h.store.Counts(ctx, topics...)
	}
	if h.life.over() {
		return
	}
	h.outage.report(reads, began, err)
	if err == nil {
		h.notices.republish(ctx)
	}
	if err != nil || h.outage.latestFailed() {
		for _, r := range loaded {
			r.markStale()
			r.rest = rest{}
		}
		return
	}
	for i, r := range asked {
		if counts[i].Unknown {
			r.markStale()
			r.rest = rest{}
		} else {
			r.rest.told(counts[i].Head, r.refresh(at[i], counts[i]))
		}
	}
	for _, r := range loaded {
		h.choices.admitHeld(r)
		h.choices.askUnsure(r)
	}
}

// A topic rests when its figures stayed the same in restAfter answers in a row. It is then asked for in every
// second round, so once a second. With up to fewTopics, all that rest are asked for in the same round, because
// they are one script in Redis. With more topics, each round asks for half of them; or if the store tells which
// ones changed, for those, and for each topic once a minute.
const (
	restAfter  = 4
	fewTopics  = 64
	slowRounds = int32(time.Minute / houseKeeping)
)

// changed returns the topics that the store says may have changed since it was last asked. It returns nil if all
// may have: then this round asks for one half of the topics that rest, and the next round for the other half. A store
// that lost data tells of no topic that it went back in, so all may have changed until the nodes have restored.
func (h *housekeeper) changed(ctx context.Context, loaded []*replica) (map[presence.Topic]bool, error) {
	if len(loaded) <= fewTopics || h.outage.inDoubt() || h.outage.soundFor() < restoreFor(h.outage.cfg.shortestTTL()) {
		h.changes.mark = ""
		return nil, nil
	}
	if h.blind {
		h.blind = false
		return nil, nil
	}
	changed, err := h.changes.ask(ctx)
	h.blind = changed == nil
	return changed, err
}

// asksFor reports whether a topic, one of so many, is asked for in this round. A node with few topics must not
// leave out a round where it could miss an outage by that.
func (h *housekeeper) asksFor(r *replica, of int, changed map[presence.Topic]bool) bool {
	if r.rest.same < restAfter || changed[r.out.topic] {
		return true
	}
	if changed != nil {
		return (h.round+r.rest.turn)%slowRounds == 0
	}
	if of > fewTopics {
		return (h.round+r.rest.turn)%2 == 0
	}
	return h.round%2 == 0 || h.outage.inDoubt() || h.outage.cfg.harmlessOutage() < 4*houseKeeping
}

// A rest says whether the figures of a topic change. Only housekeeping uses it.
type rest struct {
	head presence.DiffID // the head in the latest answer
	same int32           // answers in a row that changed nothing
	turn int32           // random: which rounds ask for the topic while it rests
}

// told notes an answer.
func (r *rest) told(head presence.DiffID, news bool) {
	if news || head != r.head {
		*r = rest{head: head, turn: rand.Int32N(slowRounds)}
		return
	}
	r.same++
}
