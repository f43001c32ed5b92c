package track_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
)

// faulty returns a node, and its store behind faults.
func faulty(t *testing.T) (*memstore.Store, *presencetest.Faults, *track.Tracker) {
	t.Helper()
	memory := memstore.New()
	faults := presencetest.NewFaults(memory)
	return memory, faults, start(t, faults, track.Config{Node: "a", Logger: slog.New(slog.DiscardHandler)})
}

// Nobody answers what users chose for some minutes. Those whose choice is known stay, and may open pages.
func TestChoicesOutDoesNotHurtKnownUsers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory, faults, a := faulty(t)
		a.PendAtMost(50)
		w := watch(t, a)
		connect(t, a, track.ConnectOptions{Visitor: visitor("alice")})
		w.want("diff +alice -")
		faults.Break(presencetest.Fault{Err: errDown}, presencetest.CallStatuses)
		for i := range 60 {
			a.Seen(presence.Site, user(fmt.Sprint("u", i)), presence.Device{})
		}
		time.Sleep(time.Second)
		if _, err := a.Connect(t.Context(), track.ConnectOptions{Visitor: visitor("alice"), Topics: []presence.Topic{"thread:1"}}); err != nil {
			t.Errorf("a second page of alice: got %v, want nil", err)
		}
		a.Seen("thread:2", user("alice"), presence.Device{})
		time.Sleep(100 * time.Millisecond)
		if s, err := memory.Sightings(t.Context(), "thread:2", "alice"); err != nil || !s[0].Online {
			t.Errorf("a page view of alice was lost, although the store is well: %v %v", s, err)
		}
		time.Sleep(4 * time.Minute)
		w.want()
	})
}

// Alice hides while nothing can be written, and goes on. Her leave must tell when she hid.
func TestLastSeenOfWhoHid(t *testing.T) {
	hide := func(a *track.Tracker) {
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		defer cancel()
		_ = a.SetStatus(ctx, "alice", presence.Invisible) // it is chosen, and not written yet
	}
	for name, happens := range map[string]func(t *testing.T, a *track.Tracker, page *track.Connection){
		"nothing": func(*testing.T, *track.Tracker, *track.Connection) {},
		"another page": func(t *testing.T, a *track.Tracker, _ *track.Connection) {
			connect(t, a, track.ConnectOptions{Visitor: visitor("alice")})
		},
		"a page view": func(_ *testing.T, a *track.Tracker, _ *track.Connection) {
			a.Seen(presence.Site, user("alice"), presence.Device{})
		},
		"a close":             func(_ *testing.T, _ *track.Tracker, page *track.Connection) { page.Close() },
		"a drop":              func(_ *testing.T, _ *track.Tracker, page *track.Connection) { page.Drop() },
		"a page that is lost": func(_ *testing.T, _ *track.Tracker, page *track.Connection) { page.Lost(time.Now()) },
		"hides again":         func(_ *testing.T, a *track.Tracker, _ *track.Connection) { hide(a) },
	} {
		bubble(t, name, func(t *testing.T) {
			memory, faults, a := faulty(t)
			w := watch(t, a)
			one := connect(t, a, track.ConnectOptions{Visitor: visitor("alice")})
			w.want("diff +alice -")
			time.Sleep(5 * time.Second)
			faults.Break(presencetest.Fault{Err: errDown}, presencetest.CallApply)
			hide(a)
			hid := time.Now()
			time.Sleep(8 * time.Second)
			happens(t, a, one)
			time.Sleep(10 * time.Second)
			faults.Heal()
			time.Sleep(10 * time.Second)
			w.skip()
			log, err := memory.Log(t.Context(), presence.Site, "")
			noError(t, err)
			left := 0
			for _, d := range log {
				for _, l := range d.Leaves {
					if left++; l.LastSeen.Sub(hid).Abs() > 2*time.Second {
						t.Errorf("the leave tells %v after she hid, want the moment when she hid", l.LastSeen.Sub(hid))
					}
				}
			}
			seen, err := memory.Sightings(t.Context(), presence.Site, "alice")
			noError(t, err)
			if left != 1 || seen[0].LastSeen.Sub(hid).Abs() > 2*time.Second {
				t.Errorf("%d leaves, last seen %v after she hid, want one, then", left, seen[0].LastSeen.Sub(hid))
			}
		})
	}
}

// One browser signs off while the store is out, and then another one closes its page: the grace holds alice until her next page.
func TestSignOffThenOtherCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, faults, a := faulty(t)
		w := watch(t, a)
		connect(t, a, track.ConnectOptions{Visitor: from("phone")})
		laptop := connect(t, a, track.ConnectOptions{Visitor: from("laptop")})
		w.want("diff +alice -")
		time.Sleep(5 * time.Second)
		faults.Break(presencetest.Fault{Err: errDown}, presencetest.CallApply)
		go func() { _ = a.SignOff(context.Background(), "alice", "phone") }()
		time.Sleep(time.Second)
		laptop.Close()
		time.Sleep(100 * time.Millisecond)
		faults.Heal()
		time.Sleep(3 * time.Second)
		connect(t, a, track.ConnectOptions{Visitor: from("laptop")})
		w.want()
	})
}

// One page closes, and then the other one is dropped: alice leaves at once.
func TestCloseThenDrop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, _, a := faulty(t)
		w := watch(t, a)
		one, two := connect(t, a, track.ConnectOptions{Visitor: visitor("alice")}), connect(t, a, track.ConnectOptions{Visitor: visitor("alice")})
		w.want("diff +alice -")
		one.Close()
		two.Drop()
		time.Sleep(100 * time.Millisecond)
		w.want("diff + -alice")
	})
}

// A sign-out and a sign-in at the same moment: alice stays.
func TestSignOutAndInAtOnce(t *testing.T) {
	for name, in := range map[string]func(t *testing.T, a *track.Tracker){
		"a page": func(t *testing.T, a *track.Tracker) {
			go a.Connect(context.Background(), track.ConnectOptions{Visitor: visitor("alice"), Topics: []presence.Topic{presence.Site}})
		},
		"a view": func(t *testing.T, a *track.Tracker) { a.Seen(presence.Site, user("alice"), presence.Device{}) },
	} {
		for _, after := range []time.Duration{time.Microsecond, 300 * time.Microsecond} {
			bubble(t, fmt.Sprint(name, after), func(t *testing.T) {
				_, _, a := faulty(t)
				w := watch(t, a)
				connect(t, a, track.ConnectOptions{Visitor: visitor("alice")})
				w.want("diff +alice -")
				time.Sleep(5 * time.Second)
				go func() { _ = a.SignOut(context.Background(), "alice") }()
				synctest.Wait()
				time.Sleep(after)
				in(t, a)
				time.Sleep(time.Second)
				w.skip()
				if _, there := view(t, a).Member("alice"); !there {
					t.Error("alice signed in, and is not there")
				}
			})
		}
	}
}

// A lease that is found gone while this node cannot hear is not made again after the pages that closed meanwhile, and their end is
// written.
func TestGoneLeaseAndClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory, faults, a := faulty(t)
		w := watch(t, a)
		one := connect(t, a, track.ConnectOptions{Visitor: visitor("alice")})
		w.want("diff +alice -")
		noError(t, memory.EraseUser(t.Context(), backend.Erasure{User: "alice"}))
		w.want("diff + -alice")
		faults.Break(presencetest.Fault{Err: errDown}, presencetest.CallHear)
		time.Sleep(100 * time.Second) // a heartbeat finds the lease gone
		w.want()
		two := connect(t, a, track.ConnectOptions{Visitor: visitor("alice")}) // the lease is made again
		w.want("diff +alice -")
		faults.Break(presencetest.Fault{Err: errDown}, presencetest.CallApply)
		one.Close()
		two.Close()
		time.Sleep(20 * time.Millisecond)
		faults.Break(presencetest.Fault{}, presencetest.CallHear)
		time.Sleep(2 * time.Second)
		faults.Heal()
		time.Sleep(30 * time.Second)
		w.want("diff + -alice")
	})
}

// Alice hides while node a can write nothing, and says so again at node b later. Her leave tells when she hid.
func TestHidesAgainElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory, faults, a := faulty(t)
		b := start(t, memory, track.Config{Node: "b"})
		connect(t, a, track.ConnectOptions{Visitor: visitor("alice"), Topics: []presence.Topic{"thread:1"}})
		time.Sleep(5 * time.Second)
		faults.Break(presencetest.Fault{Err: errDown}, presencetest.CallApply)
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		_ = a.SetStatus(ctx, "alice", presence.Invisible)
		cancel()
		hid := time.Now()
		time.Sleep(20 * time.Second)
		noError(t, b.SetStatus(t.Context(), "alice", presence.Invisible))
		time.Sleep(5 * time.Second)
		if s, _ := memory.Sightings(t.Context(), "thread:1", "alice"); !s[0].Online {
			t.Fatal("node b wrote it")
		}
		faults.Heal()
		time.Sleep(10 * time.Second)
		seen, err := memory.Sightings(t.Context(), "thread:1", "alice")
		noError(t, err)
		if got := seen[0].LastSeen.Sub(hid); got.Abs() > 2*time.Second {
			t.Errorf("last seen %v after she hid, want then", got)
		}
	})
}

// Alice is erased while node a can write nothing. Nobody sees her page view of before.
func TestErasedWhileNothingIsWritten(t *testing.T) {
	for _, out := range []time.Duration{8 * time.Second, 30 * time.Second, 60 * time.Second} {
		bubble(t, fmt.Sprint(out), func(t *testing.T) {
			memory, faults, a := faulty(t)
			b := start(t, memory, track.Config{Node: "b"})
			w := watch(t, b)
			time.Sleep(5 * time.Second)
			faults.Break(presencetest.Fault{Err: errDown}, presencetest.CallApply)
			a.Seen(presence.Site, user("alice"), presence.Device{})
			time.Sleep(time.Second)
			noError(t, b.Erase(t.Context(), "alice"))
			time.Sleep(out)
			faults.Heal()
			time.Sleep(10 * time.Second)
			w.want()
			rec, err := memory.Recent(t.Context(), presence.Site, backend.RecentQuery{Users: []presence.UserID{"alice"}})
			if err != nil || rec.Users[0].ID != "" {
				t.Errorf("remembered: %+v %v", rec, err)
			}
			if s, _ := memory.Sightings(t.Context(), presence.Site, "alice"); s[0].Online || !s[0].LastSeen.IsZero() {
				t.Errorf("sighted %+v", s[0])
			}
		})
	}
}

// Alice is invisible, views a page while nothing can be written, and turns visible later. Nothing is told of the time before.
func TestTurnsVisibleAfterAView(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory, faults, a := faulty(t)
		b := start(t, memory, track.Config{Node: "b"})
		choose(t, b, "alice", presence.Invisible)
		time.Sleep(5 * time.Second)
		faults.Break(presencetest.Fault{Err: errDown}, presencetest.CallApply)
		a.Seen("thread:1", user("alice"), presence.Device{})
		time.Sleep(20 * time.Second)
		choose(t, b, "alice", presence.Online)
		turned := time.Now()
		time.Sleep(5 * time.Second)
		faults.Heal()
		time.Sleep(10 * time.Second)
		snapshot, err := memory.Snapshot(t.Context(), "thread:1")
		noError(t, err)
		if len(snapshot.Members) != 1 || snapshot.Members[0].Since.Before(turned.Add(-time.Second)) {
			t.Errorf("got %+v, want alice there since she turned visible, at %v", snapshot.Members, turned)
		}
	})
}

// Somebody comes back to alice's idle page and closes it, while nothing can be written: the grace is attended.
func TestGraceOfAnIdlePage(t *testing.T) {
	for _, idle := range []bool{true, false} {
		bubble(t, fmt.Sprint("from idle ", idle), func(t *testing.T) {
			memory, faults, a := faulty(t)
			one := connect(t, a, track.ConnectOptions{Visitor: visitor("alice"), Idle: idle, Beat: true})
			beat := func(idle bool) {
				_, err := a.Beat(t.Context(), one.Token(), presence.Visitor{}, track.Page{Idle: &idle})
				noError(t, err)
			}
			beat(idle)
			time.Sleep(time.Second)
			for range 6 {
				beat(idle)
				time.Sleep(15 * time.Second)
			}
			s, _ := memory.Sightings(t.Context(), presence.Site, "alice")
			if s[0].Idle != idle {
				t.Errorf("got idle %v before, want %v", s[0].Idle, idle)
			}
			faults.Break(presencetest.Fault{Err: errDown}, presencetest.CallApply)
			for range 5 {
				beat(!idle)
				time.Sleep(15 * time.Second)
			}
			one.Close()
			faults.Heal()
			time.Sleep(5 * time.Second)
			s, _ = memory.Sightings(t.Context(), presence.Site, "alice")
			if !s[0].Online || s[0].Idle == idle {
				t.Errorf("got %+v, want idle %v", s[0], !idle)
			}
		})
	}
}

// Many questions are open. Who is let in is shown once these are answered.
func TestQuestionsAreFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, faults, a := faulty(t)
		a.PendAtMost(50)
		watch(t, a)
		faults.Break(presencetest.Fault{Err: errDown}, presencetest.CallStatuses)
		for i := range 60 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			_ = a.AwaitChoice(ctx, user(fmt.Sprint("u", i)))
			cancel()
		}
		c, err := a.Connect(t.Context(), track.ConnectOptions{Visitor: visitor("zoe"), Topics: []presence.Topic{presence.Site}})
		noError(t, err)
		defer c.Close()
		faults.Heal()
		time.Sleep(20 * time.Second)
		if _, there := view(t, a).Member("zoe"); !there {
			t.Error("zoe was let in, and is not there 20 s after the store was well")
		}
		if got := a.Stats().Pending; got != 0 {
			t.Errorf("%d wait", got)
		}
	})
}

// Alice comes and goes by an idle page, in an outage.
func TestIdlePageThatCameAndWent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory, faults, a := faulty(t)
		choose(t, a, "alice", presence.Online)
		time.Sleep(5 * time.Second)
		faults.Break(presencetest.Fault{Err: errDown}, presencetest.CallApply)
		one := connect(t, a, track.ConnectOptions{Visitor: visitor("alice"), Idle: true})
		time.Sleep(time.Second)
		one.Close()
		time.Sleep(time.Second)
		faults.Heal()
		time.Sleep(4 * time.Second)
		s, _ := memory.Sightings(t.Context(), presence.Site, "alice")
		if !s[0].Online || !s[0].Idle {
			t.Errorf("got %+v, want idle", s[0])
		}
	})
}

// For a while nobody answers what users chose, and many come. Later all is well.
func TestNodeRecoversFromManyQuestions(t *testing.T) {
	for _, how := range []string{"they ask", "they come and go"} {
		bubble(t, how, func(t *testing.T) {
			_, faults, a := faulty(t)
			a.PendAtMost(50)
			watch(t, a)
			faults.Break(presencetest.Fault{Err: errDown}, presencetest.CallStatuses)
			for i := range 60 {
				if how == "they ask" {
					ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
					_ = a.AwaitChoice(ctx, user(fmt.Sprint("u", i)))
					cancel()
				} else if c, err := a.Connect(t.Context(), track.ConnectOptions{Visitor: visitor(fmt.Sprint("u", i)), Topics: []presence.Topic{presence.Site}}); err == nil {
					c.Close()
				}
			}
			for i := range 60 {
				a.Seen(presence.Site, user(fmt.Sprint("v", i)), presence.Device{})
			}
			time.Sleep(time.Second)
			faults.Heal()
			time.Sleep(time.Hour)
			if got := a.Stats().Pending; got != 0 {
				t.Errorf("%d wait an hour after the store was well, want none", got)
			}
			c, err := a.Connect(t.Context(), track.ConnectOptions{Visitor: visitor("bob"), Topics: []presence.Topic{presence.Site}})
			if err != nil {
				t.Fatalf("an hour after the store was well bob connects: %v", err)
			}
			c.Close()
		})
	}
}

// A page of alice was silent, and so she left its topic. Another page holds her in the site. The store loses its data: she does not
// come back to the topic of the silent page.
func TestSilentPageAfterALoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := newSwapStore()
		a := start(t, memory, track.Config{Node: "a", Logger: slog.New(slog.DiscardHandler)})
		w := openPage(t, a, track.ConnectOptions{Topics: []presence.Topic{"thread:1"}})
		w.want("state ")
		connect(t, a, track.ConnectOptions{Visitor: visitor("alice"), Topics: []presence.Topic{presence.Site, "thread:1"}, Beat: true})
		connect(t, a, track.ConnectOptions{Visitor: visitor("alice"), Topics: []presence.Topic{presence.Site}})
		time.Sleep(2 * time.Minute)
		w.want("diff +alice -", "diff + -alice")
		memory.wipe()
		time.Sleep(3 * time.Minute)
		for _, line := range w.read() {
			if strings.Contains(line, "alice") {
				t.Errorf("got %q, want nothing of alice in thread:1", line)
			}
		}
	})
}

// The same, where a topic has another TTL than the site.
func TestSilentInOneTopicAfterALoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := newSwapStore()
		a := start(t, memory, track.Config{Node: "a", Logger: slog.New(slog.DiscardHandler), Kinds: map[string]presence.Kind{"thread": {TTL: 10 * time.Second}}})
		w := openPage(t, a, track.ConnectOptions{Topics: []presence.Topic{"thread:1"}})
		w.want("state ")
		page := connect(t, a, track.ConnectOptions{Visitor: visitor("alice"), Topics: []presence.Topic{presence.Site, "thread:1"}, Beat: true})
		for range 10 {
			time.Sleep(3 * time.Second)
			page.Beat()
		}
		time.Sleep(20 * time.Second)
		w.want("diff +alice -", "diff + -alice")
		memory.wipe()
		time.Sleep(3 * time.Minute)
		for _, line := range w.read() {
			if strings.Contains(line, "alice") {
				t.Errorf("got %q, want nothing of alice in thread:1", line)
			}
		}
	})
}

// Bob's page waits for the store, and then this node forgets that he chose nothing, because it may have missed a notice. It asks
// again, and shows him.
func TestAChoiceThatIsForgottenIsAskedForAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faults := presencetest.NewFaults(memstore.New())
		a := start(t, faults, track.Config{Node: "a"})
		noError(t, a.AwaitChoice(t.Context(), user("bob")))
		faults.Break(presencetest.Fault{Err: errDown}, presencetest.CallApply)
		connect(t, a, track.ConnectOptions{Visitor: visitor("bob")})
		a.Hear(backend.Notice{Missed: 2 * time.Second})
		time.Sleep(5 * time.Second)
		faults.Heal()
		time.Sleep(5 * time.Second)
		if _, there := view(t, a).Member("bob"); !there {
			t.Error("bob is not there, whose page is open")
		}
	})
}
