package redisstore

import (
	"cmp"
	"context"
	"crypto/sha1"
	_ "embed"
	"encoding/hex"
	"errors"
	"slices"

	"github.com/redis/go-redis/v9"
)

//go:embed lua/time.lua
var timeLua string

//go:embed lua/count.lua
var countLua string

//go:embed lua/repair.lua
var repairLua string

//go:embed lua/topic.lua
var topicLua string

//go:embed lua/apply.lua
var applyLua string

//go:embed lua/recent.lua
var recentLua string

//go:embed lua/heartbeat.lua
var heartbeatLua string

//go:embed lua/sweep.lua
var sweepLua string

//go:embed lua/age.lua
var ageLua string

//go:embed lua/trim.lua
var trimLua string

//go:embed lua/snapshot.lua
var snapshotLua string

//go:embed lua/index.lua
var indexLua string

//go:embed lua/claim.lua
var claimLua string

//go:embed lua/settle.lua
var settleLua string

//go:embed lua/forget.lua
var forgetLua string

//go:embed lua/tell.lua
var tellLua string

//go:embed lua/hear.lua
var hearLua string

//go:embed lua/keep.lua
var keepLua string

//go:embed lua/trimchosen.lua
var trimChosenLua string

//go:embed lua/meta.lua
var metaLua string

//go:embed lua/legacy.lua
var legacyLua string

// A script is Lua source with the name that a server knows it by.
type script struct{ source, sha string }

func newScript(source string) *script {
	sum := sha1.Sum([]byte(source))
	return &script{source: source, sha: hex.EncodeToString(sum[:])}
}

// The scripts: constants in all but the keyword.
var (
	applyScript      = newScript(timeLua + countLua + topicLua + applyLua)
	sweepScript      = newScript(timeLua + countLua + topicLua + sweepLua)
	recentScript     = newScript(timeLua + countLua + topicLua + recentLua)
	heartbeatScript  = newScript(timeLua + countLua + heartbeatLua)
	repairScript     = newScript(timeLua + repairLua)
	ageScript        = newScript(timeLua + ageLua)
	trimScript       = newScript(timeLua + trimLua)
	snapshotScript   = newScript(snapshotLua)
	indexScript      = newScript(timeLua + indexLua)
	claimScript      = newScript(timeLua + claimLua)
	settleScript     = newScript(timeLua + settleLua)
	forgetScript     = newScript(forgetLua)
	tellScript       = newScript(timeLua + tellLua)
	hearScript       = newScript(timeLua + hearLua)
	keepScript       = newScript(keepLua)
	trimChosenScript = newScript(timeLua + trimChosenLua)
	metaScript       = newScript(metaLua)
	legacyScript     = newScript(legacyLua)
)

// An eval is one run of a script.
type eval struct {
	script *script
	keys   []string
	args   []any
}

// run runs scripts in one round trip (on a cluster one a node, side by side).
// The server is given the source of a script that it does not know. Each answer
// has its own error; run returns one only if every script failed, so that a
// cluster that lost a part serves the rest.
func (s *Store) run(ctx context.Context, evals ...eval) ([]*redis.Cmd, error) {
	answers := s.pipe(ctx, evals, func(p redis.Pipeliner, e eval) *redis.Cmd {
		return p.EvalSha(ctx, e.script.sha, e.keys, e.args...)
	})
	var missing []int
	var again []eval
	for i, a := range answers {
		if redis.HasErrorPrefix(a.Err(), "NOSCRIPT") {
			missing, again = append(missing, i), append(again, evals[i])
		}
	}
	if len(again) > 0 {
		for i, a := range s.pipe(ctx, again, func(p redis.Pipeliner, e eval) *redis.Cmd {
			return p.Eval(ctx, e.script.source, e.keys, e.args...)
		}) {
			answers[missing[i]] = a
		}
	}
	var err error
	for _, a := range answers {
		if a.Err() == nil {
			return answers, nil
		}
		err = cmp.Or(err, a.Err())
	}
	return answers, err
}

// together returns how many scripts, of such weights, are one round trip: as many
// as weigh no more than most, but one at least. For the server executes a pipeline
// as it does a long script, without a look at others (rule 9).
func together(weights []int, most int) int {
	n := 0
	for n < len(weights) && (n == 0 || weights[n] <= most) {
		most -= weights[n]
		n++
	}
	return n
}

func (s *Store) pipe(ctx context.Context, evals []eval, send func(redis.Pipeliner, eval) *redis.Cmd) []*redis.Cmd {
	answers := make([]*redis.Cmd, len(evals))
	_ = s.pipelined(ctx, func(p redis.Pipeliner) { // each answer has its error
		for i, e := range evals {
			answers[i] = send(p, e)
		}
	})
	return answers
}

// pipelined sends commands in one round trip, and returns the first error. Where
// a cluster's node cannot be reached, the client asks the others who has its slots
// now: by itself it does that for single commands, and for these once a minute.
func (s *Store) pipelined(ctx context.Context, fill func(redis.Pipeliner)) error {
	commands, err := s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		fill(p)
		return nil
	})
	if cluster, ok := s.client.(*redis.ClusterClient); ok && slices.ContainsFunc(commands, unreached) {
		cluster.ReloadState(ctx)
	}
	return err
}

// unreached reports whether no server answered a command.
func unreached(c redis.Cmder) bool {
	var answer redis.Error
	return c.Err() != nil && !errors.As(c.Err(), &answer)
}

// runOne runs one script under a breaker.
func (s *Store) runOne(ctx context.Context, b *breaker, op string, e eval) (*redis.Cmd, error) {
	return call(ctx, b, op, func(ctx context.Context) (*redis.Cmd, error) {
		answers, err := s.run(ctx, e)
		return answers[0], err
	})
}
