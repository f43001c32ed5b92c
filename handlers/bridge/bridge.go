// Package bridge publishes presence into an sse.Server of github.com/r3labs/sse, for
// a site that runs one already and wants presence as one more of its streams.
//
// That server waits for each of its subscribers in turn, so that one who stops
// reading stops a whole stream, and then whoever publishes into it. A [Bridge]
// never waits for it: while the stream is full it keeps nothing, and goes on with
// a state when there is room. [Deadline] cuts those who stop reading, so that the
// others on the stream wait no longer than that. A site without such a server
// takes the stream of package handlers, which has none of these troubles.
package bridge

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/r3labs/sse/v2"

	"github.com/rollcall-go/rollcall/presence"
)

// Config is what a [Bridge] publishes. The zero value is usable.
type Config struct {
	// Topics are what is published. The server does not ask who may see a stream:
	// these are for everybody who reaches it. Default: presence.Site.
	Topics []presence.Topic
	// Stream names the stream of a topic. Default: the topic itself.
	Stream func(presence.Topic) string
	// Limit is how many users a state holds. Default: 100.
	Limit int
}

// A Bridge publishes topics into a server's streams, one a topic: the events
// state, diff, count and heartbeat, as in package handlers, without a welcome. The
// ids are integers, as that server wants them; an event's cursor stands in its
// data. Everybody on a stream gets a state whenever somebody subscribes, at most
// one a second: who has a roster already puts the new one in its place, and who
// has none disregards what comes before.
type Bridge struct {
	feeds map[string]*feed // by stream
}

// New returns a Bridge, and makes the streams. Call it before the server serves:
// it puts itself before the server's OnSubscribe, and its streams do not replay,
// since a log of diffs would grow for ever. It returns an error for a topic that
// is invalid, or a stream that there is already.
func New(tracker *presence.Tracker, server *sse.Server, cfg Config) (*Bridge, error) {
	if len(cfg.Topics) == 0 {
		cfg.Topics = []presence.Topic{presence.Site}
	}
	if cfg.Stream == nil {
		cfg.Stream = func(t presence.Topic) string { return string(t) }
	}
	b := &Bridge{feeds: make(map[string]*feed)}
	for _, topic := range cfg.Topics {
		if _, err := presence.ParseTopic(string(topic)); err != nil {
			return nil, err
		}
		id := cfg.Stream(topic)
		if server.StreamExists(id) || b.feeds[id] != nil {
			return nil, fmt.Errorf("bridge: there is a stream %q already", id)
		}
		b.feeds[id] = newFeed(tracker, server, topic, id, cfg.Limit)
	}
	others := server.OnSubscribe
	server.OnSubscribe = func(id string, s *sse.Subscriber) {
		if f := b.feeds[id]; f != nil {
			f.welcome()
		}
		if others != nil {
			others(id, s)
		}
	}
	for id := range b.feeds {
		server.CreateStream(id).AutoReplay = false
	}
	return b, nil
}

// Run publishes until ctx ends, and returns nil then; or until the tracker closes,
// and returns an error that is [presence.ErrClosed]. It runs once at a time.
func (b *Bridge) Run(ctx context.Context) error {
	var mu sync.Mutex
	var errs []error
	var all sync.WaitGroup
	for _, f := range b.feeds {
		all.Go(func() {
			err := f.run(ctx)
			mu.Lock()
			defer mu.Unlock()
			errs = append(errs, err)
		})
	}
	all.Wait()
	return errors.Join(errs...)
}
