package redisstore

import (
	"context"
	"crypto/rand"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// After scripts that may change figures, one more script in the same round trip notes their topics in a sorted
// set, by the server's time. So a
// node with thousands of topics asks once which of them changed. On a cluster the set would be on another
// server than the topics, where it may be lost without them, so there is none.
const (
	keepChanges = 2 * time.Minute // a topic stays noted
	maxChanges  = 5000            // topics in an answer
)

// changesOverlap is how far an answer reaches back before the one before it: a script whose source had to be
// sent runs after the note of its topic.
const changesOverlap = time.Second

// notes returns the script that notes the topics which scripts may change. ok is false if there is none.
func (l *link) notes(evals []eval) (e eval, ok bool) {
	if _, single := l.client.(*redis.Client); !single || l.apart.Load() {
		return eval{}, false
	}
	args := []any{l.now(), keepChanges.Milliseconds()}
	for _, one := range evals {
		if one.script.changes {
			args = append(args, string(l.space.topicOf(one.keys[0])))
		}
	}
	return eval{script: indexChangedScript, keys: []string{l.space.indexKey("changed")}, args: args}, len(args) > 2
}

// Changes implements [backend.ChangeTeller].
func (s *reader) Changes(ctx context.Context, mark string) (backend.Changes, error) {
	if err := s.ready(ctx, s.reads); err != nil {
		return backend.Changes{}, err
	}
	if _, single := s.client.(*redis.Client); !single || s.apart.Load() {
		return backend.Changes{All: true}, nil
	}
	since, era, _ := strings.Cut(mark, " ")
	at, _ := strconv.ParseInt(since, 10, 64)
	answer, err := s.runOne(ctx, s.reads, "changes", eval{
		script: indexChangesScript, keys: []string{s.indexKey("changed"), s.indexKey("era")},
		args: []any{s.now(), max(0, at-changesOverlap.Milliseconds()), strings.ToLower(rand.Text()), keepAtRest.Milliseconds(), maxChanges},
	})
	if err != nil {
		return backend.Changes{}, err
	}
	told, err := answer.StringSlice()
	if err == nil && len(told) < 2 {
		err = errAnswer
	}
	if err != nil {
		return backend.Changes{}, wrap("changes", err)
	}
	now, err := strconv.ParseInt(told[0], 10, 64)
	if err != nil {
		return backend.Changes{}, wrap("changes", err)
	}
	c := backend.Changes{Mark: told[0] + " " + told[1]}
	// An era of its own has a store that was wiped. A clock that was set back, or an answer that is too old or
	// too long, says nothing either.
	if told[1] != era || now < at || now-at > keepChanges.Milliseconds()/2 || len(told)-2 == maxChanges {
		c.All = true
		return c, nil
	}
	for _, name := range told[2:] {
		c.Topics = append(c.Topics, presence.Topic(name))
	}
	return c, nil
}
