package presence_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
)

// choose sets a status that must be taken.
func choose(t *testing.T, tracker *presence.Tracker, id presence.UserID, status presence.Status) {
	t.Helper()
	if err := tracker.SetStatus(t.Context(), id, status); err != nil {
		t.Fatal(err)
	}
}

// Invisible stays chosen, whatever happens to the user's leases and to the nodes:
// nobody is told of the user again.
func TestInvisibleLasts(t *testing.T) {
	for name, happens := range map[string]func(t *testing.T, store presence.Store, a *presence.Tracker){
		"signing out and in": func(t *testing.T, _ presence.Store, a *presence.Tracker) {
			if err := a.SignOut(t.Context(), "alice"); err != nil {
				t.Fatal(err)
			}
		},
		"eleven minutes away": func(t *testing.T, _ presence.Store, a *presence.Tracker) {
			a.Connections("alice")
			time.Sleep(11 * time.Minute)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := memstore.New()
				a := start(t, store, presence.Config{Node: "a"})
				w := openPage(t, a, presence.ConnectOptions{})
				c := connect(t, a, presence.ConnectOptions{Visitor: visitor("alice")})
				w.settle()
				w.read()
				choose(t, a, "alice", presence.Invisible)
				w.want("diff + -alice")
				c.Drop()
				happens(t, store, a)
				started := start(t, store, presence.Config{Node: "b"}) // knows nothing
				for _, node := range []*presence.Tracker{a, started} {
					node.Seen(presence.Site, user("alice"))
					connect(t, node, presence.ConnectOptions{Visitor: visitor("alice")})
				}
				time.Sleep(30 * time.Second)
				w.want()
				choose(t, started, "alice", presence.Online)
				w.want("diff +alice -")
			})
		})
	}
}

// While nobody can tell what a user chose, the user is not announced; others, of whom
// it is known, are.
func TestNotAnnouncedUntilTheChoiceIsKnown(t *testing.T) {
	down := errors.New("the table is locked")
	for name, fail := range map[string]func() (presence.Status, error){
		"error":          func() (presence.Status, error) { return "", down },
		"panic":          func() (presence.Status, error) { panic("no rows") },
		"unknown status": func() (presence.Status, error) { return "hiding", nil },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var broken atomic.Bool
				broken.Store(true)
				a := start(t, memstore.New(), presence.Config{
					Logger: slog.New(slog.DiscardHandler),
					Status: func(_ context.Context, id presence.UserID) (presence.Status, error) {
						if id == "bob" || !broken.Load() {
							return map[presence.UserID]presence.Status{"carol": presence.Invisible}[id], nil
						}
						return fail()
					},
				})
				w := openPage(t, a, presence.ConnectOptions{})
				w.want("state ")
				a.Seen(presence.Site, user("alice"))
				a.Seen(presence.Site, user("carol"))
				a.Seen(presence.Site, user("bob"))
				w.want("diff +bob -")
				time.Sleep(20 * time.Second)
				w.want()
				broken.Store(false)
				time.Sleep(2 * time.Second)
				w.want("diff +alice -") // and never carol
			})
		})
	}
}

// A table that hangs holds up neither pages, nor other users, nor the end of the node.
func TestStatusTableHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := start(t, memstore.New(), presence.Config{
			Logger: slog.New(slog.DiscardHandler),
			Status: func(ctx context.Context, id presence.UserID) (presence.Status, error) {
				if id == "alice" {
					<-ctx.Done()
				}
				return "", ctx.Err()
			},
		})
		w := openPage(t, a, presence.ConnectOptions{})
		w.want("state ")
		began := time.Now()
		a.Seen(presence.Site, user("alice"))
		if waited := time.Since(began); waited > 0 {
			t.Errorf("a page view waited %v, want no wait", waited)
		}
		time.Sleep(time.Minute)
		a.Seen(presence.Site, user("bob"))
		time.Sleep(5 * time.Second)
		w.want("diff +bob -")
	})
}

// A call of the site's table that never returns holds up its own user alone.
func TestStatusTableNeverReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		release := make(chan struct{})
		a := start(t, memstore.New(), presence.Config{
			Logger: slog.New(slog.NewTextHandler(&log, nil)),
			Status: func(_ context.Context, id presence.UserID) (presence.Status, error) {
				if id == "alice" {
					<-release
				}
				return "", nil
			},
		})
		w := openPage(t, a, presence.ConnectOptions{})
		w.want("state ")
		a.Seen(presence.Site, user("alice"))
		a.Seen(presence.Site, user("bob"))
		w.want("diff +bob -")
		time.Sleep(3 * time.Second)
		a.Seen(presence.Site, user("carol"))
		w.want("diff +carol -")
		if !strings.Contains(log.String(), "nobody can tell what users chose") {
			t.Errorf("got log %q, want a line about it", log.String())
		}
		close(release)
		time.Sleep(3 * time.Second)
		w.want("diff +alice -")
	})
}

// What waits for a choice keeps its order and its end: who signed out meanwhile is
// not announced, and a closed tab is not online for minutes.
func TestEndsBeforeTheChoiceIsKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faults := presencetest.NewFaults(memstore.New())
		a := start(t, faults, presence.Config{})
		w := openPage(t, a, presence.ConnectOptions{})
		w.want("state ")
		faults.Break(presencetest.Fault{Err: errDown}, presencetest.CallStatuses)
		a.Seen(presence.Site, user("signs out"))
		a.Seen(presence.Site, user("closes"))
		a.Seen(presence.Site, user("stays"))
		c := connect(t, a, presence.ConnectOptions{Visitor: visitor("closes")})
		connect(t, a, presence.ConnectOptions{Visitor: visitor("stays")})
		c.Close()
		if err := a.SignOut(t.Context(), "signs out"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Second)
		faults.Heal()
		time.Sleep(2 * time.Second)
		w.want("diff +stays -")
		time.Sleep(10 * time.Minute)
		w.want()
	})
}

// A browser that remembers Invisible hides its user where nobody knows better, and
// only there.
func TestVeiled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := start(t, memstore.New(), presence.Config{})
		w := openPage(t, a, presence.ConnectOptions{})
		w.want("state ")
		veiled := user("alice")
		veiled.Veiled = true
		a.Seen(presence.Site, veiled)
		connect(t, a, presence.ConnectOptions{Visitor: presence.Visitor{User: veiled}})
		w.want()
		choose(t, a, "alice", presence.Away)
		w.want("diff +alice -")
		connect(t, a, presence.ConnectOptions{Visitor: presence.Visitor{User: veiled}}).Close()
		w.want()
	})
}

// To others idle and away are the same: turning from one to the other is no diff.
func TestFromIdleToAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := start(t, memstore.New(), presence.Config{})
		w := openPage(t, a, presence.ConnectOptions{})
		c := connect(t, a, presence.ConnectOptions{Visitor: visitor("alice"), Idle: true})
		w.settle()
		time.Sleep(6 * time.Minute)
		if err := a.Attend(c.Token(), visitor("alice"), true); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		w.read()
		if m, _ := view(t, a).Member("alice"); m.Status != presence.Idle {
			t.Fatalf("got status %q, want idle", m.Status)
		}
		choose(t, a, "alice", presence.Away)
		w.want()
		if m, _ := view(t, a).Member("alice"); m.Status != presence.Away {
			t.Errorf("got status %q, want away", m.Status)
		}
		choose(t, a, "alice", presence.Busy)
		w.want("diff +alice -")
	})
}

func view(t *testing.T, tracker *presence.Tracker) *presence.View {
	t.Helper()
	v, err := tracker.View(t.Context(), presence.Site)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
