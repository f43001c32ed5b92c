package feed_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed"
)

// T3: equal names of two tenants are two feeds, also under their topics.
func TestNamesOfTenants(t *testing.T) {
	for _, c := range []struct {
		name   feed.Name
		tenant string
		local  feed.Name
		owner  presence.UserID
		topic  presence.Topic
	}{
		{feed.Inbox("alice"), "", "inbox:alice", "alice", "inbox"},
		{feed.Inbox("acme\x1dalice"), "acme", "inbox:alice", "acme\x1dalice", "acme/inbox"},
		{"thread:42", "", "thread:42", "", "feed:thread:42"},
		{feed.Name("thread:42").In("acme"), "acme", "thread:42", "", "acme/feed:thread:42"},
		{feed.Name("thread:42").In("42"), "42", "thread:42", "", "42/feed:thread:42"},
		{feed.Name("inbox:acme").In(""), "", "inbox:acme", "acme", "inbox"},
	} {
		n := c.name
		if err := n.Validate(); err != nil {
			t.Errorf("%q: got %v, want a valid name", n, err)
		}
		if n.Tenant() != c.tenant || n.Local() != c.local || n.Owner() != c.owner || n.Topic() != c.topic {
			t.Errorf("%q: got the tenant %q, the local name %q, the owner %q and the topic %q, want %q, %q, %q, %q",
				n, n.Tenant(), n.Local(), n.Owner(), n.Topic(), c.tenant, c.local, c.owner, c.topic)
		}
	}
}

// T1: what a client spells names a feed of its own tenant, or none.
func TestInvalidNamesOfTenants(t *testing.T) {
	for _, n := range []feed.Name{
		"\x1dthread:1", "\x1dinbox:alice", "ACME\x1dthread:1", "a/b\x1dthread:1", "acme\x1d", "acme\x1dinbox:", "acme\x1dthread:acme\x1d1",
		feed.Name("globex\x1dthread:1").In("acme"), feed.Name("globex\x1dthread:1").In(""), feed.Inbox("acme\x1dglobex\x1dalice"),
		feed.Inbox(presence.UserID("globex\x1dalice").In("acme")), feed.Name("acme/thread:1"), feed.Name("globex/thread:1").In("acme"),
		feed.Name("thread:1").In(strings.Repeat("a", 33)),
	} {
		if err := n.Validate(); !errors.Is(err, feed.ErrInvalidName) {
			t.Errorf("%q: got %v, want ErrInvalidName", n, err)
		}
	}
}

// Topic and visitor are as they are inside, and of one tenant (rules F13, T1, T3).
func TestNameOf(t *testing.T) {
	user := func(tenant string) presence.Visitor {
		return presence.Visitor{Tenant: tenant, User: presence.User{ID: "alice"}}.Inside()
	}
	guest := func(tenant string) presence.Visitor {
		return presence.Visitor{Tenant: tenant, Guest: "guest"}.Inside()
	}
	outside := presence.Visitor{Tenant: "acme", User: presence.User{ID: "alice"}}
	forged := presence.Visitor{Tenant: "acme", User: presence.User{ID: "globex\x1dalice"}}
	for _, c := range []struct {
		topic   presence.Topic
		visitor presence.Visitor
		want    feed.Name
		err     error
	}{
		{"inbox", user(""), "inbox:alice", nil},
		{"acme/inbox", user("acme"), "acme\x1dinbox:alice", nil},
		{"globex/inbox", user("globex"), "globex\x1dinbox:alice", nil},
		{"feed:thread:1", user(""), "thread:1", nil},
		{"acme/feed:thread:1", user("acme"), "acme\x1dthread:1", nil},
		{"acme/feed:thread:1", guest("acme"), "acme\x1dthread:1", nil},
		{"inbox", guest(""), "", presence.ErrGuest},
		{"acme/inbox", guest("acme"), "", presence.ErrGuest},

		{"inbox", user("acme"), "", presence.ErrInvalidTopic},
		{"acme/inbox", user(""), "", presence.ErrInvalidTopic},
		{"acme/inbox", user("globex"), "", presence.ErrInvalidTopic},
		{"acme/inbox", outside, "", presence.ErrInvalidTopic},
		{"acme/inbox", forged, "", presence.ErrInvalidTopic},
		{"/inbox", user(""), "", presence.ErrInvalidTopic},
		{"/feed:thread:1", user(""), "", presence.ErrInvalidTopic},
		{"feed:thread:1", guest("acme"), "", presence.ErrInvalidTopic},
		{"acme/feed:thread:1", guest("globex"), "", presence.ErrInvalidTopic},
		{"acme/globex/feed:thread:1", guest("acme"), "", presence.ErrInvalidTopic},
		{"acme/inbox:bob", user("acme"), "", presence.ErrInvalidTopic},
		{"acme/feed:inbox:bob", user("acme"), "", presence.ErrInvalidTopic},
		{"acme/feed:globex\x1dinbox:bob", user("acme"), "", presence.ErrInvalidTopic},
		{"acme/feed:globex\x1dthread:1", user("acme"), "", presence.ErrInvalidTopic},
		{"feed:acme\x1dthread:1", user(""), "", presence.ErrInvalidTopic},
	} {
		got, err := feed.NameOf(c.topic, c.visitor)
		if got != c.want || !errors.Is(err, c.err) {
			t.Errorf("%q for %+v: got %q, %v, want %q, %v", c.topic, c.visitor, got, err, c.want, c.err)
		}
	}
}

// T1: no name in a message says a tenant, and neither does its JSON.
func TestMessageOfATenant(t *testing.T) {
	m := feed.Message{Tenant: "acme", To: []presence.UserID{"alice"}, From: "bob", Text: "text"}
	if err := m.Validate(); err != nil {
		t.Errorf("got %v, want a valid message", err)
	}
	if text, err := json.Marshal(m); err != nil || strings.Contains(string(text), "acme") {
		t.Errorf("got %s, %v, want JSON without a tenant", text, err)
	}
	forged := feed.Message{}
	if err := json.Unmarshal([]byte(`{"Tenant":"acme","tenant":"acme","to":["alice"],"text":"text"}`), &forged); err != nil || forged.Tenant != "" {
		t.Errorf("got the tenant %q, %v of JSON, want none", forged.Tenant, err)
	}
	for field, change := range map[string]func(*feed.Message){
		"tenant is not": func(m *feed.Message) { m.Tenant = "Acme" },
		"to:":           func(m *feed.Message) { m.To[0] = m.To[0].In("globex") },
		"from is":       func(m *feed.Message) { m.From = m.From.In("globex") },
		"feed ":         func(m *feed.Message) { m.To, m.Feed = nil, feed.Name("thread:1").In("globex") },
		"about is":      func(m *feed.Message) { m.About = "globex/thread:1" },
	} {
		bad := m
		bad.To = []presence.UserID{"alice"}
		change(&bad)
		if err := bad.Validate(); !errors.Is(err, feed.ErrInvalidMessage) || !strings.Contains(err.Error(), field) {
			t.Errorf("got %v, want ErrInvalidMessage that names %q", err, field)
		}
	}
}
