package redisstore

import (
	"cmp"
	"context"
	"crypto/sha1"
	"embed"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

//go:embed lua/*.lua
var luaFiles embed.FS

// luaPieces are the pieces of the files in lua/ by name. A line "-- [name] …" begins the piece of that name. What
// stands before the first such line has the file's name.
var luaPieces = func() map[string]string {
	pieces := make(map[string]string)
	files, _ := luaFiles.ReadDir("lua") // what is embedded can be read
	for _, file := range files {
		text, _ := luaFiles.ReadFile("lua/" + file.Name())
		name := strings.TrimSuffix(file.Name(), ".lua")
		for i, piece := range strings.Split(string(text), "\n-- [") {
			if i > 0 {
				name, _, _ = strings.Cut(piece, "]")
				piece = "-- [" + piece
			}
			if pieces[name] != "" {
				panic("lua/ has two pieces " + name)
			}
			pieces[name] = piece + "\n"
		}
	}
	return pieces
}()

// A script is Lua source with its name on a server.
type script struct {
	source, sha string
	timed       bool // begins with lua/time.lua
	changes     bool // may change the figures of the topic that has the first key
}

func scriptOf(source string) *script {
	sum := sha1.Sum([]byte(source))
	return &script{source: source, sha: hex.EncodeToString(sum[:])}
}

// newScript joins pieces of lua/.
func newScript(pieces ...string) *script {
	source := ""
	for _, name := range pieces {
		if luaPieces[name] == "" {
			panic("lua/ has no piece " + name) // one of the names below is wrong
		}
		source += luaPieces[name]
	}
	s := scriptOf(source)
	s.timed = pieces[0] == "time"
	return s
}

// changing is newScript for a script that may change the figures of a topic.
func changing(pieces ...string) *script {
	s := newScript(pieces...)
	s.changes = true
	return s
}

// The scripts. They never change.
var (
	applyScript          = changing("time", "keep", "topic_count", "topic", "topic_names", "topic_settle", "topic_guests", "topic_peak", "topic_bots", "apply")
	sweepScript          = changing("time", "keep", "topic_count", "topic", "topic_names", "topic_settle", "sweep_expired")
	sweepLookScript      = newScript("time", "keep", "topic_count", "sweep_look")
	sweepRepairScript    = newScript("time", "keep", "sweep_repair")
	nodeSweepScript      = changing("time", "keep", "topic_count", "topic", "topic_names", "topic_settle", "node_sweep")
	nodeClaimScript      = newScript("time", "keep", "node_claim")
	nodeForgetScript     = newScript("node_forget")
	heartbeatScript      = newScript("time", "keep", "topic_count", "heartbeat")
	viewsAgeScript       = changing("time", "views_age")
	seenTrimScript       = newScript("time", "seen_trim")
	countsScript         = newScript("counts")
	snapshotScript       = newScript("time", "snapshot")
	recentScript         = newScript("time", "recent")
	recentOfScript       = newScript("time", "recent_of")
	inspectScript        = newScript("time", "inspect")
	indexNoteScript      = newScript("time", "keep", "index_note")
	indexClaimScript     = newScript("time", "keep", "index_claim")
	indexSettleScript    = newScript("time", "keep", "index_settle")
	indexForgetScript    = newScript("index_forget")
	noticePublishScript  = newScript("time", "keep", "notice_publish")
	pollScript           = newScript("time", "keep", "meta", "poll")
	statusPutScript      = newScript("time", "keep", "status_put")
	statusTrimScript     = newScript("time", "status_trim")
	metaScript           = newScript("meta", "meta_alone")
	metaFormerScript     = newScript("meta_former")
	consumerClaimScript  = newScript("time", "keep", "consumer_claim")
	consumerCommitScript = newScript("time", "keep", "consumer_commit")
	eraseScript          = changing("time", "keep", "topic_count", "topic", "topic_names", "topic_settle", "erase")
	noticeEraseScript    = newScript("notice_erase")
	erasurePutScript     = newScript("time", "keep", "erasure_put")
	erasureClaimScript   = newScript("time", "keep", "erasure_claim")
	erasureEndScript     = newScript("erasure_end")
	restScript           = newScript("keep", "rest")
	indexChangedScript   = newScript("keep", "index_changed")
)

// An eval is one run of a script.
type eval struct {
	script *script
	keys   []string
	args   []any
}

// run runs scripts in one round trip (on a cluster one for each node, concurrently). If the server does not
// know a script, run sends it the source. If the server's clock turns out to be further ahead than this node
// knew, run asks once more. Each answer has its own error. run returns an error only if every script failed,
// so that a cluster that lost a part serves the rest.
func (l *link) run(ctx context.Context, evals ...eval) ([]*redis.Cmd, error) {
	asked := len(evals)
	if note, ok := l.notes.after(evals, l.single()); ok {
		evals = append(slices.Clip(evals), note)
	}
	answers := l.runAll(ctx, evals)[:asked]
	return answers, allFailed(answers)
}

// allFailed returns the first error if every command failed, and else nil.
func allFailed[C redis.Cmder](commands []C) (err error) {
	for _, c := range commands {
		if c.Err() == nil {
			return nil
		}
		err = cmp.Or(err, c.Err())
	}
	return err
}

func (l *link) runAll(ctx context.Context, evals []eval) []*redis.Cmd {
	sent := time.Now()
	answers := l.pipe(ctx, evals, func(p redis.Pipeliner, e eval) *redis.Cmd {
		return p.EvalSha(ctx, e.script.sha, e.keys, e.args...)
	})
	for range 2 { // a server that took over may not know a script, and may refuse it as late
		var missing []int
		var again []eval
		for i, a := range answers {
			if redis.HasErrorPrefix(a.Err(), "NOSCRIPT") || l.servers.refused(a.Err(), sent) && ctx.Err() == nil {
				missing, again = append(missing, i), append(again, evals[i])
			}
		}
		if len(again) == 0 {
			break
		}
		if note := len(evals) - 1; evals[note].script == indexChangedScript && missing[len(missing)-1] != note {
			missing, again = append(missing, note), append(again, evals[note]) // it stands behind what is run again
		}
		sent = time.Now()
		for i, a := range l.pipe(ctx, again, func(p redis.Pipeliner, e eval) *redis.Cmd {
			if e.script == sweepScript {
				e.args = lookAlone(e.args)
			}
			return p.Eval(ctx, e.script.source, e.keys, e.args...)
		}) {
			answers[missing[i]] = a
		}
	}
	return answers
}

// together returns how many scripts with such weights go into one round trip: as many as weigh at most most
// together, but at least one. The server executes a pipeline like a long script, without serving others (rule
// 9).
func together(weights []int, most int) int {
	n := 0
	for n < len(weights) && (n == 0 || weights[n] <= most) {
		most -= weights[n]
		n++
	}
	return n
}

func (l *link) pipe(ctx context.Context, evals []eval, send func(redis.Pipeliner, eval) *redis.Cmd) []*redis.Cmd {
	answers := make([]*redis.Cmd, len(evals))
	last := l.servers.last(ctx)
	_ = l.pipelined(ctx, func(p redis.Pipeliner) { // each answer has its own error
		for i, e := range evals {
			if e.script.timed && l.clock == nil {
				e.args[0] = last
			}
			answers[i] = send(p, e)
		}
	})
	return answers
}

// pipelined sends commands in one round trip, and returns the first error. If a cluster's node cannot be
// reached, it makes the client ask the others for the present owners of the slots, at most once a minute. The
// client does that by itself only for single commands.
func (l *link) pipelined(ctx context.Context, fill func(redis.Pipeliner)) error {
	commands, err := l.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		fill(p)
		l.commands.Add(uint64(p.Len()))
		return nil
	})
	if err != nil && !slices.ContainsFunc(commands, func(c redis.Cmder) bool { return c.Err() != nil }) {
		for _, c := range commands { // the server refused the connection, for example because of its database
			c.SetErr(err)
		}
	}
	if cluster, ok := l.client.(*redis.ClusterClient); ok && slices.ContainsFunc(commands, unreached) {
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
func (l *link) runOne(ctx context.Context, b *breaker, op string, e eval) (*redis.Cmd, error) {
	return call(ctx, b, op, func(ctx context.Context) (*redis.Cmd, error) {
		answers, err := l.run(ctx, e)
		return answers[0], err
	})
}
