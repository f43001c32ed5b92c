package deliver

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// A followed is a topic of a leader. The field users has those whose joins were told. The leader compares each
// diff and each list with users: the join of one of them is no event, and neither is the leave of anybody else.
// So it does no harm to read a diff or a list twice.
type followed struct {
	topic presence.Topic
	kind  *followedKind // nil: the topic is named
	begun bool          // the topic has a position
	waits bool          // there is no room: see enter
	position
	users   map[presence.UserID]toldUser
	differs presence.DiffID // the version at which the store's total differed from that of users

	changed atomic.Bool // a diff came since the log was read
	unwatch func()      // nil: the watch has not begun
}

// follow returns what is known of a topic, and begins to follow it; nil if it is neither named nor of a kind.
func (l *leader) follow(topic presence.Topic) *followed {
	f := l.byTopic[topic]
	if f != nil {
		return f
	}
	f = &followed{topic: topic, users: make(map[presence.UserID]toldUser)}
	if !slices.Contains(l.topics, topic) {
		if f.kind = l.kindOf(topic); f.kind == nil {
			return nil
		}
	}
	l.byTopic[topic], l.follows = f, append(l.follows, f)
	return f
}

// advance makes events of what happened in the topics. If due is set, it asks the store for their versions;
// otherwise it reads the logs of those topics whose watch brought a diff. If a round takes too long, the next
// round begins with the topics that are left.
func (l *leader) advance(ctx context.Context, due bool) {
	if !due {
		for _, f := range l.follows {
			if f.changed.Load() && f.begun && f.Gap.IsZero() {
				l.readLog(ctx, f)
			}
		}
		return
	}
	for _, k := range l.kinds {
		l.look(ctx, k)
	}
	counts, err := l.heads(ctx)
	if err != nil {
		return
	}
	l.enter(counts)
	done := 0
	for began := time.Now(); done < len(l.follows) && time.Since(began) <= advanceFor; done++ {
		l.advanceIn(ctx, l.follows[done], counts[done])
	}
	l.follows = slices.Concat(l.follows[done:], l.follows[:done])
	l.follows = slices.DeleteFunc(l.follows, func(f *followed) bool { return l.byTopic[f.topic] != f }) // those that were dropped
	l.settle()
}

// heads asks for the versions of the topics, and begins the watches of named topics that have not begun.
func (l *leader) heads(ctx context.Context) ([]backend.Counts, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	topics := make([]presence.Topic, len(l.follows))
	for i, f := range l.follows {
		if topics[i] = f.topic; f.kind == nil && f.unwatch == nil {
			f.unwatch, _ = l.node.Store.Watch(ctx, f.topic, backend.Watcher{Diff: func(backend.Diff) { // after an error the next round tries again
				f.changed.Store(true)
				l.woken.Wake()
			}})
		}
	}
	return l.node.Store.Counts(ctx, topics...)
}

// advanceIn is advance for one topic. A total that differs twice at the version that was told is a gap: the
// store lost users, but not its log.
func (l *leader) advanceIn(ctx context.Context, f *followed, c backend.Counts) {
	differed := f.differs
	f.differs = ""
	switch {
	case c.Unknown, f.waits:
	case f.over(c):
		delete(l.byTopic, f.topic)
		l.set(positionKey(f.topic), "")
	case !f.begun, !f.Gap.IsZero():
		l.list(ctx, f)
	case c.Head != f.At:
		l.readLog(ctx, f)
	case c.Total == len(f.users):
	case c.Head == differed:
		l.gap(f)
	default:
		f.differs = c.Head
	}
}

// readLog makes events of the diffs in the store's log after the position. If the log does not reach back to
// the position, there is a gap. An empty topic may begin anew from Origin, and that is no gap. If a log from
// Origin on has joins that were told, the topic has not begun anew: the store went back in time.
//
// Example: Alice, the last one in thread:1, leaves at 12:00:00.0. The consumer is told. At 12:00:00.5 Redis fails
// over, and loses that. Its log of thread:1 begins with users who came and left long ago.
func (l *leader) readLog(ctx context.Context, f *followed) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	f.changed.Store(false)
	from := f.At
	diffs, err := l.node.Store.Log(ctx, f.topic, from)
	if errors.Is(err, presence.ErrGap) && len(f.users) == 0 {
		from = backend.Origin
		if diffs, err = l.node.Store.Log(ctx, f.topic, from); err == nil && len(diffs) == 0 {
			l.move(f, from)
		}
	}
	if err != nil && !errors.Is(err, presence.ErrGap) {
		return // the next round finds that the topic is behind
	}
	gap := err != nil || from == backend.Origin && slices.ContainsFunc(diffs, func(d backend.Diff) bool {
		return slices.ContainsFunc(d.Joins, f.isOld)
	})
	for _, d := range diffs {
		if gap = gap || d.Prev != f.At && (d.Prev != backend.Origin || len(f.users) > 0); gap {
			break
		}
		l.tell(f, d)
	}
	if gap {
		l.gap(f)
	}
}

// isOld reports whether a user came before the latest event that was told.
func (f *followed) isOld(m presence.Member) bool { return !m.Since.After(f.Latest) }

// gap makes a gap: events may be missing. From now on the topic is listed once a second: see list.
func (l *leader) gap(f *followed) {
	f.Gap = l.tellGap(f.topic)
	l.move(f, f.At)
}

// tellGap makes the gap of a topic or a kind, and returns when that was.
func (l *leader) tellGap(topic presence.Topic) time.Time {
	now := time.Now()
	l.event(Event{Type: Gap, Topic: topic}, listName(now))
	l.stats.gaps.Add(1)
	l.log.Warn("presence: a consumer may have missed joins and leaves", slog.String("topic", string(topic)))
	return now
}

func listName(gap time.Time) string { return "list " + strconv.FormatInt(gap.UnixMicro(), 10) }

// list makes events of the difference between users and the store's roster. After a gap, who is new joins at
// once. Who is gone leaves once the nodes have restored what the store lost, and the log goes on from there.
//
// A store that went back in time may list users who have left. They came before the latest event that was told,
// and are not among users. The list waits for their leases to end.
func (l *leader) list(ctx context.Context, f *followed) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	snap, err := l.node.Store.Snapshot(ctx, f.topic)
	if err != nil {
		return
	}
	source, restored, ended := listName(f.Gap), true, true
	if f.begun {
		restored, ended = l.node.Restored(f.topic, f.Gap)
	}
	there, waits := make(map[presence.UserID]bool, len(snap.Members)), false
	for _, m := range slices.Backward(snap.Members) { // joins come in the order in which the users came
		there[m.ID] = true
		if _, told := f.users[m.ID]; !told && !ended && f.isOld(m) {
			waits = true
			continue
		}
		l.join(f, m, source)
	}
	if !restored || !l.leaveAll(ctx, f, there, source) || waits {
		return
	}
	for _, m := range snap.Members {
		f.Latest = later(f.Latest, m.Since)
	}
	f.Gap = time.Time{}
	l.move(f, snap.ID)
}

// move sets the position of a topic.
func (l *leader) move(f *followed, at presence.DiffID) {
	f.At, f.begun = at, true
	l.set(positionKey(f.topic), encode(f.position))
}
