package redisstore

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rollcall-go/rollcall/presence"
)

// A server that starts again, or takes over from another one, may have old data: a file that is an
// hour old, or what a replica had. It has no scripts, which are in no file and which no replica is
// sent (but see doc.go on Redis 6.2). So the first sweep that finds a server without a script that
// does nothing else, the mark, puts the store in doubt: for some time no sweep removes anything, and
// the nodes write again what they hold. Then that sweep marks the server. So another sweep cannot
// find the mark without the doubt.
//
// Example: Redis is killed at 12:00:00, and begins at 12:00:00.3 with a file of 11:30, in which all
// leases have expired. The sweep of node A finds no mark at 12:00:01. Node A renews its leases
// and tells the others, who do so too. From 12:00:08 on sweeps remove what is still expired.
//
// FLUSHALL forgets no scripts, so that it is no restart. Where the server forgets them for another
// reason, such as SCRIPT FLUSH, nobody leaves for some seconds.

// mark returns the script of this keyspace. It tells whether the store is in doubt.
func (s *fleet) mark() *script {
	return scriptOf("return #KEYS > 0 and redis.call('EXISTS', KEYS[1]) or 0 -- presence" + s.place())
}

// A server has a part of the data. doubt is the key that says that the store is in doubt, if this server has it.
type server struct {
	redis.Cmdable
	doubt []string
}

// eachServer calls fn for each server that has a part of the data, those of a cluster concurrently. It
// returns the first error, unless fn succeeded for another server.
func (s *fleet) eachServer(ctx context.Context, op string, fn func(context.Context, server) error) error {
	_, err := call(ctx, s.writes, op, func(ctx context.Context) (struct{}, error) {
		cluster, ok := s.client.(*redis.ClusterClient)
		if !ok {
			return struct{}{}, fn(ctx, server{s.client, []string{s.indexKey("doubt")}})
		}
		var mu sync.Mutex
		var first error
		well := false
		err := cluster.ForEachMaster(ctx, func(ctx context.Context, c *redis.Client) error {
			err := fn(ctx, server{Cmdable: c})
			mu.Lock()
			defer mu.Unlock()
			first, well = cmp.Or(first, err), well || err == nil
			return nil
		})
		if err = cmp.Or(err, first); well {
			err = nil
		}
		return struct{}{}, err
	})
	return err
}

// isNew marks the servers of a keyspace that this node has just created.
func (s *fleet) isNew(ctx context.Context) error {
	return s.eachServer(ctx, "begin", func(ctx context.Context, on server) error {
		s.commands.Add(1)
		return on.Eval(ctx, s.mark().source, on.doubt).Err()
	})
}

// doubts reports whether the store is in doubt, so that a sweep may remove nothing, and whether that begins now: a server
// has started again since the latest sweep. The doubt lasts for a time. It costs one round trip, and two in a cluster. A server
// that does not answer is not swept either: see sweepScript.
func (s *fleet) doubts(ctx context.Context, lasts time.Duration) (doubt, begins bool, err error) {
	var restarts atomic.Bool // a call that was given up may still run
	doubt, err = s.inDoubt(ctx, "sweep", func(ctx context.Context, on server) error {
		restarts.Store(true)
		s.commands.Add(2)
		if err := s.client.Set(ctx, s.indexKey("doubt"), 1, cmp.Or(lasts, someDoubt)).Err(); err != nil {
			return err
		}
		return on.Eval(ctx, s.mark().source, on.doubt).Err()
	})
	return doubt, restarts.Load(), err
}

// someDoubt is how long the store is in doubt where a sweep does not say.
const someDoubt = 10 * time.Second

// errDoubt is the error of what must wait until the nodes have written again what they hold.
var errDoubt = fmt.Errorf("%w: a server has started again, perhaps with old data", presence.ErrStoreOut)

// trusted returns errDoubt while the store is in doubt, also if no sweep has noticed that yet.
func (s *fleet) trusted(ctx context.Context, op string) error {
	doubt, err := s.inDoubt(ctx, op, func(context.Context, server) error { return nil })
	if doubt && err == nil {
		err = errDoubt
	}
	return wrap(op, err)
}

// inDoubt reports whether the store is in doubt. It calls unmarked for each server without a mark.
func (s *fleet) inDoubt(ctx context.Context, op string, unmarked func(context.Context, server) error) (bool, error) {
	var doubt atomic.Bool
	err := s.eachServer(ctx, op, func(ctx context.Context, on server) error {
		s.commands.Add(1)
		in, err := on.EvalSha(ctx, s.mark().sha, on.doubt).Bool()
		if redis.HasErrorPrefix(err, "NOSCRIPT") {
			doubt.Store(true)
			return unmarked(ctx, on)
		}
		if in {
			doubt.Store(true)
		}
		return err
	})
	if _, cluster := s.client.(*redis.ClusterClient); cluster && err == nil && !doubt.Load() {
		n, err := call(ctx, s.writes, op, func(ctx context.Context) (int64, error) {
			s.commands.Add(1)
			return s.client.Exists(ctx, s.indexKey("doubt")).Result()
		})
		return n > 0, err
	}
	return doubt.Load(), err
}
