package presence

import "context"

// sources opens topics for connections, by the kind of topic. Rosters are the default:
// a kind that no opener serves is a roster.
type sources struct {
	rosters *topics
	openers map[string]func(context.Context, Topic, *Connection) (source, error) // by Topic.Kind
}

// newSources returns the sources of a site. PeopleTopic is one where the site has people.
func newSources(rosters *topics, p *people) *sources {
	s := &sources{rosters: rosters}
	if p.directory.on() {
		s.openers = map[string]func(context.Context, Topic, *Connection) (source, error){PeopleTopic.Kind(): p.open}
	}
	return s
}

// open returns the source of a topic for a connection once it has a version to show. Its
// errors are those of [Tracker.Connect].
func (s *sources) open(ctx context.Context, topic Topic, c *Connection) (source, error) {
	if open := s.openers[topic.Kind()]; open != nil {
		return open(ctx, topic, c)
	}
	r, err := s.rosters.loaded(ctx, topic)
	if err != nil {
		return nil, err // a nil *replica would be no nil source
	}
	return r, nil
}
