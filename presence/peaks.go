package presence

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/internal/generations"
)

// A PeakKeeper keeps the records of topics in a table of the site's own, so that they
// outlive the store's data and the nodes: see [Config].Peaks. Its methods may be called
// concurrently.
type PeakKeeper interface {
	// LoadPeak returns the record of a topic, or the zero Peak where there is none.
	LoadPeak(ctx context.Context, topic Topic) (Peak, error)
	// SavePeak saves the record of a topic, unless the saved one is better: see
	// [Peak.Better].
	SavePeak(ctx context.Context, topic Topic, peak Peak) error
}

// ResetPeak starts the record of a topic anew, with the users who are online now. The new
// record reaches every node and the site's [PeakKeeper], so the old one does not come back.
// ResetPeak returns when the store has the new record. If the error is [ErrStoreOut], the
// record is reset once the store is back. It is a no-op if the topic's [Kind] has no Peak. by is
// the member of staff who asked, for [Tracker.Acts]; empty: a program.
func (t *Tracker) ResetPeak(ctx context.Context, by UserID, topic Topic) error {
	if !t.cfg.Kinds[topic.Kind()].Peak {
		return nil
	}
	if err := t.await(ctx, t.writer.addAcked(topic, Op{Kind: OpResetPeak})); err != nil {
		return storeOut(err)
	}
	extras, err := t.store.Extras(ctx, topic)
	if err != nil {
		return storeOut(err)
	}
	t.hearPeak(topic, extras[0].Peak)
	if err := t.notices.publish(ctx, peakNotice(topic, extras[0].Peak)); err != nil {
		return err
	}
	return t.acts.act(ctx, Act{By: by, Did: ActResetPeak, Topic: topic})
}

// peakNotice announces the new record of a topic after a reset.
func peakNotice(topic Topic, p Peak) Notice {
	payload := fmt.Sprintf("%s %d %d %d", topic, p.Total, p.At.UnixNano(), p.Since.UnixNano())
	return Notice{Kind: NoticePeak, Payload: payload, Lasting: true}
}

// peak returns what peakNotice was called with, and false for another notice.
func (n Notice) peak() (topic Topic, p Peak, ok bool) {
	words := strings.Fields(n.Payload)
	if n.Kind != NoticePeak || len(words) != 4 {
		return "", Peak{}, false
	}
	total, err := strconv.Atoi(words[1])
	at, err2 := strconv.ParseInt(words[2], 10, 64)
	since, err3 := strconv.ParseInt(words[3], 10, 64)
	p = Peak{Total: total, At: time.Unix(0, at), Since: time.Unix(0, since)}
	return Topic(words[0]), p, errors.Join(err, err2, err3) == nil
}

// hearPeak merges a record from a notice, or from the site's table.
func (n *node) hearPeak(topic Topic, p Peak) {
	if !n.cfg.Kinds[topic.Kind()].Peak {
		return
	}
	best, _ := n.peaks.merge(topic, p)
	if r := n.topics.peek(topic); r != nil {
		r.setPeak(best)
	}
}

// peaks remembers the records of topics that are or were loaded here. A store that lost its
// data gets them back, and the site's table is sent those that it lacks.
type peaks struct {
	cfg    *Config
	keeper *peakKeeping // nil: the site has no table

	mu    answersMutex
	known *generations.Map[Topic, Peak]
}

// maxPeaks bounds the topics whose records a node remembers.
const maxPeaks = 100_000

func newPeaks(cfg *Config, forgotten func(int)) *peaks {
	p := &peaks{cfg: cfg, known: generations.New[Topic, Peak](maxPeaks, forgotten)}
	if cfg.Peaks != nil {
		p.keeper = newPeakKeeping(cfg)
	}
	return p
}

// merge merges another record of a topic, such as the store's, into what this node knows. It
// returns the best record, and whether the other one differs from it.
func (p *peaks) merge(topic Topic, other Peak) (best Peak, better bool) {
	p.mu.Lock()
	had, _ := p.known.Get(topic)
	best = had.Better(other)
	if !best.At.IsZero() {
		p.known.Set(topic, best)
	}
	p.mu.Unlock()
	if p.keeper != nil {
		p.keeper.want(topic, best)
	}
	return best, !best.same(other)
}

// same reports whether two records are one.
func (p Peak) same(q Peak) bool {
	return p.Total == q.Total && p.At.Equal(q.At) && p.Since.Equal(q.Since)
}
