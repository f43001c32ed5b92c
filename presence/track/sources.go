package track

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/rollcall-go/rollcall/presence"
)

// sources opens topics for connections, by the kind of topic. A kind without an opener is a roster.
type sources struct {
	rosters *topics

	mu      sync.RWMutex              // taken with no other mutex held
	openers map[string]openSource     // by Topic.Kind
	hearing []func(from, hint string) // Hear of each LineSource: see Tracker.Serve
}

// openSource opens a topic for a connection. from is the version that its reader has, or empty.
type openSource func(ctx context.Context, topic presence.Topic, o opening, from presence.Cursor) (source, error)

// An opening has what a source may know of the connection that opens it.
type opening struct {
	visitor presence.Visitor
	from    string       // ConnectOptions.From
	window  Window       // ConnectOptions.Window
	watch   *watchWanted // from ConnectOptions, for the first list of people; nil: the connection is open already
}

// newSources returns the sources of a site. openers are those of this package, by kind.
func newSources(rosters *topics, openers map[string]openSource) *sources {
	return &sources{rosters: rosters, openers: openers}
}

// open returns the source of a topic for a connection, once the source has a version to show. Its errors are
// those of [Tracker.Connect].
func (s *sources) open(ctx context.Context, topic presence.Topic, o opening, from presence.Cursor) (source, error) {
	if open := s.openerOf(topic); open != nil {
		return open(ctx, topic, o, from)
	}
	r, err := s.rosters.loadedFor(ctx, topic, o.from)
	if err != nil {
		return nil, err // not r: a nil *replica in a source would not be nil
	}
	r.reach(ctx, from)
	if o.window.Users > 0 {
		return r.openWindow(o.window), nil
	}
	return r, nil
}

// openerOf returns the opener of a topic, or nil for a roster.
func (s *sources) openerOf(topic presence.Topic) openSource {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.openers[topic.Kind()]
}

// serve adds a LineSource for kinds of topics.
func (s *sources) serve(from LineSource, kinds []string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, kind := range kinds {
		if s.openers[kind] != nil || kind == "" {
			return fmt.Errorf("%w: topics of the kind %q are served already", presence.ErrInvalidConfig, kind)
		}
	}
	for _, kind := range kinds {
		s.openers[kind] = func(ctx context.Context, topic presence.Topic, o opening, have presence.Cursor) (source, error) {
			version, _ := have.Version(topic)
			line, err := from.Open(ctx, topic, o.visitor, version)
			if err != nil {
				return nil, err // not the line: a nil *Line in a source would not be nil
			}
			return line, nil
		}
	}
	s.hearing = append(slices.Clip(s.hearing), from.Hear)
	return nil
}

// hear passes a hint to each LineSource.
func (s *sources) hear(node, hint string) {
	s.mu.RLock()
	all := s.hearing
	s.mu.RUnlock()
	for _, hear := range all {
		hear(node, hint)
	}
}
