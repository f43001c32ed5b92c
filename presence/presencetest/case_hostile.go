package presencetest

import (
	"slices"
	"strings"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

func hostileCases() []ruleCase {
	return []ruleCase{
		{"user ids", "every valid id is somebody of its own", hostileIDs},
		{"user ids", "every valid topic is a topic of its own", hostileTopics},
	}
}

// hostile are valid ids that are awkward somewhere: in JavaScript, in Lua, in a glob, in a
// key made by concatenation, in a store that folds case or trims spaces.
func hostile() []presence.UserID {
	ids := []presence.UserID{
		"__proto__", "constructor", "hasOwnProperty", "toString", "prototype",
		"web", "grace", "a.1", "nil", "null", "true", "0", "-1", "1e3", "0x10", "inf", "nan", "user", "u",
		"u:web", "u|web", "u web", "u/web", "u,web", "u.web", "u\u241fweb", "u{web}", "{u}", "u:", ":u", "u::",
		"U", "ú", "u\u0301", "u ", " u", " ", "*", "?", "[a-z]", "\\", "\\0", "%00", "%s", "'", "\"", "`", "$1", "{{.}}",
		"<script>alert(1)</script>", "&amp;", "\u2028", "\u00a0", "\u202eu", "\ufeffu", "u\u200b", "\ufffd",
		"😀", "👨‍👩‍👧‍👦", "日本語", "عربي",
		presence.UserID(strings.Repeat("😀", 32)), presence.UserID(strings.Repeat("x", 128)), presence.UserID(strings.Repeat("x", 127)),
		presence.UserID(strings.Repeat("x", 127) + "y"),
		"acme", "acmeu", presence.UserID("u").In("acme"), presence.UserID("u").In("globex"), // users of tenants
		presence.UserID(strings.Repeat("x", 128)).In(strings.Repeat("t", presence.MaxTenantLen)),
	}
	slices.Sort(ids)
	return ids
}

// Scenario 23: each user joins, is listed, is seen, beats and leaves, and no other user
// does. All have connections of the same names.
func hostileIDs(tr *trial) {
	all := hostile()
	site := tr.follow(presence.Site)
	var joins, beats []backend.Op
	for _, id := range all {
		if err := named(id).ValidateInside(); err != nil {
			tr.Fatalf("%q is no valid user: %v", id, err)
		}
		joins = append(joins, joinAs(having(id, presence.Online), "a.1"), seen(id))
		beats = append(beats, beat(id, "a.1"))
	}
	tr.do(presence.Site, joins...)
	tr.do(presence.Site, beats...)
	site.read()
	if got := tr.read(presence.Site).names(); !slices.Equal(got, all) {
		tr.Fatalf("online are %q, want %q", got, all)
	}
	if got := tr.counts(presence.Site).Recent; got != len(all) {
		tr.Errorf("recent is %d, want %d", got, len(all))
	}
	for i, id := range all {
		tr.do(presence.Site, status(id, presence.Away))
		tr.do(presence.Site, drop(id, "a.1"))
		site.wantsDiffs("~"+string(id), "-"+string(id))
		if got := tr.read(presence.Site).names(); !slices.Equal(got, all[i+1:]) {
			tr.Fatalf("after %q left, online are %q, want %q", id, got, all[i+1:])
		}
		if s := tr.sighting(presence.Site, id); s.Online || s.LastSeen.IsZero() {
			tr.Errorf("sighting of %q is %+v, want offline with a last seen", id, s)
		}
	}
}

// Topics with every allowed byte, and the longest topic.
func hostileTopics(tr *trial) {
	long := strings.Repeat("t", presence.MaxTopicLen-1)
	topics := []presence.Topic{
		"-", "_", ".", ":", "::", "..", "a:b", "a:", ":a", "a", "A", "0", "-1", "__proto__", "log", "site:log", "site.log",
		"index", "notices", "check", "meta", // as a store may call keys of its own
		"site", "Site", "site:", presence.Topic(long + "a"), presence.Topic(long + "b"),
	}
	for _, topic := range topics {
		if _, err := presence.ParseTopic(string(topic)); err != nil {
			tr.Fatal(err)
		}
	}
	for _, tenant := range []string{"acme", "globex", "site"} {
		topics = append(topics, presence.Site.In(tenant), presence.Topic("index").In(tenant))
	}
	for i, topic := range topics {
		tr.do(topic, join(ghost(i), "a.1"), seen(ghost(i)))
	}
	for i, topic := range topics {
		tr.wantOnline(topic, string(ghost(i)))
		if s, err := tr.store.Sightings(tr.ctx, topic, ghost((i+1)%len(topics))); err != nil || !nothing(s[0]) {
			tr.Errorf("%s: sighting of another topic's user is %+v, %v, want none", topic, s, err)
		}
	}
	tr.pass(period + slack)
	for _, topic := range topics {
		tr.wantOnline(topic, "")
	}
}
