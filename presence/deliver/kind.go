package deliver

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/internal/wire"
)

// AllOf returns the argument of [Consumers.Run] for all topics of a kind: AllOf("thread") is "thread:*", for
// each topic that begins with "thread:". It is not a topic itself: nobody can be there. [presence.Topic.In]
// makes it all topics of the kind in one tenant.
func AllOf(kind string) presence.Topic { return presence.Topic(kind + allSuffix) }

const allSuffix = ":*" // no topic has an asterisk

// isAll reports whether a topic is a value of AllOf.
func isAll(t presence.Topic) bool { return strings.HasSuffix(string(t), allSuffix) }

// validateAll returns an error unless t is the value of AllOf for a valid kind.
func validateAll(t presence.Topic) error {
	kind := strings.TrimSuffix(string(t), allSuffix)
	if kind == "" || strings.HasSuffix(kind, wire.TopicSeparator) || strings.Contains(kind, ":") {
		return fmt.Errorf("%w: %q is of no kind", presence.ErrInvalidTopic, t)
	}
	return presence.Topic(kind + ":").ValidateInside()
}

// A followedKind has all topics of a kind, as a leader follows them. Once a second the leader looks at a page
// of the store's list of topics. A topic that it does not follow, and that somebody was in lately, starts at
// Origin: its log has all that happened before the leader saw it. A topic rests once it is empty and all its
// events were told: it takes no place. While the store lists the topic, its position is kept, and a user who
// comes back is told from there. Once the store has dropped the topic, it is at Origin, like all topics of the
// kind that the record does not name.
//
//	12:00:00.2   alice joins thread:7     the store lists thread:7, before she is in it
//	12:00:00.9   alice leaves             the log of thread:7 stays for a minute
//	12:00:01.0   the leader's next look   thread:7 is new: its log from Origin has both
//	12:00:02.0   all was told             thread:7 rests
//	12:01:02.0   the log is gone          the leader forgets thread:7
//
// Nothing is missed as long as the leader looks at each part of the list before any log is gone that began
// after its previous look. The longest time between two looks at one part is
//
//	kindLap of the leader that dies, holdFor, kindQuiet, kindLap of the next leader: 56 s
//
// If a look comes later than that, the kind has a gap.
type followedKind struct {
	all     presence.Topic // "thread:*"
	prefix  string         // "thread:"
	begun   bool           // the record has the kind: a topic that it does not name is at Origin
	lapped  bool           // this node has looked at the whole list
	after   presence.Topic // the next look begins after this topic
	lap     time.Time      // when the look at the whole list began
	laps    int            // the number of these looks
	left    int            // topics without room in this lap
	waiting int            // topics without room in the lap before
	leftAt  time.Time      // when a topic was last without room
	crowded bool           // there is no room, and the gap for that was made
}

const (
	kindLap   = 15 * time.Second // a slower look at the whole list is a gap
	kindQuiet = 20 * time.Second // a longer time without a holder of the record is a gap
	kindCalm  = 10 * time.Second // after this time without a lack of room, the kind is no longer crowded
)

// maxResting is the largest number of topics that may rest at a time. A topic over it stays followed.
const maxResting = maxKindTopics

// crowdedMark stands in the record of a kind that is crowded.
const crowdedMark = "crowded"

func newKind(all presence.Topic) *followedKind {
	k := &followedKind{all: all, prefix: strings.TrimSuffix(string(all), "*"), lap: time.Now()}
	k.after = k.start()
	return k
}

// start returns a text that sorts before all topics of the kind: 9 is the byte before the colon.
func (k *followedKind) start() presence.Topic {
	return presence.Topic(strings.TrimSuffix(k.prefix, ":") + "9\xff")
}

func (k *followedKind) has(topic presence.Topic) bool {
	return strings.HasPrefix(string(topic), k.prefix)
}

// entry returns the entry of the record that says that the kind has begun.
func (k *followedKind) entry() recordChange {
	value := "1"
	if k.crowded {
		value = crowdedMark
	}
	return recordChange{key: positionKey(k.all), value: value}
}

// followedOf returns the leader's state of a topic; nil if the topic is neither named nor of a kind. It begins
// to follow a topic of a kind that was not followed.
func (l *leader) followedOf(topic presence.Topic) *followed {
	if f := l.byTopic[topic]; f != nil {
		return f
	}
	if !slices.ContainsFunc(l.kinds, func(k *followedKind) bool { return k.has(topic) }) || isAll(topic) {
		return nil
	}
	return l.follow(topic, true)
}

// lookForTopics looks at a page of each kind. After an error the next round tries again.
func (l *leader) lookForTopics(ctx context.Context) {
	left := 0
	for _, k := range l.kinds {
		_ = l.look(ctx, k)
		left += max(k.waiting, k.left)
	}
	l.stats.left.Store(int64(left))
}

// look looks at a page of the topics of a kind, and follows the new ones.
func (l *leader) look(ctx context.Context, k *followedKind) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	page, err := l.node.Store.Topics(ctx, k.after, topicsAtOnce)
	if err != nil {
		return err
	}
	whole := len(page) < topicsAtOnce
	if end := slices.IndexFunc(page, func(t presence.Topic) bool { return !k.has(t) }); end >= 0 {
		page, whole = page[:end], true
	}
	after := k.start()
	if !whole {
		after = page[len(page)-1]
	}
	page = slices.DeleteFunc(page, func(t presence.Topic) bool { return l.byTopic[t] != nil })
	counts, err := l.node.Store.Counts(ctx, page...)
	if err != nil {
		return err
	}
	if time.Since(k.lap) > kindLap {
		if k.lap = time.Now(); k.begun {
			l.tellGap(k.all)
		}
	}
	l.place(k, page, counts)
	if k.after = after; whole {
		l.endLap(k)
	}
	return nil
}

// place follows those topics of a page with users, or that had some lately, for which there is room.
func (l *leader) place(k *followedKind, page []presence.Topic, counts []backend.Counts) {
	room := l.room(k)
	for i, topic := range page {
		f, c := l.resting[topic], counts[i]
		if f != nil && (c.Unknown || c.Head != backend.Origin) {
			f.lap = k.laps
		}
		switch {
		case c.Unknown, f != nil && c.Head == f.at && c.Total == 0:
		case c.Head == backend.Origin && c.Total == 0: // only guests
		case room <= 0:
			k.left++
			k.leftAt = time.Now()
		case f != nil:
			room--
			delete(l.resting, topic)
			l.byTopic[topic], l.follows = f, append(l.follows, f)
		default:
			room--
			f := l.follow(topic, true)
			f.at, f.begun = backend.Origin, k.begun || k.lapped
		}
	}
}

// room returns how many more topics of a kind may be followed. While more than half of the places are taken,
// the kinds of a tenant get at most the tenant's equal share. Visitors have no shares: the store does not know
// who opened a topic.
func (l *leader) room(k *followedKind) int {
	most, taken := l.opts.MaxTopics, make(map[string]int)
	for _, k := range l.kinds {
		taken[k.all.Tenant()] = 0
	}
	share, places := max(1, most/len(taken)), 0
	for _, f := range l.follows {
		if f.ofKind {
			places++
			taken[f.topic.Tenant()]++
		}
	}
	return min(most-places, max((most+1)/2-places, share-taken[k.all.Tenant()]))
}

// endLap ends a look at the whole list. A kind that becomes crowded has a gap. A kind that has room again has
// another one, since topics came and went in between.
func (l *leader) endLap(k *followedKind) {
	crowded := k.left > 0 || k.crowded && time.Since(k.leftAt) < kindCalm
	if crowded != k.crowded {
		if k.crowded = crowded; k.begun {
			l.tellGap(k.all)
			l.changes = append(l.changes, k.entry())
		}
	}
	for topic, f := range l.resting {
		if k.has(topic) && f.lap < k.laps {
			delete(l.resting, topic)
			l.unset(positionKey(topic))
		}
	}
	k.waiting, k.left, k.lap, k.lapped = k.left, 0, time.Now(), true
	k.laps++
}

// beginKinds notes in the record that a kind has begun, once all of its topics have begun.
func (l *leader) beginKinds() {
	for _, k := range l.kinds {
		if !k.begun && k.lapped && !slices.ContainsFunc(l.follows, func(f *followed) bool { return !f.begun && k.has(f.topic) }) {
			k.begun = true
			l.changes = append(l.changes, k.entry())
			if k.crowded {
				l.tellGap(k.all)
			}
		}
	}
}

// rest stops following the topics of kinds that are empty and whose events were all told. It forgets those at
// Origin: the record does not name them.
func (l *leader) rest() {
	l.follows = slices.DeleteFunc(l.follows, func(f *followed) bool {
		if !f.over || f.at != backend.Origin && len(l.resting) >= maxResting {
			return false
		}
		delete(l.byTopic, f.topic)
		if f.at == backend.Origin {
			l.unset(positionKey(f.topic))
			return true
		}
		k := l.kinds[slices.IndexFunc(l.kinds, func(k *followedKind) bool { return k.has(f.topic) })]
		f.over, f.lap = false, k.laps
		l.resting[f.topic] = f
		return true
	})
}

// restsAt reports whether a topic of a kind may rest: all its events up to a version were told, and no user is
// left whose join was told.
func (f *followed) restsAt(head presence.DiffID) bool {
	return f.ofKind && f.begun && len(f.users) == 0 && f.at == head && f.gap.IsZero()
}
