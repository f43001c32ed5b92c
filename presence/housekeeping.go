package presence

import (
	"context"
	"time"
)

// keepHouse asks the store for the figures of the topics here, in one round trip for all,
// publishes notices again that the store did not take, and forgets topics and users that
// no longer matter.
func (n *node) keepHouse(ctx context.Context) {
	tick := time.NewTicker(houseKeeping)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			n.refresh(ctx)
			n.users.expire()
		}
	}
}

// refresh gives each loaded topic its latest figures, or marks it as stale.
func (n *node) refresh(ctx context.Context) {
	var current []*replica
	var topics []Topic
	var at []int
	for _, r := range n.topics.used() {
		if r.view.Load() != nil {
			current, topics, at = append(current, r), append(topics, r.out.topic), append(at, r.position())
		}
	}
	if len(topics) == 0 {
		topics = []Topic{Site} // the outage asks whether the store is there
	}
	ctx, cancel := context.WithTimeout(ctx, applyTimeout)
	defer cancel()
	counts, err := n.store.Counts(ctx, topics...)
	if n.life.over() {
		return
	}
	n.outage.report(reads, err)
	if err == nil {
		n.notices.republish(ctx)
	}
	for i, r := range current {
		if err != nil || counts[i].Unknown || n.outage.latestFailed() {
			r.markStale()
		} else {
			r.refresh(at[i], counts[i])
		}
	}
}
