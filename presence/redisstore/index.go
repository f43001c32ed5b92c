package redisstore

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rollcall-go/rollcall/internal/generations"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// An index lists the fleet's topics. The list "due" has the topics with leases, for Sweep. The list "views"
// has those with page views or guests, for Age. A node notes a topic in the index before it writes something
// new into the topic, and again while the topic's leases are renewed, so that a lost index is restored. An
// operation that finds no lease, and leaves none, notes nothing: it makes no topic. A topic is removed from
// the index after it was empty for idleFor.
type index struct {
	*link
	keyspace
	size  atomic.Int64 // number of topics, as the server last said
	mu    sync.Mutex
	noted *generations.Map[noteKey, time.Time]
}

type noteKey struct {
	list  string // "due" or "views"
	topic presence.Topic
}

// A topic is noted again after a quarter of the length of its leases, so at each heartbeat,
// or after noteEvery. An empty topic stays for idleFor, which is longer than a node relies
// on its note.
const (
	noteEvery = 30 * time.Second
	idleFor   = 2 * time.Minute
	noteWait  = 200 * time.Millisecond
	maxNotes  = 500 // topics a script

	maxNoted = 10_000 // topics that a node remembers as noted, to save round trips
)

func newIndex(l *link, k keyspace) *index {
	return &index{link: l, keyspace: k, noted: generations.New[noteKey, time.Time](maxNoted, nil)}
}

// needs are topics that must be noted, and how old each note may be.
type needs map[noteKey]time.Duration

func (n needs) add(list string, topic presence.Topic, length time.Duration) {
	key, every := noteKey{list, topic}, min(noteEvery, length/4)
	if was, ok := n[key]; !ok || every < was {
		n[key] = every
	}
}

func (n needs) has(topic presence.Topic) bool {
	_, due := n[noteKey{"due", topic}]
	return due
}

// making returns the notes that batches need before they are written, for operations that
// always make something.
func making(batches []backend.Batch) needs {
	n := make(needs)
	for _, b := range batches {
		for _, op := range b.Ops {
			switch op.Kind {
			case backend.OpJoin:
				n.add("due", b.Topic, op.For)
			case backend.OpSeen:
				n.add("due", b.Topic, op.For)
				n.add("views", b.Topic, op.For)
			case backend.OpGuest, backend.OpBot:
				n.add("views", b.Topic, noteEvery)
			}
		}
	}
	return n
}

// found returns the notes that batches need after they were written: those for heartbeats that found a lease.
func found(batches []backend.Batch, results []backend.Result) needs {
	n := make(needs)
	for i, b := range batches {
		unknown := results[i].Unknown
		for k, op := range b.Ops {
			if len(unknown) > 0 && unknown[0] == k {
				unknown = unknown[1:]
			} else if op.Kind == backend.OpHeartbeat && results[i].Err == nil {
				n.add("due", b.Topic, op.For)
			}
		}
	}
	return n
}

// note puts topics into the index. If the index is out of reach, note fails only if one of the topics may be
// missing in it. Otherwise it gives up after a moment, so that leases are renewed: on a cluster, the masters
// of the topics may still work.
func (x *index) note(ctx context.Context, n needs) error {
	now := x.localTime()
	due := make(map[string][]string)
	must := false
	x.mu.Lock()
	for key, every := range n {
		at, known := x.noted.Get(key)
		if since := now.Sub(at); !known || since > every {
			due[key.list] = append(due[key.list], string(key.topic))
			must = must || !known || since > idleFor/2
		}
	}
	x.mu.Unlock()
	if !must {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, noteWait)
		defer cancel()
	}
	for list, topics := range due {
		for part := range slices.Chunk(topics, maxNotes) {
			if err := x.write(ctx, list, part); err != nil {
				if must {
					return err
				}
				continue
			}
			x.remember(list, part, now)
		}
	}
	return nil
}

func (x *index) write(ctx context.Context, list string, topics []string) error {
	keys := x.indexKeys(list, list+":idle", "topics")
	if list == "due" {
		keys = append(keys, x.indexKey("seen"))
	}
	answer, err := x.runOne(ctx, x.writes, "note", eval{indexNoteScript, keys, with([]any{x.now()}, topics...)})
	x.took(answer, err)
	return err
}

// took stores the number of topics, which scripts that write to the index return.
func (x *index) took(answer *redis.Cmd, err error) {
	if err != nil {
		return
	}
	if n, err := answer.Int64(); err == nil {
		x.size.Store(n)
	}
}

func (x *index) remember(list string, topics []string, at time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, t := range topics {
		x.noted.Set(noteKey{list, presence.Topic(t)}, at)
	}
}

// forget makes the next write to a topic note it again, because the server may have lost
// the note.
func (x *index) forget(topic presence.Topic) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, list := range []string{"due", "views"} {
		x.noted.Delete(noteKey{list, topic})
	}
}

// forgetAll is forget for every topic.
func (x *index) forgetAll() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.noted.Take()
}

// Topics implements [backend.Store]. It costs one round trip for each 500 topics.
func (s *fleet) Topics(ctx context.Context, after presence.Topic, most int) ([]presence.Topic, error) {
	var topics []presence.Topic
	for len(topics) < most {
		page := redis.ZRangeArgs{Key: s.indexKey("topics"), Start: "(" + string(after), Stop: "+", ByLex: true, Count: int64(min(most-len(topics), maxClaimed))}
		var found *redis.StringSliceCmd
		err := s.send(ctx, s.reads, "topics", func(ctx context.Context, p redis.Pipeliner) { found = p.ZRangeArgs(ctx, page) })
		if err != nil {
			return nil, err
		}
		topics = append(topics, as[presence.Topic](found.Val())...)
		if len(found.Val()) < int(page.Count) {
			break
		}
		after = topics[len(topics)-1]
	}
	return topics, nil
}

// After scripts that may change figures, one more script in the same round trip notes their topics in a sorted
// set, each with a number that grows. So a node with thousands of topics asks once which of them changed. On a
// cluster the set would be on another server than the topics, where it may be lost without them. So a node
// whose client is not one of a single server notes nothing, and says that: nobody then relies on the notes.
const (
	maxChanges   = 5000            // topics that stay noted, and that an answer has
	unnotedStays = 2 * time.Minute // since a node that notes nothing has last written
	unnotedEvery = 30 * time.Second
)

// A changeNotes says which topics the scripts of this node changed.
type changeNotes struct {
	keyspace
	said atomic.Int64 // when this node last said that it notes nothing, Unix ns
}

// after returns the script that notes the topics which scripts may change. ok is false if there is none.
func (n *changeNotes) after(evals []eval, single bool) (e eval, ok bool) {
	args := []any{maxChanges, unnotedStays.Milliseconds()}
	for _, one := range evals {
		if one.script.changes {
			args = append(args, string(n.topicOf(one.keys[0])))
		}
	}
	if len(args) == 2 {
		return eval{}, false
	}
	if !single {
		now, said := time.Now().UnixNano(), n.said.Load()
		if said != 0 && now-said < int64(unnotedEvery) || !n.said.CompareAndSwap(said, now) {
			return eval{}, false
		}
		args = args[:2]
	}
	return eval{script: indexChangedScript, keys: n.indexKeys("changed", "unnoted"), args: args}, true
}

// single reports whether all keys are on one server, and the client knows it.
func (l *link) single() bool {
	_, single := l.client.(*redis.Client)
	return single && !l.apart.Load()
}
