package track

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/internal/generations"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// countReader returns the figures of topics, from memory or from the store.
type countReader struct {
	store  backend.Store
	topics *topics
	memory *figureMemory
}

// read is [Tracker.Counts].
func (c *countReader) read(ctx context.Context, topics ...presence.Topic) ([]backend.Counts, error) {
	all := make([]backend.Counts, len(topics))
	missing := c.memory.known(topics, all, c.topics.missing(topics, all))
	if len(missing) == 0 {
		return all, nil
	}
	ask := make([]presence.Topic, len(missing))
	for i, j := range missing {
		ask[i] = topics[j]
	}
	ctx, cancel := pageContext(ctx)
	defer cancel()
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
		all[j].Head = ""
	}
	if err == nil {
		c.memory.keep(ask, missing, all)
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

// figureMemory remembers for half a second the figures of topics that are not loaded here. So a list of
// topics that many visitors look at costs the store two round trips a second.
type figureMemory struct {
	mu     answersMutex
	topics *generations.Map[presence.Topic, figuresAt]
}

type figuresAt struct {
	backend.Counts
	at time.Time
}

// maxFigures bounds the topics whose figures are remembered.
const maxFigures = 10_000

func newFigureMemory() *figureMemory {
	return &figureMemory{topics: generations.New[presence.Topic, figuresAt](maxFigures, nil)}
}

// known sets the figures of the topics that are remembered, and returns the indexes of the
// others. It looks only at the topics with the given indexes.
func (m *figureMemory) known(topics []presence.Topic, all []backend.Counts, indexes []int) (missing []int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	missing = indexes[:0]
	for _, i := range indexes {
		if f, ok := m.topics.Get(topics[i]); ok && time.Since(f.at) < houseKeeping {
			all[i] = f.Counts
		} else {
			missing = append(missing, i)
		}
	}
	return missing
}

// keep remembers figures that the store has just returned.
func (m *figureMemory) keep(topics []presence.Topic, indexes []int, all []backend.Counts) {
	now := time.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, topic := range topics {
		m.topics.Set(presence.Topic(strings.Clone(string(topic))), figuresAt{all[indexes[i]], now}) // cloned because the topic may be a part of a request
	}
}
