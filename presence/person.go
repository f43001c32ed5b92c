package presence

import (
	"context"
	"time"
)

// PeopleTopic is the topic of the users whom a visitor watches. It exists where the site has
// a [Config.Directory]; else "people" is a topic like any other.
const PeopleTopic Topic = "people"

// A Person is a user as one viewer may see the user.
type Person struct {
	ID                UserID
	Name, Avatar, URL string   // only while Online, but see PeopleInDetail
	Online            bool     // false also for a user who is hidden from the viewer, or unknown
	Status            Status   // only while Online: Online, Away or Busy
	Text              string   // beside the status
	On                []string // the kinds of the devices, each once, in the order of their names
	Since             time.Time
	LastSeen          time.Time    // only while not Online; zero: unknown, or not for this viewer
	Source            PersonSource // by PeopleInDetail alone; empty: this viewer is told nothing
}

// MaxPeople is how many users [Tracker.People] answers for at once.
const MaxPeople = 1_000

// MaxWatched is how many people a connection may watch.
const MaxWatched = 500

// People returns users as a viewer may see them, in the order of the ids. It answers for an
// id as often as it is named. An empty viewer is a guest, who sees what everybody may, and
// whom the Directory is not asked about: a user who has blocked somebody is not shown.
//
// It costs a look into memory, about 0.5 µs, for each user whom the viewer saw online within the
// last five minutes, and two queries of the Directory, side by side, if there is anybody else.
// The same two go out for a user who is hidden and for one who is not there (rule P2), and for
// a user whom everybody sees as for one who has blocked somebody: the time tells of no block.
//
// While the Directory is out, its latest answer counts about a user who is online. Without one
// only a user whom everybody may see is online, and last seen is unknown: that is no error. It returns [ErrNoDirectory], [ErrTooManyPeople], or the error of ctx. The
// slices that Person.On has are shared, and must not be changed.
func (t *Tracker) People(ctx context.Context, viewer UserID, ids ...UserID) ([]Person, error) {
	return t.people.find(ctx, viewer, ids, false)
}

// find answers People, or with detail PeopleInDetail.
func (p *people) find(ctx context.Context, viewer UserID, ids []UserID, detail bool) ([]Person, error) {
	switch {
	case !p.directory.on():
		return nil, ErrNoDirectory
	case len(ids) > MaxPeople:
		return nil, ErrTooManyPeople
	}
	all := make([]Person, len(ids))
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
	id   UserID
	now  sight
	here bool // has a device
}

// seenAlready fills in the people whom the viewer may see by what the Directory said lately, and
// returns the others. Nothing was said to a guest, who sees at once whom everybody sees.
func (p *people) seenAlready(all []Person, ids []UserID, viewer UserID) (asked []askedPerson) {
	devices := p.devices()
	for i, id := range ids {
		all[i].ID = id
		var s sight
		here := false
		if devices != nil {
			s, here = devices.sightOf(id)
			here = here && s.word.status != Invisible // who looks as if they had left
		}
		if here {
			relation, known := Stranger, false
			if viewer != "" {
				relation, known = p.relations.recall(Pair{id, viewer}, false)
			}
			if (known || viewer == "") && s.word.shownTo(relation, known) {
				all[i] = s.person(id)
				continue
			}
		}
		asked = append(asked, askedPerson{i, id, s, here})
	}
	return asked
}

// person returns a user who is online as those see the user who may.
func (s *sight) person(id UserID) Person {
	return Person{
		ID: id, Name: s.name(id), Avatar: s.profile.Avatar, URL: s.profile.URL, Online: true,
		Status: s.word.status.Shown(), Text: s.word.text, On: s.kinds.names(), Since: s.since,
	}
}

// A verdict is what the Directory said of people. What it did not say is empty.
type verdict struct {
	seen      []Seen
	relations []Relation // nil: nothing
	viewer    UserID
	recent    []RecentUser // what the recent names say; nil: nothing
}

// askAbout asks for last seen and relations, and with detail for the recent names, at the same
// time. The names are asked about everybody, whoever may know of whom (rule P2). It returns the
// error of ctx; an error of the Directory or of the store leaves the answer empty.
func (p *people) askAbout(ctx context.Context, viewer UserID, asked []askedPerson, detail bool) (v verdict, err error) {
	v.viewer = viewer
	users := make([]UserID, len(asked))
	for i, a := range asked {
		users[i] = a.id
	}
	related := make(chan []Relation, 1)
	go func() {
		if viewer == "" {
			related <- nil
			return
		}
		pairs := make([]Pair, len(users))
		for i, user := range users {
			pairs[i] = Pair{User: user, Viewer: viewer}
		}
		relations, _ := p.relations.answers(ctx, pairs)
		related <- relations
	}()
	named := make(chan []RecentUser, 1)
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
func (p *people) complete(all []Person, asked []askedPerson, v verdict) {
	now := time.Now()
	for i, a := range asked {
		relation, known := Stranger, false
		switch {
		case v.relations != nil:
			relation, known = v.relations[i], true
		case a.here && v.viewer != "":
			relation, known = p.relations.latest(Pair{a.id, v.viewer})
		}
		mayKnow := v.seen != nil && wordOf(v.seen[i].Settings.At(now), time.Time{}).seenBy(relation, known)
		switch {
		case a.here && a.now.word.shownTo(relation, known):
			all[a.at] = a.now.person(a.id)
		case !a.here && mayKnow:
			all[a.at].LastSeen = v.seen[i].At
			if v.recent != nil {
				all[a.at].remember(v.recent[i])
			}
		}
	}
}
