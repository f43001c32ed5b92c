package storetest

import (
	"context"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/redisstore"
	"github.com/rollcall-go/rollcall/presence/track"
)

// Tenants puts equal users and topics of two tenants, and of no tenant, online at two nodes of one server or
// cluster. It checks that the actions of one do not affect the others (rule T3).
func Tenants(t *testing.T, client redis.UniversalClient) {
	var nodes [2]*track.Tracker
	for i := range nodes {
		store := redisstore.New(client, redisstore.Config{})
		tracker, err := track.New(store, track.Config{
			Logger: slog.New(slog.NewTextHandler(io.Discard, nil)), Kinds: map[string]presence.Kind{"site": {Recent: 10}},
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			tracker.Close(context.Background())
			store.Close()
		})
		nodes[i] = tracker
	}
	alice := presence.UserID("alice")
	tenants := []string{"", "acme", "acme-2", "globex"}
	topics := []presence.Topic{"site", "thread:1", "index", "notices"}
	for _, tenant := range tenants {
		visitor := presence.Visitor{Tenant: tenant, User: presence.User{ID: alice, Name: "of " + tenant}}.Inside()
		o := track.ConnectOptions{Visitor: visitor}
		for _, topic := range topics {
			o.Topics = append(o.Topics, topic.In(tenant))
		}
		c, err := nodes[0].Connect(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		nodes[1].Seen(presence.Site.In(tenant), presence.User{ID: presence.UserID("bob").In(tenant)}, presence.Device{})
		nodes[1].SeenGuest(presence.Site.In(tenant), string(presence.UserID("guest-0000000001").In(tenant)))
	}
	shows := func(what string, node *track.Tracker, topic presence.Topic, want string) {
		t.Helper()
		var got string
		for end := time.Now().Add(Patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
			view, err := node.View(t.Context(), topic)
			if err != nil {
				continue
			}
			var users []string
			for _, m := range view.Newest(10) {
				if m.ID.Tenant() != topic.Tenant() {
					t.Fatalf("T3: %s: %q has %q", what, topic, m.ID)
				}
				users = append(users, string(m.ID.Local())+" "+string(m.Status))
			}
			slices.Sort(users) // on a busy machine they may come in either order
			if got = strings.Join(users, ", "); got == want {
				return
			}
		}
		t.Fatalf("T3: %s: got %q in %q, want %q", what, got, topic, want)
	}
	for _, tenant := range tenants {
		for _, node := range nodes {
			shows("at the beginning", node, presence.Site.In(tenant), "alice online, bob online")
			for _, topic := range topics[1:] {
				shows("at the beginning", node, topic.In(tenant), "alice online")
			}
		}
		counts, err := nodes[1].Counts(t.Context(), presence.Site.In(tenant), presence.Topic("thread:1").In(tenant))
		if err != nil || counts[0].Total != 2 || counts[1].Total != 1 {
			t.Errorf("T3: %q: got %+v (%v), want two users and one", tenant, counts, err)
		}
		page, err := nodes[1].Recent(t.Context(), presence.Site.In(tenant), backend.RecentQuery{Limit: 10})
		if err != nil || len(page.Users) == 0 {
			t.Errorf("%q: got %+v (%v), want bob", tenant, page, err)
		}
		for _, u := range page.Users {
			if u.ID.Tenant() != tenant {
				t.Errorf("T3: %q: %q is recent", tenant, u.ID)
			}
		}
		got, err := nodes[1].Staff().Topics(t.Context(), tenant, "", 100)
		if err != nil || len(got) != len(topics) {
			t.Errorf("T3: %q: got the topics %q (%v), want %q", tenant, got, err, topics)
		}
	}
	if err := nodes[1].SetStatus(t.Context(), alice.In("acme"), presence.Busy); err != nil {
		t.Fatal(err)
	}
	shows("acme's alice is busy", nodes[0], presence.Topic("thread:1").In("acme"), "alice busy")
	if err := nodes[1].SignOut(t.Context(), alice.In("globex")); err != nil {
		t.Fatal(err)
	}
	shows("globex's alice has signed out", nodes[0], presence.Topic("thread:1").In("globex"), "")
	for tenant, want := range map[string]string{"": "alice online", "acme": "alice busy", "acme-2": "alice online", "globex": ""} {
		for _, node := range nodes {
			for _, topic := range topics[1:] {
				shows("at the end", node, topic.In(tenant), want)
			}
		}
	}
}
