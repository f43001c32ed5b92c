package track_test

import (
	"context"
	"errors"
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

// While the store is out, what waits for it is bounded: over the bound, page views and
// beats are forgotten and counted, also for topics that are new; connections' own joins and ends, and sign-outs, are kept.
func TestPendingIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := memstore.New()
		faults := presencetest.NewFaults(memory)
		quiet := slog.New(slog.DiscardHandler)
		a := start(t, faults, track.Config{Node: "a", Logger: quiet})
		a.PendAtMost(50)
		b := start(t, memory, track.Config{Node: "b"})
		var foreign []presence.Token
		for i := range 3 {
			foreign = append(foreign, connect(t, b, track.ConnectOptions{Visitor: visitor(fmt.Sprint("b", i))}).Token())
		}
		mine := connect(t, a, track.ConnectOptions{Visitor: visitor("mine")})
		w := openPage(t, b, track.ConnectOptions{})
		w.skip()
		faults.Break(presencetest.Fault{Err: errDown}, presencetest.CallApply)
		for i := range 1000 {
			a.SeenGuest(presence.Topic(fmt.Sprint("thread:", i)), "g")
			a.GuestSignedIn(presence.Site, fmt.Sprint("g", i))
		}
		time.Sleep(time.Second)
		if s := a.Stats(); s.Pending != 50 || s.Dropped < 2000-50 {
			t.Errorf("got %d pending and %d dropped, want 50 and the rest", s.Pending, s.Dropped)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if alive, err := a.Beat(ctx, foreign[0], presence.Visitor{}, track.Page{}); alive || !errors.Is(err, presence.ErrStoreOut) {
			t.Errorf("a beat over the bound: got %v, %v, want ErrStoreOut", alive, err)
		}
		mine.Close()
		_ = a.SignOut(ctx, "b1")
		faults.Heal()
		time.Sleep(20 * time.Second)
		if _, there := view(t, b).Member("mine"); there {
			t.Error("a connection that closed over the bound holds its user, want it released")
		}
		if _, there := view(t, b).Member("b1"); there {
			t.Error("who signed out over the bound is there")
		}
	})
}

// Page views that wait for a choice to be known are bounded too.
func TestWaitingForChoicesIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faults := presencetest.NewFaults(memstore.New())
		a := start(t, faults, track.Config{Logger: slog.New(slog.DiscardHandler)})
		a.PendAtMost(50)
		w := openPage(t, a, track.ConnectOptions{Limit: 1000})
		w.want("state ")
		faults.Break(presencetest.Fault{Err: errDown}, presencetest.CallStatuses)
		for i := range 200 {
			a.Seen(presence.Site, user(fmt.Sprint("u", i)), presence.Device{})
		}
		if got := a.Stats().Dropped; got != 150 {
			t.Errorf("got %d dropped, want 150", got)
		}
		faults.Heal()
		time.Sleep(5 * time.Second)
		if got := view(t, a).Total; got != 50 {
			t.Errorf("got %d online, want 50", got)
		}
	})
}

// Topics kept here are bounded. Over the bound a new one is refused, until one that
// nobody streams can be forgotten; that is looked for once a second.
func TestTopicsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := start(t, memstore.New(), track.Config{MaxTopics: 3})
		streamed := connect(t, a, track.ConnectOptions{Topics: []presence.Topic{"a", "b"}})
		look := func(topic presence.Topic) error {
			_, err := a.View(t.Context(), topic)
			return err
		}
		noError(t, look("c"))
		if err := look("d"); !errors.Is(err, presence.ErrTooManyTopicsHere) || a.Stats().Topics != 3 {
			t.Errorf("got %v and %d topics, want ErrTooManyTopicsHere and 3", err, a.Stats().Topics)
		}
		time.Sleep(3 * time.Second) // c was looked at a moment ago
		if err := look("d"); err != nil {
			t.Errorf("once c is idle: got %v, want room", err)
		}
		if err := look("a"); err != nil || streamed.Err() != nil {
			t.Errorf("a topic that is streamed: got %v and %v, want it kept", err, streamed.Err())
		}
	})
}

// A state takes the place of a diff that is larger.
func TestStateInPlaceOfALargeDiff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := start(t, memstore.New(), track.Config{MaxRoster: -1})
		w := watch(t, a)
		at := w.conn.Cursor()
		comes := func(from, to int) {
			for i := from; i < to; i++ {
				a.Seen(presence.Site, user(fmt.Sprint("u", i)), presence.Device{})
			}
			w.settle()
		}
		comes(0, 500)
		if got := resumes(t, a, at); got != presence.EventDiff {
			t.Errorf("after 500: got %q, want a diff", got)
		}
		comes(500, 1100)
		if got := resumes(t, a, at); got != presence.EventState {
			t.Errorf("after 1,100: got %q, want a state", got)
		}
	})
}

// resumes returns the type of the first event for a reader who comes back with a
// cursor.
func resumes(t *testing.T, tracker *track.Tracker, cursor presence.Cursor) presence.EventType {
	t.Helper()
	events := connect(t, tracker, track.ConnectOptions{Cursor: cursor}).Events(nil)
	if len(events) == 0 {
		return ""
	}
	return events[0].Type
}

// Nodes whose names begin alike name their own versions differently.
func TestVersionsOfNodesWhoseNamesBeginAlike(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var names []string // "<head>-<node>-<number>", of which the stores choose the first
		for _, node := range []string{"forum10", "forum11"} {
			store := newSwapStore()
			a := start(t, store, track.Config{Node: node})
			w := openPage(t, a, track.ConnectOptions{})
			connect(t, a, track.ConnectOptions{Visitor: visitor("alice")})
			elsewhere := backend.Op{Kind: backend.OpJoin, User: user("bob"), Holder: "x.1", For: time.Hour}
			store.Apply(t.Context(), []backend.Batch{{Topic: presence.Site, Ops: []backend.Op{elsewhere}}})
			w.skip()
			store.wipe() // nobody puts bob back
			time.Sleep(4 * time.Second)
			w.read()
			parts := strings.Split(string(w.conn.Cursor()), "-")
			if len(parts) < 4 {
				t.Fatalf("got cursor %q, want a version that only this node has", w.conn.Cursor())
			}
			names = append(names, parts[len(parts)-2])
		}
		if names[0] == names[1] {
			t.Errorf("got %q of both nodes, want different names", names[0])
		}
	})
}

// Every counter of what goes wrong moves: what was lost on the way, and what was
// merged.
func TestCountersMove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faults := presencetest.NewFaults(memstore.New())
		a := start(t, faults, track.Config{})
		w := openPage(t, a, track.ConnectOptions{})
		w.settle()
		for i := range 5 {
			a.Seen(presence.Site, user(fmt.Sprint("u", i)), presence.Device{})
			time.Sleep(5 * time.Millisecond)
		}
		w.settle()
		if got := a.Stats().DiffsMerged; got == 0 {
			t.Error("got no diffs merged, want some of five within a window")
		}
		faults.Disturb(presencetest.Disturbance{Lose: 1})
		a.Seen(presence.Site, user("lost"), presence.Device{})
		w.settle()
		a.Seen(presence.Site, user("after"), presence.Device{})
		w.settle()
		if got := a.Stats().Gaps; got != 1 {
			t.Errorf("got %d gaps, want 1", got)
		}
	})
}

// Diffs that come before the roster is read are bounded. What was dropped of them is
// found out.
func TestEarlyDiffsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := memstore.New()
		faults := presencetest.NewFaults(memory)
		a := start(t, faults, track.Config{MaxRoster: -1, LogSize: 10_000})
		faults.Break(presencetest.Fault{Delay: 3 * time.Second}, presencetest.CallSnapshot)
		go func() { _, _ = a.View(t.Context(), "busy") }()
		time.Sleep(time.Second)
		for i := range 5000 {
			op := backend.Op{Kind: backend.OpJoin, User: user(fmt.Sprint("u", i)), Holder: "x.1", For: time.Hour}
			memory.Apply(t.Context(), []backend.Batch{{Topic: "busy", Ops: []backend.Op{op}}})
		}
		faults.Heal()
		time.Sleep(10 * time.Second)
		v, err := a.View(t.Context(), "busy")
		if err != nil || v.Total != 5000 {
			t.Errorf("got %v and error %v, want 5,000 online", v, err)
		}
	})
}
