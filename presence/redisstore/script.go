package redisstore

import (
	"context"
	"crypto/sha1"
	_ "embed"
	"encoding/hex"

	"github.com/redis/go-redis/v9"
)

//go:embed lua/topic.lua
var topicLua string

//go:embed lua/apply.lua
var applyLua string

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

// A script is Lua source with the name that a server knows it by.
type script struct{ source, sha string }

func newScript(source string) *script {
	sum := sha1.Sum([]byte(source))
	return &script{source: source, sha: hex.EncodeToString(sum[:])}
}

// The scripts: constants in all but the keyword.
var (
	applyScript     = newScript(topicLua + applyLua)
	sweepScript     = newScript(topicLua + sweepLua)
	heartbeatScript = newScript(heartbeatLua)
	ageScript       = newScript(ageLua)
	trimScript      = newScript(trimLua)
	snapshotScript  = newScript(snapshotLua)
	indexScript     = newScript(indexLua)
	claimScript     = newScript(claimLua)
	settleScript    = newScript(settleLua)
)

// An eval is one run of a script.
type eval struct {
	script *script
	keys   []string
	args   []any
	cmd    *redis.Cmd // its answer, after run
}

// run runs scripts in one round trip (on a cluster one a node, side by side).
// The server is given the source of a script that it does not know. Each
// eval's own error stands in its cmd; run returns the first.
func (s *Store) run(ctx context.Context, evals ...*eval) error {
	err := s.pipe(ctx, evals, func(p redis.Pipeliner, e *eval) *redis.Cmd {
		return p.EvalSha(ctx, e.script.sha, e.keys, e.args...)
	})
	if err == nil {
		return nil
	}
	var missing []*eval
	for _, e := range evals {
		if redis.HasErrorPrefix(e.cmd.Err(), "NOSCRIPT") {
			missing = append(missing, e)
		}
	}
	if len(missing) == 0 {
		return err
	}
	err = s.pipe(ctx, missing, func(p redis.Pipeliner, e *eval) *redis.Cmd {
		return p.Eval(ctx, e.script.source, e.keys, e.args...)
	})
	for _, e := range evals {
		if e.cmd.Err() != nil && err == nil {
			err = e.cmd.Err()
		}
	}
	return err
}

func (s *Store) pipe(ctx context.Context, evals []*eval, send func(redis.Pipeliner, *eval) *redis.Cmd) error {
	_, err := s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, e := range evals {
			e.cmd = send(p, e)
		}
		return nil
	})
	return err
}
