package deliver

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// AllOf returns the argument of [Consumers.Run] for all topics of a kind: AllOf("thread") is "thread:*", for
// each topic that begins with "thread:". It is not a topic itself: nobody can be there. [presence.Topic.In]
// makes it all topics of the kind in one tenant.
func AllOf(kind string) presence.Topic { return presence.Topic(kind + allSuffix) }

const allSuffix = ":*" // no topic has an asterisk

// isAll reports whether a topic is a value of AllOf.
func isAll(t presence.Topic) bool { return strings.HasSuffix(string(t), allSuffix) }

// A followedKind has all topics of a kind, as a leader follows them. Once a second the leader looks at a page
// of the store's list of topics. A topic that it does not follow starts at Origin: its log has all that happened
// before. A topic without users is idle, and takes no place. Once the store has dropped its log, it is not followed.
//
// Example: Alice is in thread:7 from 12:00:00.2 to 12:00:00.9. The look at 12:00:01 finds it, and its log has both.
//
// A log stays for a minute. The longest time between two looks at one part of the list is 56 s: kindLap of the
// leader that dies, holdFor, kindQuiet, and kindLap of the next leader. After a later look the kind has a gap.
type followedKind struct {
	all     presence.Topic // "thread:*"
	prefix  string         // "thread:"
	start   presence.Topic // sorts before all topics of the kind
	begun   bool           // the record has the kind: a topic that it does not name is at Origin
	lapped  bool           // this node has looked at the whole list
	after   presence.Topic // the next look begins after this topic
	lap     time.Time      // when the look at the whole list began
	left    int            // topics without room
	leftAt  time.Time      // when a topic was last without room
	crowded bool           // there is no room, and the gap for that was made
}

const (
	topicsAtOnce = 1_000

	kindLap   = 15 * time.Second // a slower look at the whole list is a gap
	kindQuiet = 20 * time.Second // a longer time without a holder of the record is a gap
	kindCalm  = 10 * time.Second // after this time without a lack of room, the kind is no longer crowded
)

func newKind(all presence.Topic) *followedKind {
	prefix := strings.TrimSuffix(string(all), "*")
	start := presence.Topic(strings.TrimSuffix(prefix, ":") + "9\xff") // 9 is the byte before the colon
	return &followedKind{all: all, prefix: prefix, start: start, after: start, lap: time.Now()}
}

// kindOf returns the kind of a topic; nil: no kind that is delivered.
func (l *leader) kindOf(topic presence.Topic) *followedKind {
	for _, k := range l.kinds {
		if strings.HasPrefix(string(topic), k.prefix) && topic != k.all {
			return k
		}
	}
	return nil
}

// look looks at a page of the topics of a kind, and follows the new ones. After an error the next round tries
// again.
func (l *leader) look(ctx context.Context, k *followedKind) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	page, err := l.node.Store.Topics(ctx, k.after, topicsAtOnce)
	if err != nil {
		return
	}
	late, whole := time.Since(k.lap) > kindLap, len(page) < topicsAtOnce
	if end := slices.IndexFunc(page, func(t presence.Topic) bool { return l.kindOf(t) != k }); end >= 0 {
		page, whole = page[:end], true
	}
	for _, topic := range page {
		if l.byTopic[topic] == nil && len(l.follows) < l.opts.MaxTopics+maxKindTopics {
			f := l.follow(topic)
			f.At, f.begun = backend.Origin, k.begun || k.lapped
		}
		k.after = topic
	}
	if late && k.begun {
		l.tellGap(k.all)
	}
	if whole {
		k.after, k.lapped = k.start, true
	}
	if whole || late {
		k.lap = time.Now()
	}
}

// enter gives those idle topics a place in which something happened, as long as there is room: see
// [Options].MaxTopics.
func (l *leader) enter(counts []backend.Counts) {
	most, places, taken := l.opts.MaxTopics, 0, make(map[string]int)
	for _, k := range l.kinds {
		taken[k.all.Tenant()], k.left = 0, 0
	}
	for _, f := range l.follows {
		if f.waits = false; f.kind != nil && !f.idle() {
			places++
			taken[f.topic.Tenant()]++
		}
	}
	share := max(1, most/max(1, len(taken)))
	for i, f := range l.follows {
		tenant, c := f.topic.Tenant(), counts[i]
		switch {
		case f.kind == nil, !f.idle(), c.Unknown, c.Head == f.At, f.over(c):
		case places < most && (places < (most+1)/2 || taken[tenant] < share):
			places++
			taken[tenant]++
		default: // its events come later, as far as its log reaches back
			f.waits, f.begun = true, true
			f.kind.left++
			f.kind.leftAt = time.Now()
		}
	}
}

// settle begins kinds all of whose topics have begun. A kind that becomes crowded has a gap. A kind that has room
// again has another one, since topics came and went in between.
func (l *leader) settle() {
	left := 0
	for _, k := range l.kinds {
		left += k.left
		begun, crowded := k.begun, k.crowded
		k.begun = begun || k.lapped && !slices.ContainsFunc(l.follows, func(f *followed) bool { return f.kind == k && !f.begun })
		k.crowded = k.begun && (k.left > 0 || crowded && time.Since(k.leftAt) < kindCalm)
		if k.crowded != crowded {
			l.tellGap(k.all)
		}
		if k.begun != begun || k.crowded != crowded {
			l.set(positionKey(k.all), strconv.FormatBool(k.crowded))
		}
	}
	l.stats.left.Store(int64(left))
}

// idle reports whether nobody is in a topic, as far as the consumer was told.
func (f *followed) idle() bool { return len(f.users) == 0 && f.Gap.IsZero() }

// over reports whether the store has dropped the log of a topic of a kind in which nobody is.
func (f *followed) over(c backend.Counts) bool {
	return f.kind != nil && f.idle() && !c.Unknown && c.Head == backend.Origin && c.Total == 0
}
