package deliver

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/internal/wire"
)

// AllOf returns what [Consumers.Run] takes for all topics of a kind: AllOf("thread") is
// "thread:*", which stands for each topic that begins with "thread:". It is no topic: nobody can
// be there. [presence.Topic.In] makes it that of a tenant.
func AllOf(kind string) presence.Topic { return presence.Topic(kind + allSuffix) }

const allSuffix = ":*" // isAllno topic has an asterisk

// isAll reports whether a topic is one of AllOf.
func isAll(t presence.Topic) bool { return strings.HasSuffix(string(t), allSuffix) }

// validateAll returns an error for what AllOf does not return for any kind.
func validateAll(t presence.Topic) error {
	kind := strings.TrimSuffix(string(t), allSuffix)
	if kind == "" || strings.HasSuffix(kind, wire.TopicSeparator) || strings.Contains(kind, ":") {
		return fmt.Errorf("%w: %q is of no kind", presence.ErrInvalidTopic, t)
	}
	return presence.Topic(kind + ":").ValidateInside()
}

// A followedKind is all topics of a kind, as a leader follows them. Once a second the leader
// looks at a page of the store's list of topics. A topic that it does not follow, and in which
// somebody was lately, begins at Origin: its log has all that happened before the leader saw it.
// A topic in which nobody is, and of which all was told, is followed no longer: it rests, and takes
// no place of another. While the store lists it, its position stays, and whoever comes back is told
// from there. Once the store has nothing of it, it is at Origin, as all topics of the kind are that
// the record does not name.
//
//	12:00:00.2   alice joins thread:7     the store lists thread:7, before she is in it
//	12:00:00.9   alice leaves             the log of thread:7 stays for a minute
//	12:00:01.0   the leader's next look   thread:7 is new: its log from Origin has both
//	12:00:02.0   all was told             thread:7 rests
//	12:01:02.0   the log is gone          the leader forgets thread:7
//
// So nothing is missed as long as each part of the list is looked at before a log is gone that
// began after the look before. The longest time between two looks at one part is
//
//	kindLap of the leader that dies, holdFor, kindQuiet, kindLap of the next leader: 56 s
//
// Whatever takes longer is a gap of the kind.
type followedKind struct {
	all     presence.Topic // "thread:*"
	prefix  string         // "thread:"
	begun   bool           // it is in the record: a topic that is not there is at Origin
	lapped  bool           // this node has looked at the whole list
	after   presence.Topic // where the next look goes on
	lap     time.Time
	left    int       // topics of this lap for which there is no room
	waiting int       // the same of the lap before
	leftAt  time.Time // when there was no room last
	crowded bool      // that was told
	lost    time.Time // the loss of the record that was told
	laps    int       // how many looks at the whole list there were
	resting map[presence.Topic]resting
}

// A resting topic was told up to a version, and is not followed.
type resting struct {
	position
	lap int // in which it was in the list last
}

const (
	kindLap   = 15 * time.Second // looks at the whole list
	kindQuiet = 20 * time.Second // nobody holds the record
	kindCalm  = 10 * time.Second // after it there is room for all topics again
)

// maxResting is the largest number of topics that may rest at a time. A topic over it stays followed.
const maxResting = maxKindTopics

// crowdedMark stands in the record of a kind that is crowded.
const crowdedMark = "crowded"

func (c *consumer) newKind(all presence.Topic) *followedKind {
	k := &followedKind{all: all, prefix: strings.TrimSuffix(string(all), "*"), lap: time.Now(), resting: make(map[presence.Topic]resting)}
	if c.copy == nil || time.Since(c.lost) >= holdFor+newWait { // else it is to be told
		k.lost = c.lost
	}
	k.after = k.start()
	return k
}

// start returns what comes before all topics of the kind: the byte before the colon is 9.
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

// followedOf returns the topic of a leader; nil if it is neither named nor of a kind. A topic of
// a kind that was not followed is followed from now on.
func (l *leader) followedOf(topic presence.Topic) *followed {
	if f := l.byTopic[topic]; f != nil {
		return f
	}
	if !slices.ContainsFunc(l.kinds, func(k *followedKind) bool { return k.has(topic) }) || isAll(topic) {
		return nil
	}
	return l.follow(&tapped{topic: topic}, true)
}

func (l *leader) follow(t *tapped, ofKind bool) *followed {
	f := &followed{tapped: t, ofKind: ofKind, users: make(map[presence.UserID]toldUser)}
	l.byTopic[t.topic] = f
	l.follows = append(l.follows, f)
	return f
}

// lookForTopics looks at a page of each kind.
func (l *leader) lookForTopics(ctx context.Context) {
	left := 0
	for _, k := range l.kinds {
		if k.lost != l.lost {
			k.lost = l.lost
			l.missed(k)
		}
		_, _ = l.look(ctx, k) // after an error the next tick tries again
		left += max(k.waiting, k.left)
	}
	l.stats.left.Store(int64(left))
}

// look looks at a page of the topics of a kind, and follows those that are new. It returns true at
// the end of the list.
func (l *leader) look(ctx context.Context, k *followedKind) (whole bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	page, err := l.node.Store.Topics(ctx, k.after, topicsAtOnce)
	if err != nil {
		return false, err
	}
	whole = len(page) < topicsAtOnce
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
		return false, err
	}
	if time.Since(k.lap) > kindLap {
		l.missed(k)
		k.lap = time.Now()
	}
	room := l.room(k)
	for i, topic := range page {
		rest, rests := k.resting[topic]
		c := counts[i]
		if rests && (c.Unknown || c.Head != backend.Origin) {
			k.resting[topic] = resting{rest.position, k.laps}
		}
		switch {
		case c.Unknown || rests && c.Head == rest.at && c.Total == 0:
		case c.Head == backend.Origin && c.Total == 0: // guests alone
		case room <= 0:
			k.left++
			k.leftAt = time.Now()
		default:
			room--
			f := l.follow(&tapped{topic: topic}, true)
			f.position, f.begun = position{at: backend.Origin}, k.begun || k.lapped
			if rests {
				f.position, f.begun = rest.position, true
				delete(k.resting, topic)
			}
		}
	}
	if k.after = after; whole {
		l.endLap(k)
	}
	return whole, nil
}

// room returns for how many more topics of a kind there is room. While more than half of the places
// are taken, the kinds of a tenant get no more than the tenant's equal share of them. A visitor has
// no share: nothing in the store says who opened a topic.
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

// endLap ends a look at the whole list. A kind that gets crowded has a gap, and a kind in which
// there is room again has another one, since topics came and went meanwhile.
func (l *leader) endLap(k *followedKind) {
	crowded := k.left > 0 || k.crowded && time.Since(k.leftAt) < kindCalm
	if crowded != k.crowded {
		k.crowded = crowded
		l.missed(k)
		if k.begun {
			l.changes = append(l.changes, k.entry())
		}
	}
	maps.DeleteFunc(k.resting, func(topic presence.Topic, r resting) bool {
		if r.lap < k.laps {
			l.changes = append(l.changes, recordChange{key: positionKey(topic), gone: true})
		}
		return r.lap < k.laps
	})
	k.waiting, k.left, k.lap, k.lapped = k.left, 0, time.Now(), true
	k.laps++
}

// missed makes a gap of a kind that has begun.
func (l *leader) missed(k *followedKind) {
	if !k.begun {
		return
	}
	l.event(Event{Type: Gap, Topic: k.all}, sessionOf(time.Now()))
	l.stats.gaps.Add(1)
	l.log().Warn("presence: a consumer may have missed joins and leaves", slog.String("topic", string(k.all)))
}

// beginKinds notes in the record that kinds have begun, of which each topic has begun.
func (l *leader) beginKinds() {
	for _, k := range l.kinds {
		if !k.begun && k.lapped && !slices.ContainsFunc(l.follows, func(f *followed) bool { return !f.begun && k.has(f.topic) }) {
			k.begun = true
			l.changes = append(l.changes, k.entry())
			if k.crowded {
				l.missed(k)
			}
		}
	}
}

// prepareKinds begins all topics of the kinds at once, for a consumer that is new.
func (l *leader) prepareKinds(ctx context.Context) bool {
	for _, k := range l.kinds {
		for whole, err := l.look(ctx, k); !whole; whole, err = l.look(ctx, k) {
			if err != nil || time.Since(k.lap) > kindLap {
				return false
			}
		}
	}
	for _, f := range l.follows {
		if !f.begun && !l.beginTopic(ctx, f) {
			return false
		}
	}
	l.beginKinds()
	return true
}

// rest follows the topics of kinds no longer of which all was told. What is at Origin is forgotten:
// the record does not name it.
func (l *leader) rest() {
	rests := 0
	for _, k := range l.kinds {
		rests += len(k.resting)
	}
	l.follows = slices.DeleteFunc(l.follows, func(f *followed) bool {
		if !f.over || f.at != backend.Origin && rests >= maxResting {
			return false
		}
		delete(l.byTopic, f.topic)
		if f.at == backend.Origin {
			l.changes = append(l.changes, recordChange{key: positionKey(f.topic), gone: true})
			return true
		}
		k := l.kinds[slices.IndexFunc(l.kinds, func(k *followedKind) bool { return k.has(f.topic) })]
		k.resting[f.topic] = resting{f.position, k.laps}
		rests++
		return true
	})
}

// restsAt reports whether all was told of a topic of a kind up to a version, and nobody was told to
// be there.
func (f *followed) restsAt(head presence.DiffID) bool {
	return f.ofKind && f.begun && !f.unheld && len(f.users) == 0 && f.at == head && f.doubt.IsZero()
}
