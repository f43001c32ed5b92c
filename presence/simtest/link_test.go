package simtest_test

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// A link is the connection on which a process hears from the store. While it is stalled, what
// comes waits. While it is broken, diffs and broadcasts are lost, and lasting notices come late,
// as those of Redis do.
type link struct {
	*server
	world *world
	node  string

	mu      sync.Mutex
	paused  chan struct{} // closed when the process goes on; nil: it is not paused
	stalled bool
	frozen  bool          // only writes are stalled, as by CLIENT PAUSE WRITE
	thawed  chan struct{} // closed when it is stalled no longer; nil: nobody waits
	broken  bool
	log     int64                         // which log of notices was read last
	read    time.Time                     // and when
	queue   []parcel                      // what waits
	late    []lateNotice                  // that it reads in the store's log once it can
	gone    []lateNotice                  // that the store lost before it could
	lose    int                           // diffs
	lost    atomic.Int64                  // when the latest was lost, in Unix ns; the world reads it while it holds its own mutex
	muddled time.Time                     // until when notices came that had waited
	since   time.Time                     // when the latest stall began, or break
	landed  time.Time                     // when the latest write landed that had waited for a stall to end
	outdone map[presence.UserID]time.Time // when each user was last written as visible while notices came late
	hears   []func(backend.Notice)
	outs    map[string]bool // sign-outs that the process knows, by the ids of their notices
	idle    chan struct{}   // closed while nothing waits

	held map[presence.Topic][]parcel // of topics that are late
}

// A parcel is something on its way to the process.
type parcel struct {
	deliver func()
	notice  *lateNotice // the lasting notice in the parcel; nil: it has none
}

type lateNotice struct {
	notice backend.Notice
	at     time.Time
}

// now returns the notice as it is heard now. A lasting one says how late it is from a second on.
func (n lateNotice) now() backend.Notice {
	if late := time.Since(n.at); n.notice.Lasting && (late >= hearEvery || n.notice.Ago > 0) {
		n.notice.Ago += late
	}
	return n.notice
}

// is reports whether two are of one call of Publish.
func (n lateNotice) is(other lateNotice) bool {
	return n.at.Equal(other.at) && n.notice.ID == other.notice.ID && n.notice.Kind == other.notice.Kind && n.notice.User == other.notice.User
}

func newLink(w *world, node string) *link {
	l := &link{
		server: w.server, world: w, node: node, idle: make(chan struct{}),
		outdone: make(map[presence.UserID]time.Time), outs: make(map[string]bool),
	}
	close(l.idle)
	return l
}

// Watch implements backend.Store.
func (l *link) Watch(ctx context.Context, topic presence.Topic, w backend.Watcher) (func(), error) {
	return through(ctx, l, false, func(ctx context.Context) (func(), error) {
		return l.server.Watch(ctx, topic, backend.Watcher{
			Diff: func(d backend.Diff) {
				l.mu.Lock()
				defer l.mu.Unlock()
				switch {
				case l.broken:
				case l.lose > 0:
					l.lose--
					l.lost.Store(time.Now().UnixNano())
					l.world.losesDiff()
				default:
					l.deliverOfLocked(topic, parcel{deliver: func() { w.Diff(d) }})
				}
			},
			Broadcast: func(b []byte) {
				l.mu.Lock()
				defer l.mu.Unlock()
				if !l.broken && w.Broadcast != nil {
					l.deliverLocked(parcel{deliver: func() { w.Broadcast(b) }})
				}
			},
		})
	})
}

// Listen implements backend.Store.
func (l *link) Listen(ctx context.Context, fn func(backend.Notice)) (func(), error) {
	l.mu.Lock()
	told := fn
	fn = func(n backend.Notice) {
		if n.Lasting || n.Missed > 0 {
			l.world.note("node %s hears %s %s %v ago, missed %v", l.node, n.Kind, n.User, n.Ago, n.Missed)
		}
		if n.Kind == backend.NoticeSignedOut {
			l.outs[n.ID] = true
		}
		told(n)
	}
	l.hears = append(l.hears, fn)
	l.log, l.read = l.server.losses.Load(), time.Now()
	l.mu.Unlock()
	return through(ctx, l, false, func(ctx context.Context) (func(), error) {
		return l.server.Listen(ctx, func(n backend.Notice) {
			l.mu.Lock()
			defer l.mu.Unlock()
			switch {
			case !l.broken:
				came := lateNotice{n, time.Now()}
				p := parcel{deliver: func() { fn(came.now()) }}
				if n.Lasting {
					l.readLocked()
					p.notice = &came
				}
				l.deliverLocked(p)
			case n.Lasting:
				l.late = append(l.late, lateNotice{n, time.Now()})
			}
		})
	})
}

// Hear implements backend.Store.
func (l *link) Hear(ctx context.Context) error {
	_, err := through(ctx, l, false, func(ctx context.Context) (struct{}, error) {
		l.mu.Lock()
		idle := l.idle
		l.mu.Unlock()
		select {
		case <-idle:
			l.reads()
			return struct{}{}, l.server.Hear(ctx)
		case <-ctx.Done():
			return struct{}{}, ctx.Err()
		}
	})
	return err
}

// knows reports whether the process has published or heard a sign-out.
func (l *link) knows(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.outs[id]
}

// signsOut is for when the process publishes a sign-out that is new.
func (l *link) signsOut(n backend.Notice) {
	l.mu.Lock()
	l.outs[n.ID] = true
	l.mu.Unlock()
	l.world.publishes(n)
}

// deliverLocked delivers in order: at once, or once the link is no longer stalled.
func (l *link) deliverLocked(p parcel) {
	if !l.stalled {
		p.deliver()
		return
	}
	if len(l.queue) == 0 {
		l.idle = make(chan struct{})
	}
	l.queue = append(l.queue, p)
}

// set makes the link stalled, for writes or for all, or broken.
func (l *link) set(stalled, frozen, broken bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if broken && !l.broken {
		for _, p := range l.queue { // a connection that breaks loses what is on its way
			if p.notice != nil { // but the server's log has it
				l.late = append(l.late, *p.notice)
			}
		}
		l.queue = nil
		for topic := range l.held {
			l.held[topic] = nil
		}
	}
	back := l.broken && !broken
	if (stalled || frozen || broken) && !l.stalled && !l.frozen && !l.broken {
		l.since = time.Now()
	}
	if l.stalled, l.broken = stalled, broken; !back { // else the listener connects again first
		l.readLocked()
	}
	thaws := l.frozen && !frozen || !stalled
	if l.frozen = frozen; thaws && l.thawed != nil {
		close(l.thawed)
		l.thawed = nil
	}
	if !stalled {
		for _, p := range l.queue {
			p.deliver()
		}
		l.queue = nil
		select {
		case <-l.idle:
		default:
			close(l.idle)
		}
	}
}

// loses is for when the store may have lost data, or begins with a file. A notice that is still on its way is heard once
// the store's log has it. A node takes no diff that is held up until then: it does not go on from what the node reads of
// the topic now.
func (l *link) loses(log []lateNotice) {
	lost := func(n lateNotice) bool { return !slices.ContainsFunc(log, n.is) }
	l.mu.Lock()
	defer l.mu.Unlock()
	unheard := append(l.late, l.gone...)
	l.queue = slices.DeleteFunc(l.queue, func(p parcel) bool {
		gone := p.notice != nil && lost(*p.notice)
		if gone {
			unheard = append(unheard, *p.notice)
		}
		return gone
	})
	l.late, l.gone = nil, nil
	for _, n := range unheard {
		if lost(n) {
			l.gone = append(l.gone, n)
		} else {
			l.late = append(l.late, n)
		}
	}
}

// reads reads the log of notices, as the listener of a Redis does about once a second: so it hears
// what was published while the link was broken. Where the server has lost the log since, the process
// learns that it may have missed some.
func (l *link) reads() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.readLocked()
}

func (l *link) readLocked() {
	if l.stalled || l.broken {
		return
	}
	for _, n := range l.late {
		for _, fn := range l.hears {
			late := n.now()
			l.deliverLocked(parcel{deliver: func() { fn(late) }})
		}
	}
	l.late = nil
	missed, lost := max(time.Since(l.read), hearEvery), l.server.losses.Load()
	if lost != l.log {
		for _, fn := range l.hears {
			l.deliverLocked(parcel{deliver: func() { fn(backend.Notice{Missed: missed}) }})
		}
	}
	l.log, l.read = lost, time.Now()
}

// hearEvery is how often a poll of a node that is used reads the log, about.
const hearEvery = time.Second

func (l *link) loseDiffs(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lose += n
}

// lostAnswers is how many answers of each method are lost.
const lostAnswers = 2

// lostFor returns how long ago a diff was last lost on its way to the process.
func (l *link) lostFor() time.Duration { return time.Since(time.Unix(0, l.lost.Load())) }

// lands is for a write that waited for a stall to end.
func (l *link) lands() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.landed = time.Now()
}

// writes is for operations that are about to be written. Where notices come late, the process does not know
// what its users have chosen since.
func (l *link) writes(ops []backend.Op) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, op := range ops {
		user, _ := backend.OwnerOf(op.User.ID) // of a device, whose status is its visibility's
		status := op.User.Status
		if v := op.User.Visibility; v != nil {
			status = v.Status
		}
		shows := status != "" || op.Kind == backend.OpJoin || op.Kind == backend.OpSeen
		if !shows || status.Base() == presence.Invisible {
			continue
		}
		if time.Now().Before(l.muddled) {
			l.outdone[user] = time.Now()
		}
	}
}

// outrunFor returns how long ago a write of a user landed whose process had not heard what happened at
// a moment: it was under way when the link's stall ended, or notices came late.
func (l *link) outrunFor(user string, at time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	ago := never
	if at.After(l.since) && at.Before(l.landed) {
		ago = time.Since(l.landed)
	}
	if wrote := l.outdone[presence.UserID(user)]; wrote.After(at) {
		ago = min(ago, time.Since(wrote))
	}
	return ago
}

// muddles is for what makes notices wait until a moment that do not say how old they are.
func (l *link) muddles(until time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if until.After(l.muddled) {
		l.muddled = until
	}
}
