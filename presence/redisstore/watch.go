package redisstore

import (
	"cmp"
	"context"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// A watcher delivers what the server publishes in topics.
type watcher struct {
	*fleet
	pubsub *pubsub

	mu   sync.Mutex // no tap's mutex may be held when it is locked
	taps map[*tap]struct{}
}

// Watch implements [backend.Store]. Watchers of a topic share one subscription.
func (s *watcher) Watch(ctx context.Context, topic presence.Topic, w backend.Watcher) (func(), error) {
	return s.subscribe(ctx, "watch", s.topicTap(topic, w))
}

func (s *watcher) topicTap(topic presence.Topic, w backend.Watcher) *tap {
	t := &tap{store: s, base: s.channel(topic)}
	t.fn = func(message string) {
		switch isBroadcast := strings.HasPrefix(message, "!"); {
		case isBroadcast && w.Broadcast != nil:
			w.Broadcast([]byte(message))
		case !isBroadcast && w.Diff != nil:
			d, err := decodeMessage(message)
			if err != nil {
				s.invalid.Add(1) // readers notice a gap
				return
			}
			w.Diff(d)
		}
	}
	if w.Diff != nil {
		t.moved = func() { w.Diff(backend.Diff{ID: unknownDiff, Prev: unknownDiff}) }
	}
	return t
}

// unknownDiff is an id that no diff has. A diff with this Prev is a gap to every reader,
// who then reads the log.
const unknownDiff = presence.DiffID("unknown")

// A tap is a subscription to a channel whose name may change, because a wiped keyspace gets a new id.
type tap struct {
	store *watcher
	base  string       // the channel's name without the keyspace's id
	fn    func(string) // takes a message
	moved func()       // called when the channel has changed, since messages may be lost; may be nil

	mu      sync.Mutex // held during calls of fn and moved
	stopped bool

	on    string // the channel's name; the watcher's mutex guards it
	leave func() // ends the subscription
}

// subscribe starts a tap, under the breaker of reads. It needs no goroutine of the breaker, because waiting
// for a subscription ends with ctx.
func (s *watcher) subscribe(ctx context.Context, op string, t *tap) (stop func(), err error) {
	if err := s.ready(ctx, s.reads); err != nil {
		return nil, err
	}
	if !s.reads.enter() {
		return nil, wrap(op, presence.ErrStoreOut)
	}
	bound, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	t.on = t.base + s.place()
	t.leave, err = s.pubsub.subscribe(bound, t.on, s.sharded(bound), t.take)
	if err = s.reads.leave(ctx, err); err != nil {
		return nil, wrap(op, err)
	}
	s.mu.Lock()
	s.taps[t] = struct{}{}
	if len(s.taps) > 1 {
		s.pace.used()
	}
	s.mu.Unlock()
	return t.stop, nil
}

// stop ends the tap. After it has returned, no call of its functions is under way.
func (t *tap) stop() {
	t.mu.Lock()
	t.stopped = true
	t.mu.Unlock()
	t.store.mu.Lock()
	defer t.store.mu.Unlock()
	delete(t.store.taps, t)
	t.leave()
}

func (t *tap) take(message string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.stopped {
		t.fn(message)
	}
}

// tend moves all taps to their present channels.
func (s *watcher) tend() {
	place := s.place()
	if place == "" {
		return
	}
	sharded := s.sharded(s.pubsub.life)
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.taps) > 1 { // beside that of the notices
		s.pace.used()
	}
	for t := range s.taps {
		if on := t.base + place; on != t.on {
			if leave := s.follow(t, on, sharded); leave != nil {
				t.leave()
				t.on, t.leave = on, leave
			}
		}
	}
}

// follow subscribes a tap to a channel in the background. It returns nil if the store is closed.
func (s *watcher) follow(t *tap, name string, sharded bool) (leave func()) {
	c, leave := s.pubsub.join(name, sharded, t.take)
	if c == nil {
		return nil
	}
	s.pubsub.background(func(ctx context.Context) {
		if s.pubsub.await(ctx, c) != nil {
			return
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		if !t.stopped && t.moved != nil {
			t.moved()
		}
	})
	return leave
}

// Send implements [backend.Store]. A broadcast is sent on the channel of its topic's diffs, and needs no
// subscription of its own. It begins with "!", and a diff with the number of its version. On a cluster it is one round trip a node, side by side.
func (s *watcher) Send(ctx context.Context, broadcasts ...backend.Broadcast) error {
	for _, b := range broadcasts {
		if err := b.Validate(); err != nil {
			return wrap("send", err)
		}
	}
	if len(broadcasts) == 0 {
		return nil
	}
	if err := s.ready(ctx, s.writes); err != nil {
		return err
	}
	command, place := s.publish(), s.place()
	messages := make([]publication, len(broadcasts))
	for i, b := range broadcasts {
		messages[i] = newPublication(ctx, command, s.channel(b.Topic)+place, string(b.Data))
	}
	_, err := call(ctx, s.writes, "send", func(ctx context.Context) (struct{}, error) {
		_ = s.pipelined(ctx, func(p redis.Pipeliner) { // each answer has its own error
			for _, m := range messages {
				_ = p.Process(ctx, m)
			}
		})
		return struct{}{}, allFailed(messages) // so a cluster that lost a part does not count as out
	})
	if err != nil {
		return err
	}
	for _, m := range messages {
		err = cmp.Or(err, wrap("send", verdict(m.Err())))
	}
	return err
}

// A publication is a PUBLISH or SPUBLISH that the client never repeats. When a connection breaks, the server
// may already have delivered the message, and a broadcast must arrive at most once.
type publication struct{ *redis.IntCmd }

// NoRetry tells the client not to repeat the command.
func (publication) NoRetry() bool { return true }

// newPublication makes the command go to the master of the channel's slot. Otherwise the client would send
// each PUBLISH to another server of the cluster, so that two messages could overtake each other.
func newPublication(ctx context.Context, command, channel, message string) publication {
	p := publication{redis.NewIntCmd(ctx, strings.ToLower(command), channel, message)}
	p.SetFirstKeyPos(1)
	return p
}
