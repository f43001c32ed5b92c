package track_test

import (
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/track"
)

// A user who is invisible and lets more viewers know when the user was last seen shows nothing by that. The
// choice counts once the user is visible again, and then stays. A choice of fewer viewers counts at once.
func TestLastSeenOfTheInvisible(t *testing.T) {
	const all, contacts, nobody = "stranger friend", "friend", ""
	type step struct {
		choose presence.Settings
		knows  string // who may know the last seen
	}
	hour := 90 * time.Minute
	for name, steps := range map[string][]step{
		"wider": {
			{presence.Settings{Status: presence.Invisible}, all},
			{presence.Settings{Status: presence.Invisible, Seen: presence.Nobody}, nobody},
			{presence.Settings{Status: presence.Invisible, Seen: presence.Everyone}, nobody},
			{presence.Settings{Status: presence.Invisible, Seen: presence.Everyone, Text: "x"}, nobody},
			{presence.Settings{Seen: presence.Everyone}, all},
			{presence.Settings{Status: presence.Invisible, Seen: presence.Everyone}, all},
		},
		"the default": {
			{presence.Settings{Status: presence.Invisible, Seen: presence.Nobody}, nobody},
			{presence.Settings{Status: presence.Invisible}, nobody},
			{presence.Settings{}, all},
		},
		"by degrees": {
			{presence.Settings{Status: presence.Invisible, Seen: presence.Contacts}, contacts},
			{presence.Settings{Status: presence.Invisible, Seen: presence.Everyone}, contacts},
			{presence.Settings{Status: presence.Invisible, Seen: presence.Nobody}, nobody},
			{presence.Settings{Status: presence.Invisible, Seen: presence.Contacts}, nobody},
			{presence.Settings{Status: presence.Busy, Seen: presence.Contacts}, contacts},
		},
		"wider, and back": {
			{presence.Settings{Status: presence.Invisible, Seen: presence.Nobody}, nobody},
			{presence.Settings{Status: presence.Invisible, Seen: presence.Everyone}, nobody},
			{presence.Settings{Status: presence.Invisible, Seen: presence.Nobody}, nobody},
			{presence.Settings{Seen: presence.Nobody}, nobody},
		},
		"by who sees that the user is online": {
			{presence.Settings{Status: presence.Invisible, Online: presence.Nobody, Seen: presence.Everyone}, nobody},
			{presence.Settings{Status: presence.Invisible, Online: presence.Contacts, Seen: presence.Everyone}, nobody},
			{presence.Settings{Status: presence.Invisible, Online: presence.Everyone, Seen: presence.Everyone}, nobody},
			{presence.Settings{Status: presence.Away, Online: presence.Everyone, Seen: presence.Everyone}, all},
		},
		"together with invisible": {
			{presence.Settings{Seen: presence.Nobody}, nobody},
			{presence.Settings{Status: presence.Invisible}, nobody},
			{presence.Settings{}, all},
		},
	} {
		bubble(t, name, func(t *testing.T) {
			d := invisibleTown(t)
			for i, s := range steps {
				d.choose(d.a, "alice", s.choose)
				time.Sleep(time.Second)
				d.wantKnown(i, s.knows)
				got, err := d.b.People().Settings(t.Context(), "alice")
				noError(t, err)
				if got.Rev = 0; got.At(time.Now()) != s.choose.At(time.Now()) {
					t.Errorf("step %d: got the settings %+v, want %+v", i, got, s.choose)
				}
			}
		})
	}
	bubble(t, "until the status ends", func(t *testing.T) {
		d := invisibleTown(t)
		until := time.Now().Add(hour)
		d.choose(d.a, "alice", presence.Settings{Status: presence.Invisible, Until: until, Seen: presence.Nobody})
		d.choose(d.b, "alice", presence.Settings{Status: presence.Invisible, Until: until})
		time.Sleep(hour - 2*time.Second)
		d.wantKnown(1, nobody)
		time.Sleep(4 * time.Second)
		d.wantKnown(2, all)
	})
}

// invisibleTown is a town that Alice has left.
func invisibleTown(t *testing.T) *town {
	d := newTown(t)
	d.directory.Befriend("alice", "friend")
	connect(t, d.a, track.ConnectOptions{Visitor: on("alice", "one")}).Close()
	time.Sleep(time.Minute)
	return d
}

// wantKnown checks to whom all nodes, and one that has just started, tell when Alice was last seen.
func (d *town) wantKnown(step int, want string) {
	d.t.Helper()
	for name, at := range map[string]*track.Tracker{"a": d.a, "b": d.b, "new": d.node("new")} {
		known := ""
		for _, viewer := range []presence.UserID{"stranger", "friend"} {
			people, err := at.People().Find(d.t.Context(), viewer, "alice")
			noError(d.t, err)
			if p := people[0]; p.Online || !p.LastSeen.IsZero() {
				known += map[bool]string{true: " "}[known != ""] + string(viewer)
			}
		}
		if known != want {
			d.t.Errorf("step %d: node %s tells %q, want %q", step, name, known, want)
		}
		sightings, err := at.Sightings(d.t.Context(), presence.Site, "alice")
		noError(d.t, err)
		if told := !sightings[0].LastSeen.IsZero(); told != (want == "stranger friend") {
			d.t.Errorf("step %d: node %s tells all readers of the site: %v", step, name, told)
		}
	}
}
