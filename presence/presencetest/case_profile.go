package presencetest

import (
	"encoding/json"
	"strings"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

func profileCases() []ruleCase {
	return []ruleCase{
		{"profiles", "a new profile is one update, the same again nothing", profileUpdate},
		{"profiles", "the newest wins for all", newestProfile},
		{"profiles", "an update changes the status alone", statusAlone},
		{"profiles", "a visibility is kept as a status is", visibilityKept},
		{"profiles", "every field arrives as it was sent", everyField},
		{"profiles", "who is not there is not updated", updateNobody},
	}
}

// full is a profile with every field.
func full(id presence.UserID) presence.User {
	return presence.User{
		ID: id, Name: "Zoë <b>\"&'\u2028", Avatar: "https://example.org/a.png?x=1&y=2", URL: "/users/1#top",
		Data:   json.RawMessage(`{"__proto__":{"a":[1,2.5,null,"\u00e9\ud83d\ude00"]},"empty":{},"list":[]}`),
		Status: presence.Busy, Group: "staff-2",
	}
}

// Scenario 16: a change of profile is one diff without a leave, by whatever operation. The
// time of the join stays.
func profileUpdate(tr *trial) {
	site := tr.follow(presence.Site)
	tr.do(presence.Site, joinAs(full("u"), "a.1"))
	tr.do(presence.Site, status("u", presence.Busy), joinAs(full("u"), "a.1"))
	tr.do(presence.Site, seenAs(full("u")))
	site.wantsDiffs("+u")
	tr.advance(slack)
	changed := full("u")
	changed.Data = json.RawMessage(`[2]`)
	tr.do(presence.Site, joinAs(changed, "a.1"))
	site.wantsDiffs("~u")
	changed.Avatar = ""
	tr.do(presence.Site, seenAs(changed))
	site.wantsDiffs("~u")
	changed.URL = "/elsewhere"
	tr.do(presence.Site, joinAs(changed, "a.1"))
	site.wantsDiffs("~u")
	changed.Group = "moderators"
	tr.do(presence.Site, joinAs(changed, "a.1"))
	site.wantsDiffs("~u")
	changed.Name = "Zoe"
	tr.do(presence.Site, joinAs(changed, "b.1"))
	tr.do(presence.Site, seenAs(changed))
	site.wantsDiffs("~u")
}

// Rule 3, scenario 17: tabs bring different profiles. The latest holds for all, also
// after its tab closed, and whatever comes late. A heartbeat brings none, and neither does an update.
func newestProfile(tr *trial) {
	site := tr.follow(presence.Site)
	profile := func(name string) presence.User { return presence.User{ID: "u", Name: name} }
	tr.do(presence.Site, joinAs(profile("first"), "a.1"), joinAs(profile("second"), "a.2"), seenAs(profile("third")))
	tr.wantName("third")
	tr.do(presence.Site, joinAs(profile("second"), "a.2"))
	tr.wantName("second")
	tr.do(presence.Site, beat("u", "a.1"), drop("u", "a.2"))
	tr.wantName("second")
	tr.do(presence.Site, past(joinAs(profile("older"), "a.3"), slack), past(seenAs(profile("older")), slack), update(profile("update")))
	tr.wantName("second")
	tr.do(presence.Site, joinAs(profile("fourth"), "a.3"), past(joinAs(profile("older"), "a.3"), slack))
	tr.wantName("fourth")
	site.wantsDiffs("+u", "~u", "~u")
}

func (tr *trial) wantName(want string) {
	tr.Helper()
	if got := tr.read(presence.Site).members["u"].Name; got != want {
		tr.Fatalf("the name is %q, want %q: the newest profile wins", got, want)
	}
}

// An update changes only the status. A profile without a status keeps
// the former one; a new user is online.
func statusAlone(tr *trial) {
	site := tr.follow(presence.Site)
	tr.do(presence.Site, join("v", "a.2"), joinAs(full("u"), "a.1"))
	if s := tr.sighting(presence.Site, "v"); s.Status != presence.Online {
		tr.Errorf("who comes new has status %q, want %q", s.Status, presence.Online)
	}
	tr.do(presence.Site, status("u", presence.Away))
	site.wantsDiffs("+u +v", "~u")
	want := full("u")
	want.Status = presence.Away
	if got := tr.read(presence.Site).members["u"]; !sameMember(got, presence.Member{User: want}) {
		tr.Errorf("the profile is %+v, want %+v", got.User, want)
	}
	tr.do(presence.Site, join("u", "a.3"))
	if got := tr.read(presence.Site).members["u"]; got.Status != presence.Away || got.Name != named("u").Name || len(got.Data) != 0 {
		tr.Errorf("the profile is %+v, want the new one, away", got.User)
	}
	if s := tr.sighting(presence.Site, "u"); s.Status != presence.Away {
		tr.Errorf("the sighting's status is %q, want %q", s.Status, presence.Away)
	}
}

// A visibility is kept as the status is: a profile without one keeps the former, and an update may
// consist of one alone. Nothing in it counts for the store: a device whose user is invisible is there.
func visibilityKept(tr *trial) {
	const topic, phone = backend.DevicesTopic, presence.UserID("u\x1ephone")
	follower := tr.follow(topic)
	shown := func(s presence.Settings) presence.User {
		v := s.At(tr.now()).Visibility(tr.now())
		return presence.User{ID: phone, Visibility: &v}
	}
	want := func(name string, v *presence.Visibility) {
		tr.Helper()
		if got := tr.read(topic).members[phone]; got.Name != name || !got.Visibility.Equal(v) {
			tr.Errorf("the device of %q has the visibility %+v, want %q and %+v", got.Name, got.Visibility, name, v)
		}
	}
	first := shown(presence.Settings{Text: "in a call", Online: presence.Contacts})
	first.Name = "first"
	tr.do(topic, joinAs(first, "a.1"))
	want("first", first.Visibility)
	hidden := shown(presence.Settings{Status: presence.Invisible, Seen: presence.Nobody, Except: true})
	tr.do(topic, update(hidden))
	tr.do(topic, update(hidden))
	want("first", hidden.Visibility)
	tr.do(topic, joinAs(presence.User{ID: phone, Name: "second"}, "a.1"))
	want("second", hidden.Visibility)
	tr.do(topic, seenAs(presence.User{ID: phone, Name: "third"}))
	want("third", hidden.Visibility)
	follower.wantsDiffs("+"+string(phone), "~"+string(phone), "~"+string(phone), "~"+string(phone))
}

// Scenario 24: roster and diff hold exactly the profile that the site gave, also one of the
// greatest length.
func everyField(tr *trial) {
	tr.follow(presence.Site)
	long := presence.User{ID: "long", Name: strings.Repeat("é", presence.MaxProfileLen/2), Status: presence.Online}
	bare := presence.User{ID: "bare", Status: presence.Online}
	null := presence.User{ID: "null", Data: json.RawMessage("null"), Status: presence.Online}
	for i, want := range []presence.User{full("u"), long, bare, null} {
		tr.do(presence.Site, joinAs(want, presence.Holder("a."+string(rune('1'+i)))))
		if got := tr.read(presence.Site).members[want.ID]; !sameMember(got, presence.Member{User: want}) || got.Hidden {
			tr.Errorf("the roster has %+v, want %+v", got.User, want)
		}
	}
}

// An update of a user who is not online lists nobody. A join that comes late finds it.
func updateNobody(tr *trial) {
	site := tr.follow(presence.Site)
	tr.do(presence.Site, update(full("u")), status("u", presence.Away))
	site.wantsDiffs()
	tr.do(presence.Site, join("u", "a.1"))
	if got := tr.read(presence.Site).members["u"].Status; got != presence.Away {
		tr.Errorf("who came after the update has status %q, want away", got)
	}
	tr.pass(ttl + slack)
	tr.do(presence.Site, update(full("u")))
	site.wants("+u -u")
	tr.wantOnline(presence.Site, "")
}
