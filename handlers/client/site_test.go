package client_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/handlers/client"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
)

// site starts a real server over a store; stop ends it as a deploy does.
func (n *network) site(store backend.Store) *track.Tracker {
	tracker, err := track.New(store, track.Config{})
	if err != nil {
		n.t.Fatal(err)
	}
	handler := handlers.New(tracker, handlers.Config{})
	n.serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := presence.Visitor{User: presence.User{ID: presence.UserID(r.Header.Get("X-User"))}}
		handler.ServeHTTP(w, r.WithContext(presence.ContextWithVisitor(r.Context(), v)))
	}))
	stop := n.stop
	n.stop = func() {
		if err := tracker.Close(context.Background()); err != nil {
			n.t.Error(err)
		}
		stop()
	}
	return tracker
}

func see(tracker *track.Tracker, users ...string) {
	for _, id := range users {
		tracker.Seen(presence.Site, presence.User{ID: presence.UserID(id), Name: strings.ToUpper(id)}, presence.Device{})
		time.Sleep(time.Second)
	}
}

// A watcher sees joins and leaves. After a restart that loses all data it reports the users
// who are gone.
func TestFollowARealSite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t)
		tracker := n.site(memstore.New())
		see(tracker, "alice", "bob")

		ctx, cancel := context.WithCancel(t.Context())
		var said []string
		var roster client.Roster
		done := make(chan struct{})
		go func() {
			defer close(done)
			for e, err := range client.Follow(ctx, "http://forum.test/presence", []presence.Topic{presence.Site}, client.Options{HTTP: n.http}) {
				if err != nil {
					t.Error(err)
					return
				}
				change := roster.Apply(e)
				for _, m := range change.Joined {
					said = append(said, "+"+m.Name)
				}
				for _, m := range change.Updated {
					said = append(said, "~"+m.Name)
				}
				for _, l := range change.Left {
					said = append(said, "-"+l.User.Name)
				}
			}
		}()
		time.Sleep(time.Second)
		see(tracker, "carol")
		tracker.Seen(presence.Site, presence.User{ID: "bob", Name: "Robert"}, presence.Device{})
		time.Sleep(time.Second)
		tracker.SignOut(t.Context(), "alice")
		time.Sleep(20 * time.Minute) // over the age of a stream: it resumes

		n.stop() // a deploy
		time.Sleep(time.Minute)
		tracker = n.site(memstore.New())
		time.Sleep(time.Minute) // the watcher is back, whatever its jitter
		see(tracker, "dave", "carol")
		time.Sleep(time.Minute)
		cancel()
		<-done
		if got, want := fmt.Sprint(said), "[+BOB +ALICE +CAROL ~Robert -ALICE -CAROL -Robert +DAVE +CAROL]"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if got := roster.Users(presence.Site); len(got) != 2 || roster.Totals(presence.Site).Total != 2 || !roster.Complete(presence.Site) {
			t.Errorf("got roster %v of %+v, want Carol and Dave", got, roster.Totals(presence.Site))
		}
	})
}

// A watcher that holds is itself online, one that only watches is not.
func TestHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t)
		n.site(memstore.New())
		for _, hold := range []bool{false, true} {
			for e, err := range client.Follow(t.Context(), "http://forum.test/presence", []presence.Topic{presence.Site}, client.Options{HTTP: n.http, Hold: hold, Header: map[string]string{"X-User": "alice"}}) {
				if err != nil {
					t.Fatal(err)
				}
				if s, ok := e.(client.State); ok {
					if (len(s.Users) == 1) != hold {
						t.Errorf("hold %v: got %v online", hold, s.Users)
					}
					break
				}
			}
		}
	})
}

func member(id, name string, second int) presence.Member {
	return presence.Member{User: presence.User{ID: presence.UserID(id), Name: name}, Since: time.Unix(int64(second), 0)}
}

func TestRoster(t *testing.T) {
	var r client.Roster
	alice, bob, carol := member("alice", "Alice", 1), member("bob", "Bob", 2), member("carol", "Carol", 3)
	totals := func(cursor presence.Cursor, total int) client.Totals {
		return client.Totals{Topic: "site", Cursor: cursor, Total: total, Guests: 9}
	}
	for _, step := range []struct {
		event    client.Event
		change   string // joined, updated, left
		users    string
		complete bool
	}{
		{client.Welcome{}, "[] [] []", "[]", false},
		{client.State{Totals: totals("1", 2), Users: []presence.Member{bob, alice}}, "[bob alice] [] []", "[bob alice]", true},
		{client.Diff{Topic: "site", Cursor: "2", Total: 2, Joins: []presence.Member{carol}, Leaves: []backend.Departure{{ID: "alice"}, {ID: "nobody"}}}, "[carol] [] [alice nobody]", "[carol bob]", true},
		{client.Diff{Topic: "site", Cursor: "3", Total: 2, Joins: []presence.Member{member("bob", "Robert", 2)}}, "[] [bob] []", "[carol bob]", true},
		{client.State{Totals: totals("4", 2), Users: []presence.Member{carol, alice}}, "[alice] [] [bob]", "[carol alice]", true},
		{client.State{Totals: totals("5", 9), Users: []presence.Member{carol}, Truncated: true}, "[] [] []", "[carol]", false},
		{client.Heartbeat{Totals: totals("5", 9)}, "[] [] []", "[carol]", false},
		{client.Count{Totals: totals("6", 20000)}, "[] [] []", "[]", false},
		{client.State{Totals: totals("7", 1), Users: []presence.Member{alice}}, "[alice] [] []", "[alice]", true},
		{client.Lost{}, "[] [] []", "[alice]", true},
	} {
		c := r.Apply(step.event)
		var left []presence.UserID
		for _, l := range c.Left {
			left = append(left, l.User.ID)
		}
		if got := fmt.Sprint(ids(c.Joined), ids(c.Updated), left); got != step.change {
			t.Errorf("%s: got change %s, want %s", word(step.event), got, step.change)
		}
		if got := fmt.Sprint(ids(r.Users("site"))); got != step.users || r.Complete("site") != step.complete {
			t.Errorf("%s: got %s, complete %v, want %s, %v", word(step.event), got, r.Complete("site"), step.users, step.complete)
		}
	}
	if got := r.Totals("site"); got != totals("7", 1) || r.Cursors()["site"] != "7" {
		t.Errorf("got %+v and %v, want the latest", got, r.Cursors())
	}
	if r.Users("other") != nil || r.Complete("other") || r.Totals("other").Topic != "other" {
		t.Error("got something of a topic that nobody told of, want nothing")
	}
}

func ids(members []presence.Member) []presence.UserID {
	all := make([]presence.UserID, 0, len(members))
	for _, m := range members {
		all = append(all, m.ID)
	}
	return all
}

// Whatever bytes a server sends, the roster is one that could be, and Follow
// ends when it should.
func FuzzFollow(f *testing.F) {
	f.Add(welcome + stateOne + diff("x.1", "x.2", "bob"))
	f.Add(welcome + stateOne + message("count", `{"topic":"site","cursor":"x.9","total":20000}`))
	f.Add("data: {}\r\n\r\nevent: state\r\n\r\n: \n\n")
	f.Add(strings.ReplaceAll(stateOne, "alice", `__proto__`))
	f.Fuzz(func(t *testing.T, text string) {
		synctest.Test(t, func(t *testing.T) {
			n := newNetwork(t)
			n.serve(script(text))
			var roster client.Roster
			for e, err := range client.Follow(t.Context(), "http://forum.test/presence", []presence.Topic{presence.Site}, client.Options{HTTP: n.http, MaxEvent: 64 << 10}) {
				if err != nil {
					return // 410, the second time
				}
				roster.Apply(e)
				users := roster.Users(presence.Site)
				if !slices.IsSortedFunc(users, presence.NewestFirst) {
					t.Errorf("got %v, want the newest first", users)
				}
				for _, m := range users {
					if err := (presence.User{ID: m.ID, Name: m.Name}).Validate(); err != nil {
						t.Error(err)
					}
				}
			}
			t.Error("the events have ended without a word")
		})
	})
}
