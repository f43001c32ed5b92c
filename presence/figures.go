package presence

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// Counts returns the figures of each topic, in the order of the topics, to within half a
// second; their Head is empty. Topics that are kept here come from memory. All others
// together cost one round trip to the store at most, and are not kept current after that.
// Counts waits for the store until the deadline of ctx, or for 50 ms where ctx has none.
//
// A topic whose figures nobody can tell is marked Unknown, and its figures are 0. If that is
// because the store is out, the error is [ErrStoreOut] and the other figures are right.
func (t *Tracker) Counts(ctx context.Context, topics ...Topic) ([]Counts, error) {
	all := make([]Counts, len(topics))
	missing := t.figures.known(topics, all, t.topics.missing(topics, all))
	if len(missing) == 0 {
		return all, nil
	}
	ask := make([]Topic, len(missing))
	for i, j := range missing {
		ask[i] = topics[j]
	}
	ctx, cancel := pageContext(ctx)
	defer cancel()
	counts, err := t.store.Counts(ctx, ask...)
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
		t.figures.keep(ask, missing, all)
	}
	return all, storeOut(err)
}

// missing sets the figures of the topics that are loaded here, and returns the indexes of
// the others.
func (t *topics) missing(topics []Topic, all []Counts) (missing []int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, topic := range topics {
		if r := t.byName[topic]; r != nil {
			if v := r.view.Load(); v != nil {
				all[i] = Counts{Total: v.Total, Recent: v.Recent, Guests: v.Guests}
				continue
			}
		}
		missing = append(missing, i)
	}
	return missing
}

// figureMemory remembers the figures of topics that are not kept here for half a second, so
// that a list of topics that many visitors look at costs the store two round trips a second.
type figureMemory struct {
	mu     answersMutex
	topics *recollection[Topic, figuresAt]
}

type figuresAt struct {
	Counts
	at time.Time
}

// maxFigures bounds the topics whose figures are remembered.
const maxFigures = 10_000

func newFigureMemory() *figureMemory {
	return &figureMemory{topics: newRecollection[Topic, figuresAt](maxFigures, func(int) {})}
}

// known sets the figures that are remembered of some topics, by their indexes, and returns
// the indexes of the others.
func (m *figureMemory) known(topics []Topic, all []Counts, indexes []int) (missing []int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	missing = indexes[:0]
	for _, i := range indexes {
		if f, ok := m.topics.get(topics[i]); ok && time.Since(f.at) < houseKeeping {
			all[i] = f.Counts
		} else {
			missing = append(missing, i)
		}
	}
	return missing
}

// keep remembers figures that the store gave just now.
func (m *figureMemory) keep(topics []Topic, indexes []int, all []Counts) {
	now := time.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, topic := range topics {
		m.topics.set(Topic(strings.Clone(string(topic))), figuresAt{all[indexes[i]], now}) // the topic may be cut out of a request
	}
}
