package redisstore

import (
	"context"
	"crypto/rand"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

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

// Changes implements [backend.Store].
func (s *fleet) Changes(ctx context.Context, mark string) (backend.Changes, error) {
	if !s.single() {
		return backend.Changes{All: true}, nil
	}
	number, era, _ := strings.Cut(mark, " ")
	since, _ := strconv.ParseInt(number, 10, 64)
	told, err := s.texts(ctx, s.reads, "changes", 2, eval{
		script: indexChangesScript, keys: s.indexKeys("changed", "unnoted"),
		args: []any{era, since, strings.ToLower(rand.Text()), maxChanges},
	})
	if err != nil {
		return backend.Changes{}, err
	}
	if told[0] == "" { // somebody notes nothing
		return backend.Changes{All: true}, nil
	}
	now, err := strconv.ParseInt(told[1], 10, 64)
	if err != nil {
		return backend.Changes{}, wrap("changes", err)
	}
	c := backend.Changes{Mark: told[1] + " " + told[0], All: told[0] != era || since > now || now-since > maxChanges}
	for _, name := range told[2:] {
		if !c.All && name != "=" {
			c.Topics = append(c.Topics, presence.Topic(name))
		}
	}
	return c, nil
}
