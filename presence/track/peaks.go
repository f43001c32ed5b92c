package track

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/internal/generations"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// records applies the records of topics that this node learns of.
type records struct {
	cfg     *Config
	store   backend.Store
	writer  *writer
	peaks   *peaks
	topics  *topics
	notices *notices
}

// reset starts the record of a topic anew, and publishes that.
func (r *records) reset(ctx context.Context, topic presence.Topic) error {
	if err := r.writer.await(ctx, r.writer.addAcked(topic, backend.Op{Kind: backend.OpPeak})); err != nil {
		return storeOut(err)
	}
	counts, err := r.store.Counts(ctx, topic)
	if err != nil {
		return storeOut(err)
	}
	r.hear(topic, counts[0].Peak)
	return r.notices.publish(ctx, peakNotice(topic, counts[0].Peak))
}

// peakNotice announces the new record of a topic after a reset.
func peakNotice(topic presence.Topic, p backend.Peak) backend.Notice {
	payload := fmt.Sprintf("%s %d %d %d", topic, p.Total, p.At.UnixNano(), p.Since.UnixNano())
	return backend.Notice{Kind: backend.NoticePeak, Payload: payload, Lasting: true}
}

// peakOf returns the arguments of peakNotice, and false for a notice of another kind.
func peakOf(n backend.Notice) (topic presence.Topic, p backend.Peak, ok bool) {
	words := strings.Fields(n.Payload)
	if n.Kind != backend.NoticePeak || len(words) != 4 {
		return "", backend.Peak{}, false
	}
	total, err := strconv.Atoi(words[1])
	at, err2 := strconv.ParseInt(words[2], 10, 64)
	since, err3 := strconv.ParseInt(words[3], 10, 64)
	p = backend.Peak{Total: total, At: time.Unix(0, at), Since: time.Unix(0, since)}
	return presence.Topic(words[0]), p, errors.Join(err, err2, err3) == nil
}

// hear merges a record that came by a notice.
func (r *records) hear(topic presence.Topic, p backend.Peak) {
	if !r.cfg.Kind(topic).Peak {
		return
	}
	best, _ := r.peaks.merge(topic, p)
	if kept := r.topics.peek(topic); kept != nil {
		kept.setPeak(best)
	}
}

// peaks remembers the records of topics that are or were loaded here. It sends them to a store that lost its
// data.
type peaks struct {
	mu    answersMutex
	known *generations.Map[presence.Topic, backend.Peak]
}

// maxPeaks bounds the topics whose records a node remembers.
const maxPeaks = 100_000

func newPeaks(forgotten func(int)) *peaks {
	return &peaks{known: generations.New[presence.Topic, backend.Peak](maxPeaks, forgotten)}
}

// merge merges another record of a topic, such as the store's, into what this node knows. It returns the best
// record, and whether that is better than the other one.
func (p *peaks) merge(topic presence.Topic, other backend.Peak) (best backend.Peak, better bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	had, _ := p.known.Get(topic)
	best = had.Better(other)
	if !best.At.IsZero() {
		p.known.Set(topic, best)
	}
	return best, !samePeak(best, other)
}

// samePeak reports whether two records are equal.
func samePeak(p backend.Peak, q backend.Peak) bool {
	return p.Total == q.Total && p.At.Equal(q.At) && p.Since.Equal(q.Since)
}
