package track

import (
	"context"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/internal/gate"
	"github.com/rollcall-go/rollcall/internal/wait"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// topics has the topics that this node keeps current in memory. A topic gets a replica when somebody here
// first looks at it, and loses it when nobody has looked for topicIdle.
type topics struct {
	cfg  *Config
	life *lifetime
	env  *topicEnv
	news *deviceNews // of backend.DevicesTopic

	loads chan struct{} // slots of loads, maxLoads at most

	mu       topicsMutex
	closed   bool
	byName   map[presence.Topic]*replica
	shared   *shares   // nil: the bound is so low that there are no shares
	madeRoom time.Time // when topics were last forgotten to make room
}

// topicIdle is how long a topic that nobody here looks at is kept.
const topicIdle = time.Minute

// maxLoads is how many topics are loaded at a time. Visitors can name any number of topics at once, and
// loading all of them together would leave no calls for keeping the others current.
const maxLoads = 32

// roomInterval is the least time between two searches for topics to drop.
const roomInterval = time.Second

func newTopics(cfg *Config, life *lifetime, env *topicEnv, news *deviceNews) *topics {
	return &topics{cfg: cfg, life: life, env: env, news: news, loads: make(chan struct{}, maxLoads), byName: make(map[presence.Topic]*replica)}
}

// loaded returns a topic's replica once it is loaded. It returns [presence.ErrStoreOut] if the first try to
// load it fails, or ctx ends.
func (t *topics) loaded(ctx context.Context, topic presence.Topic) (*replica, error) {
	return t.loadedFor(ctx, topic, "")
}

// loadedFor is loaded for a connection that comes from an address.
func (t *topics) loadedFor(ctx context.Context, topic presence.Topic, from string) (*replica, error) {
	r, isNew, err := t.lookFrom(topic, from)
	if err != nil {
		return nil, err
	}
	if isNew && topic.Local() != presence.Site { // which is no choice of the visitor's
		gate.Owes(ctx, gate.Load)
	}
	select {
	case <-r.loaded:
		return r, nil
	default:
	}
	select {
	case <-r.loaded:
		return r, nil
	case <-r.tried:
		return nil, presence.ErrStoreOut
	case <-ctx.Done():
		return nil, presence.ErrStoreOut
	case <-t.life.ctx.Done():
		return nil, presence.ErrClosed
	}
}

// look returns a topic's replica, and begins to load one that is new. It returns
// [presence.ErrTooManyTopicsHere] if there is no room for it.
func (t *topics) look(topic presence.Topic) (*replica, error) {
	r, _, err := t.lookFrom(topic, "")
	return r, err
}

// lookFrom is look for a connection from an address, which keeps the topic. The topic counts in the share of the
// address, unless that is empty. isNew reports whether this call has begun to load it.
func (t *topics) lookFrom(topic presence.Topic, from string) (r *replica, isNew bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r = t.byName[topic]
	isNew = r == nil
	if isNew && t.closed {
		return nil, false, presence.ErrClosed
	}
	if isNew && len(t.byName) >= t.cfg.MaxTopics && !t.makeRoomLocked() || !t.sharesAllowLocked(r, topic, from) {
		return nil, false, presence.ErrTooManyTopicsHere
	}
	if isNew {
		topic = presence.Topic(strings.Clone(string(topic))) // cloned because it may be a part of a request
		made := newReplica(topic, t.env)
		if topic == backend.DevicesTopic {
			t.news.follow(made)
		}
		t.byName[topic] = made
		t.shared.add(made, 1)
		t.life.spawn(func(ctx context.Context) { t.load(ctx, made) })
		r = made // not captured itself: each call would allocate it
	}
	if from != "" && r.from == "" {
		t.shared.add(r, -1)
		r.from = strings.Clone(from)
		t.shared.add(r, 1)
	}
	r.out.touch()
	return r, isNew, nil
}

// peek returns a topic's replica, nil if the topic is not kept here. It does not count as
// a look.
func (t *topics) peek(topic presence.Topic) *replica {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.byName[topic]
}

// viewHere returns a topic's view as far as it is loaded here, nil if it is not. It does not count as a look.
func (t *topics) viewHere(topic presence.Topic) *View {
	if r := t.peek(topic); r != nil {
		return r.view.Load()
	}
	return nil
}

// all returns every replica.
func (t *topics) all() []*replica {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := make([]*replica, 0, len(t.byName))
	for _, r := range t.byName {
		all = append(all, r)
	}
	return all
}

// shown returns the status that a topic's roster shows of a user; "" if the topic is not
// kept current here, or does not have the user.
func (t *topics) shown(topic presence.Topic, user presence.UserID) presence.Status {
	if view := t.viewHere(topic); view != nil {
		if e := view.find(user); e != nil {
			return e.Status
		}
	}
	return ""
}

// load loads a topic. It repeats until the store answers, nobody looks at the topic any more, or its room was
// needed: a topic that a client made up while the store is out is not tried for longer than it is kept.
func (t *topics) load(ctx context.Context, r *replica) {
	for backoff := backoffFirst; ; backoff = min(2*backoff, backoffLast) {
		err := t.loadNow(ctx, r)
		if err == nil {
			return
		}
		if backoff == backoffFirst {
			close(r.tried) // pages and streams go on without the topic
		}
		if !wait.For(ctx, backoff/2+rand.N(backoff)) {
			return
		}
		if r.unused(topicIdle) {
			t.forget(r)
		}
		if t.peek(r.out.topic) != r {
			return
		}
	}
}

// loadNow tries once to load a topic, when it is its turn.
func (t *topics) loadNow(ctx context.Context, r *replica) error {
	select {
	case t.loads <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-t.loads }()
	ctx, cancel := context.WithTimeout(ctx, loadTimeout)
	defer cancel()
	return r.load(ctx)
}

// used returns the replicas that somebody looked at lately, and drops the others.
func (t *topics) used() []*replica {
	all := t.all()
	used := all[:0]
	for _, r := range all {
		if r.unused(topicIdle) {
			t.forget(r)
		} else {
			used = append(used, r)
		}
	}
	return used
}

// forget closes a replica, unless somebody has looked at it meanwhile.
func (t *topics) forget(r *replica) {
	t.mu.Lock()
	gone := t.byName[r.out.topic] == r && r.unused(topicIdle)
	if gone {
		t.removeLocked(r)
	}
	t.mu.Unlock()
	if gone {
		r.close()
	}
}

// makeRoomLocked drops the topics that nobody here streams, so that topics that clients make up take bounded
// memory. It spares recent ones: a connection that is being opened streams nothing yet, and may wait
// connectWait for its other topics. It looks at every topic, so it does that once a second at most. It
// reports whether there is room.
func (t *topics) makeRoomLocked() bool {
	if time.Since(t.madeRoom) < roomInterval {
		return false
	}
	t.madeRoom = time.Now()
	made := false
	for _, r := range t.byName {
		if r.unused(connectWait) {
			t.removeLocked(r)
			t.life.spawn(func(context.Context) { r.close() })
			made = true
		}
	}
	return made
}

// stop makes look fail for new topics. close ends all replicas.
func (t *topics) stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
}

func (t *topics) close() {
	for _, r := range t.all() {
		r.close()
	}
}

// viewOf is [Tracker.View].
func (t *topics) viewOf(ctx context.Context, topic presence.Topic) (*View, error) {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, viewWait)
		defer cancel()
	}
	r, err := t.loaded(ctx, topic)
	if err != nil {
		return nil, err
	}
	return r.view.Load(), nil
}
