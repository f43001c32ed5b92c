package feed_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed"
	"github.com/rollcall-go/rollcall/presence/track"
)

// followAs is follow for a visitor of a tenant, as identify gives one.
func followAs(t *testing.T, n *node, v presence.Visitor, topic presence.Topic, from presence.Cursor) *page {
	t.Helper()
	conn, err := n.tracker.Connect(t.Context(), track.ConnectOptions{
		Visitor: v.Inside(), Topics: []presence.Topic{topic.In(v.Tenant)}, Cursor: from,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	return &page{t, conn}
}

func userOf(tenant string) presence.Visitor {
	return presence.Visitor{Tenant: tenant, User: presence.User{ID: "alice"}}
}

// T3: pages of two tenants follow equal names on two nodes, and each hears of its own alone.
func TestPagesOfTenants(t *testing.T) {
	inFleet(t, feed.Config{}, func(t *testing.T, f *fleet) {
		none := follow(t, f.b, "alice", feed.InboxTopic, "")
		acme := followAs(t, f.b, userOf("acme"), feed.InboxTopic, "")
		globex := followAs(t, f.b, userOf("globex"), feed.InboxTopic, "")
		guest := followAs(t, f.b, presence.Visitor{Tenant: "acme", Guest: "g"}, "feed:thread:1", "")
		other := followAs(t, f.b, presence.Visitor{Tenant: "globex", Guest: "g"}, "feed:thread:1", "")
		for _, p := range []*page{none, acme, globex} {
			p.want("at first", "state 0/0")
		}
		guest.want("at first", "state")
		other.want("at first", "state")
		send(t, f.a, feed.Message{Tenant: "acme", To: []presence.UserID{"alice"}, ID: "1", Text: "for acme"},
			feed.Message{Tenant: "globex", Feed: "thread:1", ID: "1", Text: "a post of globex"})
		acme.want("after its message", "diff 1/1 1:for acme:unread")
		other.want("after its post", "diff 1:a post of globex:")
		none.want("after others' messages")
		globex.want("after others' messages")
		guest.want("after others' messages")
		send(t, f.a, to("alice", "1", "for none"))
		none.want("after its message", "diff 1/1 1:for none:unread")
		acme.want("after others' messages")
		if _, err := f.a.Mark(t.Context(), feed.Inbox("alice").In("acme"), feed.Mark{As: feed.Read, Pos: []int64{1}}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond)
		acme.want("after its mark", "diff 0/0 1:for acme:read")
		none.want("after the mark of another")
	})
}

// T1: no event, page or text of the site names a tenant. T4: Actors has names as they were given.
func TestDataOfTenants(t *testing.T) {
	var named []string
	actors := func(names []string, others int) string {
		named = append(named, names...)
		return feed.EnglishActors(names, others)
	}
	inFleet(t, feed.Config{Actors: actors}, func(t *testing.T, f *fleet) {
		inbox := followAs(t, f.a, userOf("acme"), feed.InboxTopic, "")
		room := followAs(t, f.a, userOf("acme"), "feed:thread:1", "")
		send(t, f.a, feed.Message{Tenant: "acme", Feed: "thread:1", From: "bob", Text: "post"})
		var events []presence.Event
		take := func() {
			synctest.Wait()
			events = append(append(events, inbox.conn.Events(nil)...), room.conn.Events(nil)...)
		}
		take()
		send(t, f.a, feed.Message{Tenant: "acme", To: []presence.UserID{"alice"}, From: "bob", Text: "{actors} replied", About: "thread:1"},
			feed.Message{Tenant: "acme", Feed: "thread:1", From: "bob", Text: "post"})
		take()
		for _, e := range events {
			if strings.Contains(string(e.Type)+string(e.Data)+string(e.ID), "acme") || bytes.ContainsRune(e.Data, '\x1d') || bytes.Contains(e.Data, []byte("001d")) {
				t.Errorf("got the event %s %s, want no tenant in it", e.Type, e.Data)
			}
		}
		if len(events) != 4 {
			t.Errorf("got %d events, want two states and two diffs", len(events))
		}
		for _, n := range []feed.Name{"inbox:alice", "thread:1"} {
			data, _, err := f.a.Read(t.Context(), n.In("acme"), feed.Query{})
			if err != nil || bytes.Contains(data, []byte("acme")) || !bytes.Contains(data, []byte(`"actors":["bob"]`)) || !bytes.Contains(data, []byte(`"topic":"`+string(n.Topic())+`"`)) {
				t.Errorf("got %s, %v, want bob and the local topic", data, err)
			}
		}
		if slices.ContainsFunc(named, func(name string) bool { return name != "bob" }) {
			t.Errorf("Actors was called with %q, want bob alone", named)
		}
	})
}

// T2: the cursor of another tenant's feed names nothing here, so its page gets a state.
func TestCursorsOfTenants(t *testing.T) {
	inFleet(t, feed.Config{}, func(t *testing.T, f *fleet) {
		var ms []feed.Message
		for _, tenant := range []string{"", "acme", "globex"} {
			m := to("alice", "1", "in "+tenant)
			m.Tenant = tenant
			ms = append(ms, m)
		}
		send(t, f.a, ms...) // all feeds begin at the same moment
		inbox := feed.Inbox("alice").In("acme")
		head := func(n feed.Name) feed.Head {
			h, err := f.a.Head(t.Context(), n)
			if err != nil || h.Rev != 1 {
				t.Fatalf("%q: got %+v, %v, want revision 1", n, h, err)
			}
			return h
		}
		for _, n := range []feed.Name{"inbox:alice", feed.Inbox("alice").In("globex")} {
			stolen := f.a.Cursor(n, head(n))
			followAs(t, f.a, userOf("acme"), feed.InboxTopic, stolen).want("a cursor of another tenant", "state 1/1 1:in acme:unread")
			if _, version, err := f.a.Read(t.Context(), inbox, feed.Query{Cursor: stolen}); err != nil || strings.Contains(string(stolen), string(version)) {
				t.Errorf("Read from a cursor of another tenant: got the version %q of %q, %v, want a page of its own", version, stolen, err)
			}
		}
		followAs(t, f.a, userOf("acme"), feed.InboxTopic, f.a.Cursor(inbox, head(inbox))).want("its own cursor", "heartbeat 1/1")
	})
}

// F9, T1: a hint that names another tenant's feed, or no feed at all, leads to nothing.
func TestForgedHintsOfTenants(t *testing.T) {
	inFleet(t, feed.Config{}, func(t *testing.T, f *fleet) {
		acme := followAs(t, f.b, userOf("acme"), feed.InboxTopic, "")
		acme.want("at first", "state 0/0")
		before := f.b.Stats().CatchUps
		for _, hint := range []string{"9 inbox:alice", "9 globex\x1dinbox:alice", "9 \x1dacme\x1dinbox:alice", "9 acme/inbox:alice", "9 acme\x1d", "9 acme\x1dacme\x1dinbox:alice"} {
			if err := f.a.tracker.Hint(t.Context(), hint); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Second)
		acme.want("after forged hints")
		if got := f.b.Stats().CatchUps; got != before {
			t.Errorf("forged hints led to %d reads", got-before)
		}
	})
}

// F11, T3: who is at a page of one tenant is not at a page of another, and a digest says whose
// it is by tenant and local id (T4).
func TestDigestsOfTenants(t *testing.T) {
	inFleet(t, feed.Config{}, func(t *testing.T, f *fleet) {
		followAs(t, f.a, userOf("acme"), "site", "")
		for _, tenant := range []string{"acme", "globex"} {
			m := forMail("alice", "in "+tenant)
			m.Tenant = tenant
			send(t, f.a, m)
		}
		m := &mailer{}
		m.run(t, f, 10*time.Minute)
		if len(m.mails) != 1 || m.mails[0].Tenant != "globex" || m.mails[0].User != "alice" || m.mails[0].Items[0].Text != "in globex" {
			t.Errorf("got %+v, want one mail to the alice of globex", m.mails)
		}
	})
}
