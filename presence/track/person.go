package track

import (
	"context"
	"math"
	"sync"
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

// contactsOf is [People.Contacts].
func (p *peopleHere) contactsOf(ctx context.Context, user presence.UserID, most int) ([]presence.Person, error) {
	listed, err := p.directory.contacts(ctx, user, min(most, presence.MaxPeople))
	if err != nil || len(listed) == 0 {
		return nil, err
	}
	return p.find(ctx, user, listed, false)
}

// An askedPerson is a user about whom the Directory must be asked: one who is offline, or whom the viewer may
// not see as far as this node remembers.
type askedPerson struct {
	at   int // among the answers
	id   presence.UserID
	now  sight
	here bool // has a device
}

// seenAlready fills in the people whom the viewer may see by the Directory's earlier answers, and returns the
// others. For a guest it uses only what everybody may see.
func (p *peopleHere) seenAlready(all []presence.Person, ids []presence.UserID, viewer presence.UserID) (asked []askedPerson) {
	devices := p.devices()
	for i, id := range ids {
		all[i].ID = id
		var s sight
		here := false
		if devices != nil {
			s, here = devices.sightOf(id)
			here = here && s.visibility.Status != presence.Invisible // an invisible user looks offline
		}
		if here {
			relation, known := presence.Stranger, false
			if viewer != "" {
				relation, known = p.relations.recall(presence.Pair{User: id, Viewer: viewer}, relationsFor)
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

// person returns an online user as allowed viewers see the user.
func (s *sight) person(id presence.UserID) presence.Person {
	p := presence.Person{
		ID: id, Online: true, Status: s.visibility.Status.Shown(), Text: s.visibility.Text, On: s.kinds.names(), Since: s.since,
	}
	setProfile(&p, s.profile.Profile())
	return p
}

// setProfile sets the fields of a person that a user's profile has.
func setProfile(p *presence.Person, from presence.Profile) {
	p.Name, p.Avatar, p.URL = from.User(p.ID).DisplayName(), from.Avatar, from.URL
}

// A verdict has the Directory's answers about people. Missing answers are empty.
type verdict struct {
	seen      []presence.Seen
	relations []presence.Relation // nil: nothing
	viewer    presence.UserID
	recent    []backend.RecentUser // the answers from the recent names; nil: none
}

// askAbout asks for last seen and relations, and with detail also for the recent names, at the same time. It
// asks for the names of all users, whoever may see them (rule P2). It returns the error of ctx. An error of
// the Directory or of the store only leaves the answers empty.
func (p *peopleHere) askAbout(ctx context.Context, viewer presence.UserID, asked []askedPerson, detail bool) (v verdict, err error) {
	v.viewer = viewer
	users := make([]presence.UserID, len(asked))
	for i, a := range asked {
		users[i] = a.id
	}
	var others sync.WaitGroup
	if viewer != "" {
		pairs := make([]presence.Pair, len(users))
		for i, user := range users {
			pairs[i] = presence.Pair{User: user, Viewer: viewer}
		}
		others.Go(func() { v.relations, _, _ = p.relations.query(ctx, pairs) })
	}
	if detail {
		others.Go(func() { v.recent = p.recentNames(ctx, users) })
	}
	v.seen, _ = p.directory.lastSeen(ctx, users...)
	others.Wait()
	return v, ctx.Err()
}

// complete fills in the people about whom the Directory was asked. For a user who is online but hidden it
// shows no last seen.
func (p *peopleHere) complete(all []presence.Person, asked []askedPerson, v verdict) {
	now := time.Now()
	for i, a := range asked {
		relation, known := presence.Stranger, false
		switch {
		case v.relations != nil:
			relation, known = v.relations[i], true
		case a.here && v.viewer != "":
			relation, known = p.relations.recall(presence.Pair{User: a.id, Viewer: v.viewer}, math.MaxInt64)
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
