package track

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// A housekeeper asks the store for the figures of topics here that changed, in one round trip, publishes notices again
// that the store did not accept, and forgets topics and users that are no longer needed.
type housekeeper struct {
	life    *lifetime
	store   backend.Store
	outage  *outage
	users   *users
	topics  *topics
	choices *choices
	notices *notices
	poller  *poller

	round  int32 // only run uses this, and the next one
	loaded int   // how many topics the latest round found
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
			h.polls()
			h.users.expire()
		case <-h.poller.figures:
		}
		h.refresh(ctx)
	}
}

// polls wakes the poller if a poll is due. Figures lag by a second, and those of many topics by half of that. A poll also finds an
// outage in which leases may expire, soon the end of trouble, and in time the erasures of a node that died.
func (h *housekeeper) polls() {
	pause := min(h.outage.cfg.harmlessOutage()/2, pollsAtRest)
	switch {
	case h.loaded > fewTopics, h.notices.waiting(), h.outage.inDoubt(), h.outage.soundFor() < h.outage.cfg.catchUp():
		pause = houseKeeping
	case h.loaded > 0, h.outage.wroteLately():
		pause = min(pause, 2*houseKeeping)
	}
	if h.poller.since() >= pause-houseKeeping/4 {
		h.poller.soon.Wake()
	}
}

// refresh gives the loaded topics their latest figures, or marks them as stale. It asks less often for those
// that do not change.
func (h *housekeeper) refresh(ctx context.Context) {
	var loaded, asked []*replica
	for _, r := range h.topics.used() {
		if r.view.Load() != nil {
			loaded = append(loaded, r)
		}
	}
	h.loaded = len(loaded)
	var topics []presence.Topic
	var at []int
	h.round++
	ctx, cancel := context.WithTimeout(ctx, applyTimeout)
	defer cancel()
	began := time.Now()
	tells := h.hearChanges(loaded)
	for _, r := range loaded {
		if h.asksFor(r, len(loaded), tells) {
			r.rest.asked = began
			asked, topics, at = append(asked, r), append(topics, r.out.topic), append(at, r.position())
		}
	}
	var counts []backend.Counts
	var err error
	if len(topics) > 0 {
		h.outage.begin(reads)
		counts, err = h.store.Counts(ctx, topics...)
		if h.life.over() {
			return
		}
		h.outage.report(reads, began, err)
	} else if len(loaded) == 0 {
		h.outage.givenUp(reads)
	}
	if err == nil && !h.outage.latestFailed() {
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
		h.choices.tend(r)
	}
}

// A topic that changed, as polls tell, is asked for in each round until two answers are alike: one difference may be a race, see
// figureCheck. Each topic is asked for once a minute. If the store cannot tell, a topic rests when its figures stayed the same in
// restAfter answers in a row. It is then asked for in every second round: up to fewTopics all in the same round, since they are one
// script in Redis, and of more topics a half in each round.
const (
	pollsAtRest = 10 * time.Second / 3 // the longest time between two polls

	restAfter  = 4
	fewTopics  = 64
	slowRounds = int32(time.Minute / houseKeeping)
)

// hearChanges notes the topics that changed. It reports false if the store cannot tell. A store that lost data tells of no topic that
// it went back in, until the nodes have restored.
func (h *housekeeper) hearChanges(loaded []*replica) (tells bool) {
	changed, all := h.poller.take()
	for _, r := range loaded {
		if all || changed[r.out.topic] {
			r.rest.same = 0
		}
	}
	return changed != nil && !h.outage.inDoubt() && h.outage.soundFor() >= restoreFor(h.outage.cfg.shortestTTL())
}

// asksFor reports whether a topic, one of so many, is asked for in this round.
func (h *housekeeper) asksFor(r *replica, of int, tells bool) bool {
	switch {
	case tells:
		return r.rest.same == 0 && time.Since(r.rest.asked) > houseKeeping/2 || (h.round+r.rest.turn)%slowRounds == 0
	case r.rest.same < restAfter:
		return true
	case of > fewTopics:
		return (h.round+r.rest.turn)%2 == 0
	}
	return h.round%2 == 0
}

// A rest says whether the figures of a topic change. Only housekeeping uses it.
type rest struct {
	head  presence.DiffID // the head in the latest answer
	same  int32           // answers in a row that changed nothing
	turn  int32           // random: which rounds ask for the topic while it rests
	asked time.Time       // when it was asked for last
}

// told notes an answer.
func (r *rest) told(head presence.DiffID, news bool) {
	if news || head != r.head {
		r.head, r.same, r.turn = head, 0, rand.Int32N(slowRounds)
		return
	}
	r.same++
}
