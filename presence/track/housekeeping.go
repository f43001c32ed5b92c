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
	notices *notices
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

// refresh gives the loaded topics their latest figures, or marks them as stale. It asks for the figures of a
// few topics each time. Of many topics, it asks less often for those that do not change.
func (h *housekeeper) refresh(ctx context.Context) {
	var loaded, asked []*replica
	for _, r := range h.topics.used() {
		if r.view.Load() != nil {
			loaded = append(loaded, r)
		}
	}
	var topics []presence.Topic
	var at []int
	for _, r := range loaded {
		if r.rest.due() || len(loaded) <= fewTopics {
			asked, topics, at = append(asked, r), append(topics, r.out.topic), append(at, r.position())
		}
	}
	if len(topics) == 0 {
		topics = []presence.Topic{presence.Site} // to find out whether the store is reachable
	}
	ctx, cancel := context.WithTimeout(ctx, applyTimeout)
	defer cancel()
	began := time.Now()
	counts, err := h.store.Counts(ctx, topics...)
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
}

// Up to this number of topics, all figures are asked for every time: they are one script in Redis.
const fewTopics = 64

// With more topics, one whose figures stayed the same in so many answers in a row is asked for in every
// second round, so once a second.
const restAfter = 4

// A rest decides in which rounds the figures of a topic are asked for. Only housekeeping uses it.
type rest struct {
	head presence.DiffID // the head in the latest answer
	same int32           // answers in a row that changed nothing
	left int32           // rounds in which the topic is still left out
}

// due reports whether the topic is asked for in this round, and counts the round.
func (r *rest) due() bool {
	if r.left > 0 {
		r.left--
		return false
	}
	return true
}

// told notes an answer. After an answer without news the topic rests for more rounds.
func (r *rest) told(head presence.DiffID, news bool) {
	if news || head != r.head {
		*r = rest{head: head}
		return
	}
	// Random, so that half of the topics are asked for in one round, and half in the other.
	if r.same++; r.same > restAfter || r.same == restAfter && rand.IntN(2) == 0 {
		r.left = 1
	}
}
