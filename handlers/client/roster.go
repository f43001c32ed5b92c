package client

import (
	"maps"
	"slices"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// A Roster holds who is online, from the events of [Follow]. The zero value is empty. It
// may be used by one goroutine at a time.
type Roster struct {
	topics map[presence.Topic]*topicRoster
}

type topicRoster struct {
	totals   Totals
	users    map[presence.UserID]presence.Member
	complete bool // users has all users of the topic
}

// A Change is what one event changed in one topic.
type Change struct {
	Topic   presence.Topic
	Joined  []presence.Member // users who were not online before, the newest first
	Updated []presence.Member // users who were online, with another profile
	Left    []Leave
}

// A Leave is one user who has left.
type Leave struct {
	backend.Departure                 // LastSeen is zero if a state showed the leave, or if the site does not reveal it
	User              presence.Member // as last known; only the ID if the user was unknown
}

// Apply applies an event, and returns the change. The first state of a topic adds all its users; a later state
// is compared with the roster. A user who is missing from a truncated state has not left: the state may just
// lack that user.
func (r *Roster) Apply(e Event) Change {
	switch e := e.(type) {
	case State:
		return r.topic(e.Topic).state(e)
	case Diff:
		return r.topic(e.Topic).diff(e)
	case Count:
		t := r.topic(e.Topic)
		t.totals, t.users, t.complete = e.Totals, nil, false
		return Change{Topic: e.Topic}
	case Heartbeat:
		r.topic(e.Topic).totals = e.Totals
		return Change{Topic: e.Topic}
	}
	return Change{}
}

// Users returns the known users of a topic, the newest first.
func (r *Roster) Users(topic presence.Topic) []presence.Member {
	t := r.topics[topic]
	if t == nil {
		return nil
	}
	return slices.SortedFunc(maps.Values(t.users), presence.NewestFirst)
}

// Complete reports whether Users returns all users of a topic. It returns false after a truncated state or a
// count.
func (r *Roster) Complete(topic presence.Topic) bool {
	t := r.topics[topic]
	return t != nil && t.complete
}

// Totals returns a topic's latest figures.
func (r *Roster) Totals(topic presence.Topic) Totals {
	if t := r.topics[topic]; t != nil {
		return t.totals
	}
	return Totals{Topic: topic}
}

// Cursors returns the cursor of each topic, for Options.Cursors of a later run.
func (r *Roster) Cursors() map[presence.Topic]presence.Cursor {
	cursors := make(map[presence.Topic]presence.Cursor, len(r.topics))
	for topic, t := range r.topics {
		cursors[topic] = t.totals.Cursor
	}
	return cursors
}

func (r *Roster) topic(topic presence.Topic) *topicRoster {
	t := r.topics[topic]
	if t == nil {
		t = new(topicRoster)
		if r.topics == nil {
			r.topics = make(map[presence.Topic]*topicRoster)
		}
		r.topics[topic] = t
	}
	return t
}

func (t *topicRoster) state(s State) Change {
	before := t.users
	t.totals, t.complete = s.Totals, !s.Truncated
	t.users = make(map[presence.UserID]presence.Member, len(s.Users))
	change := t.set(s.Topic, before, s.Users)
	if !s.Truncated {
		for id, was := range before {
			if _, ok := t.users[id]; !ok {
				change.Left = append(change.Left, Leave{backend.Departure{ID: id}, was})
			}
		}
		slices.SortFunc(change.Left, func(a, b Leave) int { return presence.NewestFirst(a.User, b.User) })
	}
	return change
}

func (t *topicRoster) diff(d Diff) Change {
	t.totals.Topic, t.totals.Cursor, t.totals.Total = d.Topic, d.Cursor, d.Total
	if t.users == nil {
		t.users = make(map[presence.UserID]presence.Member)
	}
	change := t.set(d.Topic, t.users, d.Joins)
	for _, l := range d.Leaves {
		was, ok := t.users[l.ID]
		if !ok {
			was.ID = l.ID
		}
		change.Left = append(change.Left, Leave{l, was})
		delete(t.users, l.ID)
	}
	return change
}

// set adds users to the roster. It returns those who are new or changed, compared with before.
func (t *topicRoster) set(topic presence.Topic, before map[presence.UserID]presence.Member, users []presence.Member) Change {
	change := Change{Topic: topic}
	for _, m := range users {
		was, ok := before[m.ID]
		switch {
		case !ok:
			change.Joined = append(change.Joined, m)
		case !was.SameProfile(m.User):
			change.Updated = append(change.Updated, m)
		}
		t.users[m.ID] = m
	}
	return change
}
