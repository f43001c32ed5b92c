package track

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/rollcall-go/rollcall/internal/wait"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// signals sends the signals of this node. For a moment it collects the latest signal of each type and sender,
// and then sends them with one call of the store, in its own goroutine: no operation and no page waits for a
// signal. Signals that cannot be sent are dropped.
type signals struct {
	cfg     *Config
	life    *lifetime
	stats   *signalCounters
	store   backend.Store
	rosters *topics
	sources *sources
	begin   sync.Once // starts the goroutine with the first signal
	kick    wait.Wakeup

	mu     signalsMutex
	topics map[presence.Topic]*outbound
}

// An outbound is the signals of one topic that wait to be sent.
type outbound struct {
	pending signalQueue
	sent    time.Time                     // when the latest signals were sent
	heard   allowance                     // for all visitors together
	often   allowance                     // for visitors who sent within the last second
	lately  map[presence.UserID]time.Time // when each of them last sent
}

// hears reports whether the topic accepts one more signal of a visitor. Half of its allowance is reserved for
// visitors who sent nothing for a second, so that a few who send all the time do not silence the others.
func (o *outbound) hears(from presence.UserID, now time.Time) bool {
	if now.Sub(o.lately[from]) < time.Second && !o.often.spend(1, visitorSignals/2, visitorBurst/2, now) {
		return false
	}
	if !o.heard.spend(1, visitorSignals, visitorBurst, now) {
		return false
	}
	if len(o.lately) >= 2*visitorSignals { // more than can come in a second
		maps.DeleteFunc(o.lately, func(_ presence.UserID, at time.Time) bool { return now.Sub(at) >= time.Second })
	}
	if o.lately == nil {
		o.lately = make(map[presence.UserID]time.Time)
	}
	o.lately[from] = now
	return true
}

const (
	// signalWindow is the least time between two signal events of a topic on a node (rule S2).
	signalWindow = 50 * time.Millisecond
	// sendWindow is the least time between two broadcasts of a topic from a node. It is shorter than
	// signalWindow, because a signal may wait in both.
	sendWindow = signalWindow / 2
	// visitorSignals is how many signals of visitors a topic accepts a second (rule S3), and visitorBurst how
	// many at once. The burst is small, so that every window of the second has its part.
	visitorSignals = 50
	visitorBurst   = 10
	// maxQueued bounds the signals of a topic in one window.
	maxQueued = 100
	// sendTimeout bounds a call of the store, because a signal is not worth sending later.
	sendTimeout = time.Second
)

func newSignals(cfg *Config, life *lifetime, stats *signalCounters, store backend.Store, rosters *topics, others *sources) *signals {
	return &signals{cfg: cfg, life: life, stats: stats, store: store, rosters: rosters, sources: others, kick: wait.NewWakeup(), topics: make(map[presence.Topic]*outbound)}
}

// signal is [Tracker.Signal].
func (o *signals) signal(topic presence.Topic, s presence.Signal) error {
	if err := s.Validate(); err != nil {
		return err
	}
	o.stats.site.Add(1)
	o.add(topic, s)
	return nil
}

// whisper is [Tracker.Whisper].
func (o *signals) whisper(ctx context.Context, v presence.Visitor, topic presence.Topic, s presence.Signal) error {
	if !v.SignedIn() {
		return presence.ErrGuest
	}
	s.From = v.User.ID
	if err := s.Validate(); err != nil {
		return err
	}
	if topic.Reserved() || o.sources.serves(topic) || o.cfg.Kind(topic).CountOnly {
		return presence.ErrNotThere
	}
	if _, err := o.rosters.viewOf(ctx, topic); err != nil { // loads it
		return err
	}
	if r := o.rosters.peek(topic); r == nil || !r.has(s.From) {
		return presence.ErrNotThere
	}
	o.stats.visitors.Add(1)
	o.add(topic, s)
	return nil
}

// add queues a valid signal.
func (o *signals) add(topic presence.Topic, s presence.Signal) {
	s.V = max(s.V, 1)
	o.mu.Lock()
	out := o.topics[topic]
	switch {
	case out != nil:
	case len(o.topics) < o.cfg.MaxTopics:
		out = &outbound{}
		o.topics[topic] = out
	default:
		o.mu.Unlock()
		o.stats.full.Add(1)
		return
	}
	// The end of a signal is not limited, because it shows less.
	if s.From != "" && s.For >= 0 && !out.hears(s.From, time.Now()) {
		o.mu.Unlock()
		o.stats.often.Add(1)
		return
	}
	if !out.pending.put(s) {
		o.stats.full.Add(1)
	}
	o.mu.Unlock()
	o.begin.Do(func() { o.life.spawn(o.run) })
	o.kick.Wake()
}

// run sends the queued signals until ctx ends. Signals that come within flushInterval are sent together.
func (o *signals) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-o.kick:
			if !wait.For(ctx, flushInterval) {
				return
			}
		}
		due, next := o.take(time.Now())
		o.send(ctx, due)
		if timer.Stop(); next > 0 {
			timer.Reset(next)
		}
	}
}

// take returns what may be sent now, and how long the rest must wait: 0 if there is no rest. It forgets a
// topic in which nothing was sent for a second, because its allowance is full again.
func (o *signals) take(now time.Time) (due []backend.Broadcast, next time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for topic, out := range o.topics {
		rest := now.Sub(out.sent)
		if out.pending.empty() && rest >= time.Second {
			delete(o.topics, topic)
			continue
		}
		if !out.pending.empty() && rest >= sendWindow {
			due = appendBroadcasts(due, topic, out.pending.takeAll(), o.cfg.Node, now)
			out.sent, rest = now, 0
		}
		left := time.Second - rest
		if !out.pending.empty() {
			left = sendWindow - rest
		}
		if next == 0 || left < next {
			next = max(left, time.Millisecond)
		}
	}
	return due, next
}

// send passes broadcasts to the store. What the store does not accept is lost (rule S7).
func (o *signals) send(ctx context.Context, all []backend.Broadcast) {
	if len(all) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	if o.store.Send(ctx, all...) != nil {
		o.stats.unsent.Add(uint64(len(all)))
	}
}
