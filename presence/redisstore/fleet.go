package redisstore

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rollcall-go/rollcall/presence"
)

// A fleet has this node's knowledge of the keyspace that all nodes share. It has the methods of a Store that
// need nothing else, in files of their own. The other parts of a Store have it, for its link to the server and
// its names of keys.
type fleet struct {
	*link
	keyspace
	index *index

	logSize int
	keepLog time.Duration // the constant keepLog, or less in tests

	id     atomic.Pointer[string] // nil until it is known
	secret atomic.Pointer[[]byte] // the latest that was read
}

// topicEval returns a run of a script that begins with lua/topic.lua. more are its arguments after those.
func (s *fleet) topicEval(script *script, topic presence.Topic, more ...any) eval {
	args := []any{
		s.now(), rand.Uint32(), s.publish(), s.channel(topic) + s.place(),
		s.keepLog.Milliseconds(), s.logSize, messageVersion,
	}
	return eval{script, s.keys(topic, topicKeys[:]...), append(args, more...)}
}

// ask runs one script under a breaker, once the keyspace is known. decode reads the answer, which has at least
// least parts.
func ask[T any](ctx context.Context, s *fleet, b *breaker, op string, e eval, least int, decode func(*redis.Cmd) ([]T, error)) ([]T, error) {
	if err := s.ready(ctx, b); err != nil {
		return nil, err
	}
	answer, err := s.runOne(ctx, b, op, e)
	if err != nil {
		return nil, err
	}
	parts, err := decode(answer)
	if err == nil && len(parts) < least {
		err = errAnswer
	}
	return parts, wrap(op, err)
}

// numbers is ask for a script that returns numbers.
func (s *fleet) numbers(ctx context.Context, b *breaker, op string, least int, e eval) ([]int64, error) {
	return ask(ctx, s, b, op, e, least, (*redis.Cmd).Int64Slice)
}

// texts is ask for a script that returns texts.
func (s *fleet) texts(ctx context.Context, b *breaker, op string, least int, e eval) ([]string, error) {
	return ask(ctx, s, b, op, e, least, (*redis.Cmd).StringSlice)
}

// send sends commands in one round trip under a breaker, once the keyspace is known. fill may set variables of
// the caller, which must not be used after an error.
func (s *fleet) send(ctx context.Context, b *breaker, op string, fill func(context.Context, redis.Pipeliner)) error {
	if err := s.ready(ctx, b); err != nil {
		return err
	}
	_, err := call(ctx, b, op, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, s.pipelined(ctx, func(p redis.Pipeliner) { fill(ctx, p) })
	})
	return err
}

// runEach writes by scripts of different topics, in one round trip. An answer may be an error that concerns its
// topic alone; runEach returns an error only if that concerns them all.
func (s *fleet) runEach(ctx context.Context, op string, evals ...eval) ([]*redis.Cmd, error) {
	answers, err := call(ctx, s.writes, op, func(ctx context.Context) ([]*redis.Cmd, error) {
		answers, _, err := s.runGathered(ctx, evals...)
		return answers, err
	})
	if len(answers) > 0 && errors.Is(err, presence.ErrRefused) {
		err = nil
	}
	return answers, err
}

// A scan is a question for the members of a key, page by page.
type scan struct {
	command    string // SSCAN, HSCAN or ZSCAN
	key, match string // match: a pattern; default: all
	count      int    // of a page, about
}

// scanPage returns the page at a cursor, and the next cursor, which is 0 at the end.
func (s *fleet) scanPage(ctx context.Context, b *breaker, op string, of scan, cursor uint64) (members []string, next uint64, err error) {
	var page *redis.ScanCmd
	err = s.send(ctx, b, op, func(ctx context.Context, p redis.Pipeliner) {
		page = redis.NewScanCmd(ctx, nil, of.command, of.key, cursor, "MATCH", cmp.Or(of.match, "*"), "COUNT", of.count)
		_ = p.Process(ctx, page)
	})
	if err == nil {
		members, next = page.Val()
	}
	return members, next, err
}

// scanAll calls fn with each page of a scan, a round trip each. A member may come more than once.
func (s *fleet) scanAll(ctx context.Context, b *breaker, op string, of scan, fn func(members []string) error) error {
	for cursor := uint64(0); ; {
		members, next, err := s.scanPage(ctx, b, op, of, cursor)
		if err == nil {
			err = fn(members)
		}
		if cursor = next; cursor == 0 || err != nil {
			return err
		}
	}
}

// as converts texts, such as ids, to texts of another type.
func as[To, From ~string](texts []From) []To {
	all := make([]To, len(texts))
	for i, text := range texts {
		all[i] = To(text)
	}
	return all
}

// with appends texts to the arguments of a script.
func with[T ~string](args []any, texts ...T) []any {
	for _, text := range texts {
		args = append(args, string(text))
	}
	return args
}

// millisOf returns a duration that a script wrote in ms; 0 for any other text.
func millisOf(text string) time.Duration {
	ms, _ := strconv.ParseInt(text, 10, 64)
	return time.Duration(ms) * time.Millisecond
}

// moment returns the time of Unix milliseconds, and the zero time for 0.
func moment(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}
