package track_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/internal/need"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
)

// What is taken inside comes out as it was, whatever a client has made up, and never belongs
// to another tenant.
func TestNamesOfTenants(t *testing.T) {
	for _, tenant := range []string{"", "acme", "a-1", strings.Repeat("x", presence.MaxTenantLen)} {
		for _, name := range []string{"site", "alice", "acme/site", "acme\x1dalice", "/", "\x1d", "", "a/b/c"} {
			topic, id := presence.Topic(name).In(tenant), presence.UserID(name).In(tenant)
			if topic.Local() != presence.Topic(name) || topic.Tenant() != tenant {
				t.Errorf("the topic %q in %q: got %q of %q", name, tenant, topic.Local(), topic.Tenant())
			}
			if id.Local() != presence.UserID(name) || id.Tenant() != tenant {
				t.Errorf("the user %q in %q: got %q of %q", name, tenant, id.Local(), id.Tenant())
			}
			if got := topic.AppendIn(nil, ""); presence.Topic(name).In(tenant) != presence.Topic(presence.Topic(name).AppendIn(nil, tenant)) {
				t.Errorf("got %q by AppendIn", got)
			}
			if got := presence.UserID(id).Local().AppendIn(nil, tenant); string(got) != string(id) {
				t.Errorf("got %q by AppendIn, want %q", got, id)
			}
		}
	}
	for tenant, want := range map[string]bool{
		"": true, "acme": true, "a-1": true, "-": true, strings.Repeat("x", 32): true,
		"Acme": false, "a.b": false, "a/b": false, "é": false, strings.Repeat("x", 33): false, presence.NoTenant: false,
	} {
		if presence.ValidTenant(tenant) != want {
			t.Errorf("%q is valid: %v, want %v", tenant, !want, want)
		}
	}
	for id, want := range map[presence.UserID]bool{
		"alice": true, "acme\x1dalice": true,
		"\x1dalice": false, "ACME\x1dalice": false, "acme\x1d": false, "acme\x1da\x1db": false, "acme\x1da\x1eb": false,
		presence.UserID("alice").In(presence.NoTenant): false, presence.UserID(strings.Repeat("a", 128)).In("acme"): true,
		presence.UserID(strings.Repeat("a", 129)).In("acme"): false,
	} {
		if err := (presence.User{ID: id}).ValidateInside(); (err == nil) != want {
			t.Errorf("%q inside: got %v, want valid %v", id, err, want)
		}
		if err := (presence.User{ID: id}).Validate(); (err == nil) != (want && id.Tenant() == "") {
			t.Errorf("%q outside: got %v", id, err)
		}
	}
	v := presence.Visitor{Tenant: "acme", User: presence.User{ID: "alice"}}
	if got := v.Inside().Outside(); got.User.ID != "alice" || v.Inside().User.ID == "alice" {
		t.Errorf("got %q inside and out", got.User.ID)
	}
}

// A user who is shown without a name is shown by the id that the site knows.
func TestDisplayNameHasNoTenant(t *testing.T) {
	if got := (presence.User{ID: presence.UserID("alice").In("acme")}).DisplayName(); got != "alice" {
		t.Errorf("got %q, want alice", got)
	}
}

// Topics of a tenant are found among those of others, in whatever order their names stand.
func TestTopicsOfTenants(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, memstore.New(), track.Config{})
		names := []presence.Topic{"site", "thread:1", "a", "zz"}
		tenants := []string{"", "a", "acme", "acme-2", "acme0", "b", "zzz"}
		for _, tenant := range tenants {
			for _, name := range names {
				tracker.Seen(name.In(tenant), presence.User{ID: presence.UserID("alice").In(tenant)}, presence.Device{})
			}
		}
		time.Sleep(time.Second)
		for _, tenant := range append(tenants, "none") {
			var want []presence.Topic
			if tenant != "none" {
				want = []presence.Topic{"a", "site", "thread:1", "zz"}
			}
			var got []presence.Topic
			for after := presence.Topic(""); ; {
				page, err := tracker.Staff().Topics(t.Context(), tenant, after, 3)
				noError(t, err)
				if len(page) == 0 {
					break
				}
				for _, topic := range page {
					got = append(got, topic.Local())
				}
				after = page[len(page)-1]
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%q: got %v, want %v", tenant, got, want)
			}
			places, err := tracker.Places(t.Context(), tenant)
			if err != nil || len(places) != len(want) {
				t.Errorf("%q: got %d places (%v), want %d", tenant, len(places), err, len(want))
			}
			for _, p := range places {
				if p.Topic.Tenant() != tenant || p.Total != 1 || p.Users[0].ID != presence.UserID("alice").In(tenant) {
					t.Errorf("T3: %q: got the place %+v", tenant, p)
				}
			}
		}
	})
}

// Nobody watches somebody of another tenant.
func TestWatchOfAnotherTenant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, memstore.New(), track.Config{Directory: presencetest.NewMemoryDirectory()})
		alice := presence.Visitor{Tenant: "acme", User: presence.User{ID: "alice"}}.Inside()
		options := track.ConnectOptions{Visitor: alice, Topics: []presence.Topic{presence.PeopleTopic.In("acme")}}
		for _, id := range []presence.UserID{"bob", presence.UserID("bob").In("globex")} {
			options.People = []presence.UserID{id}
			if _, err := tracker.Connect(t.Context(), options); !errors.Is(err, presence.ErrInvalidUser) {
				t.Errorf("T3: %q: got %v, want ErrInvalidUser", id, err)
			}
		}
		options.People = nil
		c, err := tracker.Connect(t.Context(), options)
		noError(t, err)
		defer c.Close()
		if err := c.Watch([]presence.UserID{"bob"}); !errors.Is(err, presence.ErrInvalidUser) {
			t.Errorf("T3: got %v, want ErrInvalidUser", err)
		}
	})
}

// counted counts the topics about which a store is asked.
type counted struct {
	backend.Store
	topics atomic.Int64
}

func (c *counted) Counts(ctx context.Context, topics ...presence.Topic) ([]backend.Counts, error) {
	c.topics.Store(int64(len(topics)))
	return c.Store.Counts(ctx, topics...)
}

// Ten thousand tenants with a reader each cost little, and tenants without a reader nothing:
// figures are asked of topics that somebody reads. Each costs the same, so half of them are
// enough, unless PRESENCE_LONG is set.
func TestTenThousandTenants(t *testing.T) {
	need.Slow(t, "thousands of tenants")
	const most = 8 << 10
	tenants := int64(5_000)
	if os.Getenv("PRESENCE_LONG") != "" {
		tenants = 10_000
	}
	synctest.Test(t, func(t *testing.T) {
		store := &counted{Store: memstore.New()}
		tracker := start(t, store, track.Config{MaxTopics: 2 * int(tenants)})
		heap := func() int64 {
			synctest.Wait()
			var m runtime.MemStats
			runtime.GC()
			runtime.GC()
			runtime.ReadMemStats(&m)
			return int64(m.HeapAlloc)
		}
		before := heap()
		connections := make([]*track.Connection, tenants)
		var connecting sync.WaitGroup
		for i := range connections {
			connecting.Go(func() {
				tenant := fmt.Sprint("tenant-", i)
				v := presence.Visitor{Tenant: tenant, User: presence.User{ID: "alice", Name: "Alice"}}.Inside()
				c, err := tracker.Connect(t.Context(), track.ConnectOptions{Visitor: v, Topics: []presence.Topic{presence.Site.In(tenant)}})
				if err != nil {
					t.Error(err)
					return
				}
				if events := c.Events(nil); len(events) != 1 || events[0].Type != presence.EventState {
					t.Errorf("got %d events, want a state", len(events))
				}
				connections[i] = c
			})
			if i%1000 == 999 {
				connecting.Wait()
			}
		}
		if t.Failed() {
			return
		}
		time.Sleep(2 * time.Second)
		each := (heap() - before) / tenants
		t.Logf("%d bytes a tenant", each)
		if each > most {
			t.Errorf("a tenant with one reader costs %d bytes, want %d at most", each, most)
		}
		if got := store.topics.Load(); got != tenants {
			t.Errorf("figures of %d topics are asked, want %d", got, tenants)
		}
		for _, c := range connections[10:] {
			c.Close()
		}
		time.Sleep(90 * time.Second)
		if got := store.topics.Load(); got != 10 {
			t.Errorf("figures of %d topics are asked, want those of the 10 that have readers", got)
		}
	})
}
