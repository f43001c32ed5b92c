package track

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/internal/brief"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// countReader returns the figures of topics, from memory or from the store. It remembers for half a second those of topics that are not
// loaded here. So a list of topics that many visitors look at costs the store two round trips a second.
type countReader struct {
	store  backend.Store
	topics *topics
	memory *brief.Cache[presence.Topic, backend.Counts]
}

// maxFigures bounds the topics whose figures are remembered.
const maxFigures = 10_000

func newCountReader(store backend.Store, topics *topics) *countReader {
	return &countReader{store, topics, brief.New[presence.Topic, backend.Counts](houseKeeping, maxFigures)}
}

// read is [Tracker.Counts].
func (c *countReader) read(ctx context.Context, topics ...presence.Topic) ([]backend.Counts, error) {
	all := make([]backend.Counts, len(topics))
	missing := slices.DeleteFunc(c.topics.missing(topics, all), func(i int) (known bool) {
		all[i], known = c.memory.Get(topics[i])
		return known
	})
	if len(missing) == 0 {
		return all, nil
	}
	ask := make([]presence.Topic, len(missing))
	for i, j := range missing {
		ask[i] = topics[j]
	}
	ctx, cancel := pageContext(ctx)
	defer cancel()
	asked := time.Now()
	counts, err := c.store.Counts(ctx, ask...)
	if err == nil && len(counts) != len(ask) {
		err = fmt.Errorf("the store answers for %d topics of %d", len(counts), len(ask))
	}
	for i, j := range missing {
		if err != nil {
			all[j].Unknown = true
			continue
		}
		all[j] = counts[i]
		all[j].Head, all[j].Peak, all[j].Bots = "", backend.Peak{}, nil
		c.memory.Set(presence.Topic(strings.Clone(string(ask[i]))), all[j], asked) // cloned because the topic may be a part of a request
	}
	return all, storeOut(err)
}

// missing sets the figures of the topics that are loaded here, and returns the indexes of
// the others.
func (t *topics) missing(topics []presence.Topic, all []backend.Counts) (missing []int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, topic := range topics {
		if r := t.byName[topic]; r != nil {
			if v := r.view.Load(); v != nil {
				all[i] = backend.Counts{Total: v.Total, Recent: v.Recent, Guests: v.Guests}
				continue
			}
		}
		missing = append(missing, i)
	}
	return missing
}
