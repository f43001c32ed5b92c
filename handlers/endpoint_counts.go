package handlers

import (
	"errors"
	"net/http"
	"slices"

	"github.com/rollcall-go/rollcall/internal/gate"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// maxCounted is how many topics one request for figures may name.
const maxCounted = 100

// countJSON is the JSON of one topic's figures.
type countJSON struct {
	Total  int `json:"total"`
	Guests int `json:"guests"`
}

// counts answers with the figures of up to 100 topics. It leaves out topics that the visitor may not see, and
// topics with no known figures while the store is unreachable. It costs one round trip to the store, and none
// for topics that are in memory.
func (e *rosterEndpoints) counts(w http.ResponseWriter, r *http.Request, v presence.Visitor) error {
	q := e.site.query(r, v)
	topics := q.named(maxCounted, "topic")
	if errors.Is(q.err, presence.ErrTooManyTopics) {
		return badRequest("Name 1 to 100 topics: ?topic=thread:1&topic=thread:2")
	}
	if q.err != nil {
		return q.err
	}
	asking, cancel := e.site.asking(r)
	defer cancel()
	site := e.site.rights.Asker(asking, v)
	if !site.Pay(topics, len(topics)*gate.Name) {
		return errTooManyRequests()
	}
	topics = slices.DeleteFunc(topics, func(t presence.Topic) bool { return !site.May(t) })
	ctx, cancel := storeContext(r)
	defer cancel()
	counts, err := e.tracker.Counts(ctx, topics...)
	if known := slices.ContainsFunc(counts, func(c backend.Counts) bool { return !c.Unknown }); err != nil && !known {
		return err
	}
	figures := make(map[presence.Topic]countJSON, len(topics))
	for i, c := range counts {
		if !c.Unknown {
			figures[topics[i].Local()] = countJSON{c.Total, c.Guests}
		}
	}
	return writeFresh(w, map[string]any{"topics": figures})
}
