package presencetest

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

func eraseCases() []ruleCase {
	return []ruleCase{
		{"rule 10", "nothing is kept of an erased user", erased},
		{"rule 10", "a profile is exported as it is kept", profileExported},
		{"rule 10", "only the user is erased", othersStay},
		{"rule 10", "a user who came since stays", cameSince},
		{"rule 10", "an erasure is claimed once, until it has ended", erasuresClaimed},
	}
}

// aboutErased fills a store with all that it can keep of the user "u", and "v" beside it.
func (tr *trial) aboutErased() {
	tr.Helper()
	tr.keep = presence.Keep{Names: 10, Active: true}
	tr.do(presence.Site, join("u", "a.1"), join("v", "a.2"), seen("u"), seen("v"))
	tr.do("thread:1", join("u", "a.1"), join("v", "a.2"))
	tr.do("thread:1", drop("u", "a.1"), drop("v", "a.2"))
	tr.do("thread:2", join("u", "a.1"), status("u", presence.Invisible))
	tr.do("@people", join("u\x1ephone", "a.1"), join("v\x1ephone", "a.2"), join("u\x1edesk", "a.3"))
	tr.do("@people", drop("u\x1edesk", "a.3"))
	for _, user := range []presence.UserID{"u", "v"} {
		tr.choose(tr.store, user, presence.Busy)
		if err := tr.store.Publish(tr.ctx, backend.SignOutNotice(user)); err != nil {
			tr.Fatal(err)
		}
	}
	tr.claims(tr.store, "holder", true, backend.ConsumerHeld)
	tr.commits(tr.store, backend.ConsumerHeld, backend.ConsumerStep{Holder: "holder", For: consumerHold, Set: map[string]string{
		"begun": "1", "p/site": "0", "t/site/u": "1 0 Name of u", "t/site/v": "1 0 Name of v",
		"e/0000000000000001": `{"id":"1","type":"join","topic":"site","user":"u","name":"Name of u","at":1}`,
		"e/0000000000000002": `{"id":"2","type":"join","topic":"site","user":"v","name":"Name of v","at":1}`,
	}})
}

// export returns what is kept of a user, as JSON.
func (tr *trial) export(user presence.UserID) map[string]string {
	tr.Helper()
	kept, err := tr.peer.ExportUser(tr.ctx, user)
	if err != nil {
		tr.Fatal(err)
	}
	all := make(map[string]string)
	for _, k := range kept {
		text, err := json.Marshal(k.Data)
		if err != nil || k.Part == "" || k.Retention == "" {
			tr.Errorf("got part %+v and error %v, want one with a name, a retention and data", k, err)
		}
		all[k.Part] = string(text)
	}
	return all
}

func (tr *trial) erase(user presence.UserID, ago time.Duration) {
	tr.Helper()
	if err := tr.store.EraseUser(tr.ctx, backend.Erasure{User: user, Ago: ago}); err != nil {
		tr.Fatal(err)
	}
}

// Rule 10: what is exported before is gone after. Followers see the user leave.
func erased(tr *trial) {
	tr.aboutErased()
	nobody, before := tr.export("nobody"), tr.export("u")
	for part, was := range before {
		if was == nobody[part] && part != "notices" { // a store whose notices end with the process has none
			tr.Errorf("the export of %s is %s: as that of a user who never was (rule 10)", part, was)
		}
	}
	site, _ := tr.watch(tr.peer, presence.Site)
	thread, _ := tr.watch(tr.peer, "thread:2")
	tr.erase("u", 0)
	tr.told(site, "-u")
	tr.told(thread, "")
	for part, is := range tr.export("u") {
		if is != nobody[part] {
			tr.Errorf("after the erasure the export of %s is %s, want %s (rule 10)", part, is, nobody[part])
		}
	}
	tr.wantOnline(presence.Site, "v")
	tr.wantOnline("@people", "v\x1ephone")
	tr.wantNames(presence.Site, day, "+v")
	for _, topic := range []presence.Topic{presence.Site, "thread:1", "thread:2", "@people"} {
		log, err := tr.store.Log(tr.ctx, topic, "")
		if err != nil {
			tr.Fatal(err)
		}
		for _, d := range log {
			if (backend.Erasure{User: "u"}).NamesDiff(d) {
				tr.Errorf("the log of %s still has %+v (rule 10)", topic, d)
			}
		}
	}
	for key, value := range tr.record(tr.peer, consumerName) {
		if (backend.Erasure{User: "u"}).NamesEntry(key, value) {
			tr.Errorf("the consumer's record still has %s = %s (rule 10)", key, value)
		}
	}
	tr.do(presence.Site, join("w", "a.4"))
	tr.told(site, "-u +w")
	tr.erase("u", slack) // a second time changes nothing
	tr.told(site, "-u +w")
}

// Rule 10: a profile is kept with each topic in which the user is online, and with each name.
func profileExported(tr *trial) {
	tr.keep = presence.Keep{Names: 10, Active: true}
	u := presence.User{ID: "u", Name: "Name of u", Avatar: "/u.png", URL: "/users/u", Group: "staff", Data: json.RawMessage(`{"likes":"tea"}`)}
	tr.do(presence.Site, joinAs(u, "a.1"), seenAs(u))
	wants := func(part string) {
		tr.Helper()
		got := tr.export("u")[part]
		for _, want := range []string{`"name":"Name of u"`, `"avatar":"/u.png"`, `"url":"/users/u"`, `"group":"staff"`, `"data":{"likes":"tea"}`, `"active":"`} {
			if !strings.Contains(got, want) {
				tr.Errorf("the export of %s is %s, want %s in it (rule 10)", part, got, want)
			}
		}
	}
	wants("online")
	wants("recent_names")
	tr.do(presence.Site, drop("u", "a.1"))
	wants("recent_names")
}

// told checks all changes that were delivered.
func (tr *trial) told(box *mailbox[backend.Diff], want string) {
	tr.Helper()
	got := ""
	told := func() bool {
		var all []change
		for _, d := range box.got() {
			all = append(all, changes(d)...)
		}
		got = line(all)
		return got == want
	}
	if !soon(told) {
		tr.Fatalf("got changes %q, want %q (rule 10)", got, want)
	}
}

// Rule 10: of users whose ids look alike, too.
func othersStay(tr *trial) {
	tr.aboutErased()
	tr.do(presence.Site, join("uu", "a.5"), join("acme\x1du", "a.6"), join("u/v", "a.7"), join("*", "a.8"))
	want := make(map[presence.UserID]map[string]string)
	for _, user := range []presence.UserID{"v", "uu", "acme\x1du", "u/v", "*"} {
		want[user] = tr.export(user)
	}
	tr.erase("u", 0)
	for user, before := range want {
		for range 10 { // each time in the same order
			for part, is := range tr.export(user) {
				if is != before[part] {
					tr.Errorf("%s of %q: got %s, want %s as before (rule 10)", part, user, is, before[part])
				}
			}
		}
	}
}

// Rule 10: a session that began after the erasure stays.
func cameSince(tr *trial) {
	tr.aboutErased()
	tr.erase("u", 0)
	tr.advance(slack)
	tr.do(presence.Site, join("u", "a.9"))
	site, _ := tr.watch(tr.peer, presence.Site)
	tr.advance(slack)
	tr.erase("u", 2*slack-time.Second)
	tr.wantOnline(presence.Site, "u v")
	tr.erase("u", time.Second)
	tr.told(site, "-u")
	if text := tr.export("u")["online"]; strings.Contains(text, "site") {
		tr.Errorf("got %s, want nothing: the session began before the erasure (rule 10)", text)
	}
}

// Rule 10: a list that outlives its nodes.
func erasuresClaimed(tr *trial) {
	const hold = time.Minute
	first, err := tr.store.AddErasure(tr.ctx, "u", hold)
	if err != nil || first.User != "u" {
		tr.Fatalf("got %+v and error %v, want u", first, err)
	}
	claims := func(want int) (e backend.Erasure) {
		tr.Helper()
		if p, err := tr.peer.Poll(tr.ctx, backend.Poll{}); err != nil || p.Erasures != (want > 0) {
			tr.Errorf("got %+v, %v, want erasures: %v", p, err, want > 0)
		}
		claimed, err := tr.peer.ClaimErasures(tr.ctx, 10, hold)
		if err != nil || len(claimed) != want {
			tr.Fatalf("got %+v and error %v, want %d", claimed, err, want)
		}
		if want == 1 {
			e = claimed[0]
		}
		return e
	}
	claims(0)
	tr.advance(hold + slack)
	if e := claims(1); e.User != "u" || e.ID != first.ID || e.Ago < hold || e.Ago > hold+2*slack {
		tr.Errorf("got %+v, want %+v of %v ago", e, first, hold+slack)
	}
	claims(0)
	second, err := tr.peer.AddErasure(tr.ctx, "u", hold)
	if err != nil || second.ID == first.ID {
		tr.Fatalf("got %+v and error %v, want another one than %+v", second, err, first)
	}
	end := func(e backend.Erasure) {
		tr.Helper()
		if err := tr.store.EndErasure(tr.ctx, e); err != nil {
			tr.Fatal(err)
		}
	}
	end(first) // it was replaced
	tr.advance(hold + slack)
	end(claims(1))
	tr.advance(hold + slack)
	claims(0)
}
