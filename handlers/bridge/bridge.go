// Package bridge publishes presence into an sse.Server of github.com/r3labs/sse, for a site
// that already has one and wants presence as one more of its streams. A site without such
// a server uses the streams of package handlers.
//
// That server waits for each subscriber in turn. So a subscriber that stops reading blocks
// the whole stream, and then every publisher. A [Bridge] never waits: while the stream is
// full it publishes nothing, and goes on with a state when there is room. [Deadline]
// disconnects subscribers that stop reading, so that the others wait no longer than that.
package bridge

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/r3labs/sse/v2"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/track"
)

// Config configures a [Bridge]. The zero value is usable.
type Config struct {
	// Topics are published. The server does not check who may see a stream, so every client that reaches it
	// sees them. Rooms such as feed:thread:1 are allowed. The topics people and inbox are not, since nobody is
	// signed in here. Default: presence.Site.
	Topics []presence.Topic
	// Stream returns the name of a topic's stream. Default: the topic itself.
	Stream func(presence.Topic) string
	// Limit is the largest number of users in a state. Default: 100.
	Limit int
}

// A Bridge publishes each topic into a stream of its own: the events state, diff, count and heartbeat, as in
// package handlers, without a welcome. The ids are integers, as that server needs; an event's data has its
// cursor. When a client subscribes, all clients on the stream get a state, at most one a second. A client
// replaces its roster by each state, and ignores all events before the first state.
type Bridge struct {
	feeds map[string]*feed // by stream
}

// New returns a Bridge, and creates the streams. Call it before the server serves: it sets
// the server's OnSubscribe to a function that calls the previous one. The streams do not
// replay, since a log of diffs would grow for ever. New returns an error for an invalid
// topic, for a stream that exists already, and [presence.ErrGuest] for a topic that only
// users have.
func New(tracker *track.Tracker, server *sse.Server, cfg Config) (*Bridge, error) {
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
		if tracker.Serves(topic) && topic.Kind() == string(topic) {
			return nil, fmt.Errorf("bridge: the topic %q: %w", topic, presence.ErrGuest)
		}
		id := cfg.Stream(topic)
		if server.StreamExists(id) || b.feeds[id] != nil {
			return nil, fmt.Errorf("bridge: the stream %q exists already", id)
		}
		b.feeds[id] = newFeed(tracker, server, topic, id, cfg.Limit)
	}
	others := server.OnSubscribe
	server.OnSubscribe = func(id string, s *sse.Subscriber) {
		if f := b.feeds[id]; f != nil {
			f.wantState()
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

// Run publishes until ctx ends, and then returns nil, or until the tracker closes, and then
// returns [presence.ErrClosed]. It may not be called concurrently.
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
