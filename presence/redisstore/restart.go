package redisstore

import (
	"cmp"
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// A server that starts again, or takes over from another one, may have old data: a file that is an
// hour old, or what a replica had. It has no scripts, which are in no file and which no replica is
// sent (but see doc.go on Redis 6.2). So two scripts that do nothing say what sweeps know of it:
//
//	renewed   its leases are those that the nodes hold: it began without data, or all nodes have
//	          renewed their leases since
//	met       a sweep has met it since it began
//
//	neither ──any sweep: ErrRestarted──► met ──a sweep with Restarted──► met, renewed
//	neither ──this keyspace is new────────────────────────────────────────► renewed
//
// Example: Redis is killed at 12:00:00, and begins at 12:00:00.3 with a file of 11:30, in which all
// leases have expired. The sweep of node A finds neither script at 12:00:01. Node A renews its leases
// and tells the others, who do so too. At 12:00:09 a sweep removes what is still expired.
//
// FLUSHALL forgets no scripts, so that it is no restart. Where the server forgets them for another
// reason, such as SCRIPT FLUSH, nobody leaves for some seconds.
const (
	renewed = "renewed"
	met     = "met"
)

// marker returns one of the two scripts, for this keyspace. All versions of this library use the same.
func (s *fleet) marker(says string) *script {
	source := "return '" + says + "' -- presence" + s.place()
	sum := sha1.Sum([]byte(source))
	return &script{source: source, sha: hex.EncodeToString(sum[:])}
}

// knows reports whether a server knows a script.
func (l *link) knows(ctx context.Context, server server, marker *script) (bool, error) {
	l.commands.Add(1)
	err := server.EvalSha(ctx, marker.sha, server.keys).Err()
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		return false, nil
	}
	return err == nil, err
}

// learns loads a script into a server.
func (l *link) learns(ctx context.Context, server server, marker *script) error {
	l.commands.Add(1)
	return server.Eval(ctx, marker.source, server.keys).Err()
}

// A server has a part of the data.
type server struct {
	redis.Cmdable
	keys []string // keys by which the client finds it
}

// eachServer calls fn for each server that has a part of the data, those of a cluster concurrently. It
// returns the first error, unless fn succeeded for another server.
func (s *fleet) eachServer(ctx context.Context, op string, fn func(context.Context, server) error) error {
	_, err := call(ctx, s.writes, op, func(ctx context.Context) (struct{}, error) {
		cluster, ok := s.client.(*redis.ClusterClient)
		if !ok {
			return struct{}{}, fn(ctx, server{s.client, []string{s.indexKey("due")}})
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

// isNew marks a keyspace that this node has just created as renewed.
func (s *fleet) isNew(ctx context.Context) error {
	return s.eachServer(ctx, "begin", func(ctx context.Context, on server) error { return s.learns(ctx, on, s.marker(renewed)) })
}

// askRestarted returns [presence.ErrRestarted] if a sweep may remove nothing. It costs one round trip. A
// server that does not answer is not swept either: see sweepScript.
func (s *fleet) askRestarted(ctx context.Context, opts backend.SweepOptions) error {
	var mu sync.Mutex
	var restarted error
	refuse := func() {
		mu.Lock()
		defer mu.Unlock()
		restarted = presence.ErrRestarted
	}
	err := s.eachServer(ctx, "sweep", func(ctx context.Context, on server) error {
		fine, err := s.knows(ctx, on, s.marker(renewed))
		if fine || err != nil {
			return err
		}
		again, err := s.knows(ctx, on, s.marker(met))
		switch {
		case err != nil:
			return err
		case !again:
			refuse()
			return s.learns(ctx, on, s.marker(met))
		case opts.Restarted:
			return s.learns(ctx, on, s.marker(renewed))
		case !opts.Look:
			refuse()
		}
		return nil
	})
	mu.Lock() // a call that was given up may still run
	defer mu.Unlock()
	return errors.Join(restarted, err)
}
