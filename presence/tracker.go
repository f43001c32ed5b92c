package presence

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// A Tracker is one process's part in a fleet: it takes what happens here, writes
// it to the store in small merged batches, and keeps a replica of each topic
// that somebody here looks at. One serves a whole process; all methods may be
// called concurrently. [New] makes one, [Tracker.Close] ends it.
type Tracker struct {
	store  *timedStore
	cfg    Config
	stats  counters
	writer *writer
	seal   *seal
	views  *recentViews
	probes sync.Pool // of *entry, for all rosters

	listening atomic.Bool // notices are heard

	life   context.Context // ends when the tracker closes
	end    context.CancelFunc
	owning sync.Mutex     // spawn against Close
	owned  sync.WaitGroup // every goroutine but the writer's

	mu          sync.Mutex
	closed      bool
	connections connections
	replicas    map[Topic]*replica
	madeRoom    time.Time // when topics were last forgotten to make room
	past        past
	said        said
	statuses    statuses
	attendedAt  *recollection[UserID, time.Time] // when somebody was at a page of a user, anywhere
	gone        map[goneLease]struct{}           // leases that heartbeats found gone, to be made again
	rejoining   bool                             // a goroutine does that
}

// New returns a Tracker over a store, and starts its goroutines. It returns an
// error that is [ErrInvalidConfig] and names every field that is wrong. A store
// that is out is none: the site starts, and presence begins when it is back.
func New(store Store, cfg Config) (*Tracker, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	t := &Tracker{
		store: newTimedStore(store), cfg: cfg,
		stats:       counters{sessions: newHistogram(sessionBounds)},
		connections: newConnections(),
		replicas:    make(map[Topic]*replica),
		gone:        make(map[goneLease]struct{}),
		said:        newSaid(cfg.MaxPending),
		probes:      sync.Pool{New: func() any { return new(entry) }},
	}
	t.views = newRecentViews(cfg.Age, t.forgot)
	t.statuses = newStatuses(t.forgot)
	t.attendedAt = newRecollection[UserID, time.Time](maxAttended, t.forgot)
	t.past = newPast(t.forgot)
	t.seal = newSeal(t.store, cfg.Secret)
	t.life, t.end = context.WithCancel(context.Background())
	t.writer = newWriter(t.store, &t.cfg, &t.stats, t.rejoin)
	go t.writer.run(t.life)
	t.spawn(t.beat)
	t.spawn(t.keepHouse)
	t.spawn(t.seal.keep)
	t.listen()
	return t, nil
}

// spawn runs fn in a goroutine that Close waits for. After Close it does nothing.
func (t *Tracker) spawn(fn func(context.Context)) {
	t.owning.Lock()
	defer t.owning.Unlock()
	if t.life.Err() == nil {
		t.owned.Go(func() { fn(t.life) })
	}
}

// Config returns the configuration with its defaults filled in.
func (t *Tracker) Config() Config { return t.cfg }

// Seen records a page view of a signed-in user in a topic: it holds the user
// online for Config.Age. It never waits for the store. An invalid or hidden
// user is not recorded.
func (t *Tracker) Seen(topic Topic, user User) {
	if user.Hidden || user.Validate() != nil {
		return
	}
	user = user.clone()
	at := time.Now()
	t.views.add(topic, user, at)
	t.attend(topic, user.ID, false)
	t.viewed(topic, user, at)
}

// viewed writes a page view of a moment, unless it holds no longer or the user
// signed out since.
func (t *Tracker) viewed(topic Topic, user User, at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now, known := t.asChosenLocked(user); known {
		t.viewedLocked(topic, now, at)
	} else {
		t.awaitChoiceLocked(user, func(now User) { t.viewedLocked(topic, now, at) })
	}
}

func (t *Tracker) viewedLocked(topic Topic, user User, at time.Time) {
	left := t.cfg.Age - time.Since(at)
	if voided, ok := t.past.voided.get(user.ID); left > 0 && !(ok && voided.After(at)) {
		t.writer.add(topic, Op{Kind: OpSeen, User: user, For: left})
	}
}

// forgot counts what was forgotten because a memory of this node was full.
func (t *Tracker) forgot(n int) { t.stats.forgotten.Add(uint64(n)) }

// SeenGuest counts a guest, by an opaque id of the guest's browser, among those
// of a topic. It never waits for the store.
func (t *Tracker) SeenGuest(topic Topic, guest string) {
	if guest != "" {
		t.writer.add(topic, Op{Kind: OpGuest, Guest: strings.Clone(guest), For: t.cfg.Age})
	}
}

// Connections returns how many connections of a user are open on this node,
// observers among them. It costs a look into a map.
func (t *Tracker) Connections(user UserID) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.connections.byUser[user])
}

// NeedsSeen reports whether a page view of a user in a topic is to be recorded
// although one was at a moment before: because a connection that held the user
// was opened on this node since (only later views count when it closes, and it
// may have), because the user signed out since, or because the topic's roster
// does not have the user: a stream elsewhere closed, or the store lost the record.
// It costs a look into memory, and says false of a topic that is not there yet.
func (t *Tracker) NeedsSeen(topic Topic, user UserID, since time.Time) bool {
	t.mu.Lock()
	if voided, _ := t.past.voided.get(user); t.connections.heldSince(user, since) || !voided.Before(since) {
		t.mu.Unlock()
		return true
	}
	r, err := t.lookAt(topic)
	t.mu.Unlock()
	if err != nil {
		return false
	}
	view := r.view.Load()
	return view != nil && view.roster.get(user) == nil
}

func (t *Tracker) await(ctx context.Context, acks ...*ack) error {
	for _, a := range acks {
		select {
		case <-a.done:
			if a.err != nil {
				return a.err
			}
		case <-ctx.Done():
			return ctx.Err()
		case <-t.writer.done:
			return ErrClosed
		}
	}
	return nil
}

// storeOut makes any error of the store one that is [ErrStoreOut].
func storeOut(err error) error {
	if err == nil || errors.Is(err, ErrStoreOut) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrStoreOut, err)
}

// Sightings returns what is known of each user in a topic, in their order, or
// an error that is [ErrStoreOut]. It costs one round trip to the store.
func (t *Tracker) Sightings(ctx context.Context, topic Topic, users ...UserID) ([]Sighting, error) {
	s, err := t.store.Sightings(ctx, topic, users...)
	return s, storeOut(err)
}

// Close ends every connection with [ErrClosed], so that pages come back to
// another node, releases their leases with the grace, writes what waits (for 3 s
// while the store is out: nobody else knows of it), and returns when no goroutine
// is left or ctx ends. It may be called twice.
func (t *Tracker) Close(ctx context.Context) error {
	t.mu.Lock()
	t.closed = true
	all := t.connections.all()
	t.mu.Unlock()
	for _, c := range all {
		c.finish(ErrClosed, OpRelease)
	}
	t.awaitStatuses(ctx)
	t.owning.Lock()
	t.end()
	t.owning.Unlock()
	last, cancel := context.WithTimeout(ctx, applyTimeout)
	done := make(chan struct{})
	go func() {
		defer close(done)
		<-t.writer.done
		for !t.retell(last) && wait(last, backoffFirst) {
			// nobody else knows of it
		}
		cancel()
		t.owned.Wait()
		for _, r := range t.allReplicas() {
			r.close()
		}
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// newHolder names a connection: by its node, and by 96 random bits, so that nobody
// can guess the name of another's.
func (t *Tracker) newHolder() Holder {
	var id [12]byte
	rand.Read(id[:])
	return Holder(t.cfg.Node + "." + base64.RawURLEncoding.EncodeToString(id[:]))
}

// Sweep removes expired leases in all topics of the store; see [Store.Sweep]. It
// returns [ErrStoreOut] while the store is out. For a heartbeat and 4 s after it
// was out for long (the TTL at most) it spares leases that were not renewed since:
// they expired because nobody could, and every node must have had time to say who
// is still there.
func (t *Tracker) Sweep(ctx context.Context) (Swept, error) {
	opts := SweepOptions{Limit: sweepMost}
	switch since, there := t.writer.backFor(); {
	case !there:
		return Swept{}, ErrStoreOut
	case since < allBack:
		return Swept{}, nil
	case since < t.cfg.catchUp():
		opts.RenewedWithin = max(since-allBack, 1)
	}
	ctx, cancel := context.WithTimeout(ctx, jobTimeout)
	defer cancel()
	swept, err := t.store.Sweep(ctx, opts)
	t.stats.sweeps.Add(1)
	t.stats.swept.Add(uint64(swept.Leases))
	t.stats.leaves.Add(uint64(swept.Leaves))
	return swept, err
}

// catchesUp reports whether the store is out, or was until a moment ago, for so long
// that leases may have expired that somebody holds.
func (t *Tracker) catchesUp() bool {
	since, there := t.writer.backFor()
	return !there || since < t.cfg.catchUp()
}

// Bounds of one call of a job; Swept.More asks for another. A store that hangs
// must not hold up a cron for longer.
const (
	sweepMost  = 10_000
	jobTimeout = 5 * time.Second
)

// Age turns the current sets into the old ones where a period is over; see
// [Store.Age]. Call it several times a period: it does nothing before its time.
func (t *Tracker) Age(ctx context.Context) (turned int, err error) {
	ctx, cancel := context.WithTimeout(ctx, jobTimeout)
	defer cancel()
	turned, err = t.store.Age(ctx, t.cfg.Age)
	t.stats.rotations.Add(uint64(turned))
	return turned, err
}

// Trim forgets who was last seen long ago; see [Store.Trim].
func (t *Tracker) Trim(ctx context.Context) (forgotten int, err error) {
	ctx, cancel := context.WithTimeout(ctx, jobTimeout)
	defer cancel()
	forgotten, err = t.store.Trim(ctx, t.cfg.LastSeenKeep, t.cfg.MaxLastSeen)
	t.stats.trimmed.Add(uint64(forgotten))
	return forgotten, err
}
