package redisstore

import (
	"cmp"
	"context"
	"strings"

	"github.com/redis/go-redis/v9"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// A broadcast is sent on the channel of its topic's diffs, so that it needs no subscription of its own. It
// begins with "!". A diff begins with the number of its version.

const broadcastMark = "!"

func isBroadcast(message string) bool { return strings.HasPrefix(message, broadcastMark) }

// Send implements [backend.Store]. On a cluster it is one round trip a node, side by side.
func (s *watcher) Send(ctx context.Context, broadcasts ...backend.Broadcast) error {
	for _, b := range broadcasts {
		if err := b.Validate(); err != nil {
			return wrap("send", err)
		}
	}
	if len(broadcasts) == 0 {
		return nil
	}
	if err := s.ready(ctx, s.writes); err != nil {
		return err
	}
	command, place := s.publish(), s.place()
	messages := make([]publication, len(broadcasts))
	for i, b := range broadcasts {
		messages[i] = newPublication(ctx, command, s.channel(b.Topic)+place, string(b.Data))
	}
	_, err := call(ctx, s.writes, "send", func(ctx context.Context) (struct{}, error) {
		_ = s.pipelined(ctx, func(p redis.Pipeliner) { // each answer has its own error
			for _, m := range messages {
				_ = p.Process(ctx, m)
			}
		})
		return struct{}{}, allFailed(messages) // so a cluster that lost a part does not count as out
	})
	if err != nil {
		return err
	}
	for _, m := range messages {
		err = cmp.Or(err, wrap("send", verdict(m.Err())))
	}
	return err
}

// A publication is a PUBLISH or SPUBLISH that the client never repeats. When a connection breaks, the server
// may already have delivered the message, and a broadcast must arrive at most once.
type publication struct{ *redis.IntCmd }

// NoRetry tells the client not to repeat the command.
func (publication) NoRetry() bool { return true }

// newPublication makes the command go to the master of the channel's slot. Otherwise the client would send
// each PUBLISH to another server of the cluster, so that two messages could overtake each other.
func newPublication(ctx context.Context, command, channel, message string) publication {
	p := publication{redis.NewIntCmd(ctx, strings.ToLower(command), channel, message)}
	p.SetFirstKeyPos(1)
	return p
}

// WatchBroadcasts implements [backend.Store]. It costs nothing if the topic is watched here
// already: the subscription is shared.
func (s *watcher) WatchBroadcasts(ctx context.Context, topic presence.Topic, fn func(data []byte)) (func(), error) {
	return s.subscribe(ctx, "watch broadcasts", s.broadcastTap(topic, fn))
}

func (s *watcher) broadcastTap(topic presence.Topic, fn func(data []byte)) *tap {
	return &tap{store: s, base: s.channel(topic), fn: func(message string) {
		if isBroadcast(message) {
			fn([]byte(message))
		}
	}}
}
