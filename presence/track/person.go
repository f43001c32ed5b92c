package track

import (
	"context"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// find answers People, or with detail PeopleInDetail.
func (p *peopleHere) find(ctx context.Context, viewer presence.UserID, ids []presence.UserID, detail bool) ([]presence.Person, error) {
	switch {
	case !p.directory.on():
		return nil, presence.ErrNoDirectory
	case len(ids) > presence.MaxPeople:
		return nil, presence.ErrTooManyPeople
	}
	all := make([]presence.Person, len(ids))
	if asked := p.seenAlready(all, ids, viewer); len(asked) > 0 {
		v, err := p.askAbout(ctx, viewer, asked, detail)
		if err != nil {
			return nil, err
		}
		p.complete(all, asked, v)
	}
	if detail {
		addSources(all)
	}
	return all, nil
}

// An askedPerson is somebody whom the viewer may not see, as far as this node remembers, or who is
// not online: the Directory decides.
type askedPerson struct {
	at   int // among the answers
	id   presence.UserID
	now  sight
	here bool // has a device
}

// seenAlready fills in the people whom the viewer may see by what the Directory said lately, and
// returns the others. Nothing was said to a guest, who sees at once whom everybody sees.
func (p *peopleHere) seenAlready(all []presence.Person, ids []presence.UserID, viewer presence.UserID) (asked []askedPerson) {
	devices := p.devices()
	for i, id := range ids {
		all[i].ID = id
		var s sight
		here := false
		if devices != nil {
			s, here = devices.sightOf(id)
			here = here && s.visibility.Status != presence.Invisible // who looks as if they had left
		}
		if here {
			relation, known := presence.Stranger, false
			if viewer != "" {
				relation, known = p.relations.recall(presence.Pair{User: id, Viewer: viewer}, false)
			}
			if (known || viewer == "") && s.visibility.ShownTo(relation, known) {
				all[i] = s.person(id)
				continue
			}
		}
		asked = append(asked, askedPerson{i, id, s, here})
	}
	return asked
}

// person returns a user who is online as those see the user who may.
func (s *sight) person(id presence.UserID) presence.Person {
	return presence.Person{
		ID: id, Name: s.name(id), Avatar: s.profile.Avatar, URL: s.profile.URL, Online: true,
		Status: s.visibility.Status.Shown(), Text: s.visibility.Text, On: s.kinds.names(), Since: s.since,
	}
}

// A verdict is what the Directory said of people. What it did not say is empty.
type verdict struct {
	seen      []presence.Seen
	relations []presence.Relation // nil: nothing
	viewer    presence.UserID
	recent    []backend.RecentUser // what the recent names say; nil: nothing
}

// askAbout asks for last seen and relations, and with detail for the recent names, at the same
// time. The names are asked about everybody, whoever may know of whom (rule P2). It returns the
// error of ctx; an error of the Directory or of the store leaves the answer empty.
func (p *peopleHere) askAbout(ctx context.Context, viewer presence.UserID, asked []askedPerson, detail bool) (v verdict, err error) {
	v.viewer = viewer
	users := make([]presence.UserID, len(asked))
	for i, a := range asked {
		users[i] = a.id
	}
	related := make(chan []presence.Relation, 1)
	go func() {
		if viewer == "" {
			related <- nil
			return
		}
		pairs := make([]presence.Pair, len(users))
		for i, user := range users {
			pairs[i] = presence.Pair{User: user, Viewer: viewer}
		}
		relations, _ := p.relations.answers(ctx, pairs)
		related <- relations
	}()
	named := make(chan []backend.RecentUser, 1)
	go func() {
		if !detail {
			named <- nil
			return
		}
		named <- p.recentNames(ctx, users)
	}()
	v.seen, _ = p.directory.lastSeen(ctx, users...)
	v.relations, v.recent = <-related, <-named
	return v, ctx.Err()
}

// complete fills in the people about whom the Directory was asked. A user who is there and
// hidden has no last seen.
func (p *peopleHere) complete(all []presence.Person, asked []askedPerson, v verdict) {
	now := time.Now()
	for i, a := range asked {
		relation, known := presence.Stranger, false
		switch {
		case v.relations != nil:
			relation, known = v.relations[i], true
		case a.here && v.viewer != "":
			relation, known = p.relations.latest(presence.Pair{User: a.id, Viewer: v.viewer})
		}
		mayKnow := v.seen != nil && v.seen[i].Settings.At(now).Visibility(time.Time{}).SeenBy(relation, known)
		switch {
		case a.here && a.now.visibility.ShownTo(relation, known):
			all[a.at] = a.now.person(a.id)
		case !a.here && mayKnow:
			all[a.at].LastSeen = v.seen[i].At
			if v.recent != nil {
				remember(&all[a.at], v.recent[i])
			}
		}
	}
}
