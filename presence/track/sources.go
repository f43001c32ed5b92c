package track

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/rollcall-go/rollcall/presence"
)

// sources opens topics for connections, by the kind of topic. Rosters are the default:
// a kind that no opener serves is a roster.
type sources struct {
	rosters *topics

	mu      sync.RWMutex              // taken with no other mutex held
	openers map[string]openSource     // by Topic.Kind
	hearing []func(from, hint string) // of the Sources: see Tracker.Serve
}

// openSource opens a topic for a connection whose reader has a version of it, or none.
type openSource func(ctx context.Context, topic presence.Topic, c *Connection, from presence.Cursor) (source, error)

// newSources returns the sources of a site. PeopleTopic is one where the site has people.
func newSources(rosters *topics, p *people) *sources {
	s := &sources{rosters: rosters, openers: make(map[string]openSource)}
	if p.directory.on() {
		s.openers[presence.PeopleTopic.Kind()] = func(ctx context.Context, topic presence.Topic, c *Connection, from presence.Cursor) (source, error) {
			l, err := p.open(ctx, topic, c)
			if err != nil {
				return nil, err // a nil *watchList would be no nil source
			}
			p.reach(ctx, l, from)
			return l, nil
		}
	}
	return s
}

// open returns the source of a topic for a connection once it has a version to show. Its
// errors are those of [Tracker.Connect].
func (s *sources) open(ctx context.Context, topic presence.Topic, c *Connection, from presence.Cursor) (source, error) {
	s.mu.RLock()
	open := s.openers[topic.Kind()]
	s.mu.RUnlock()
	if open != nil {
		return open(ctx, topic, c, from)
	}
	r, err := s.rosters.loadedFor(ctx, topic, c.from)
	if err != nil {
		return nil, err // a nil *replica would be no nil source
	}
	r.reach(ctx, from)
	return r, nil
}

// serve adds a Source for kinds of topics.
func (s *sources) serve(from Source, kinds []string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, kind := range kinds {
		if s.openers[kind] != nil || kind == "" {
			return fmt.Errorf("%w: topics of the kind %q are served already", presence.ErrInvalidConfig, kind)
		}
	}
	for _, kind := range kinds {
		s.openers[kind] = func(ctx context.Context, topic presence.Topic, c *Connection, have presence.Cursor) (source, error) {
			version, _ := have.Version(topic)
			line, err := from.Open(ctx, topic, c.visitor, version)
			if err != nil {
				return nil, err // a nil *Line would be no nil source
			}
			return line, nil
		}
	}
	s.hearing = append(slices.Clip(s.hearing), from.Hear)
	return nil
}

// hear hands a hint to all Sources.
func (s *sources) hear(node, hint string) {
	s.mu.RLock()
	all := s.hearing
	s.mu.RUnlock()
	for _, hear := range all {
		hear(node, hint)
	}
}
