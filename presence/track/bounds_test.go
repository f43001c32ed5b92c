package track_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
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
// beats are forgotten and counted, also for topics that are new, and so are releases
// that tokens ask for; connections' own joins and ends, and sign-outs, are kept.
func TestPendingIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := memstore.New()
		faults := presencetest.NewFaults(memory)
		quiet := slog.New(slog.DiscardHandler)
		a := start(t, faults, track.Config{Node: "a", Logger: quiet})
		a.PendAtMost(50)
		b := start(t, memory, track.Config{Node: "b"})
		var foreign []presence.Token
		for i := range 100 {
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
		for _, token := range foreign {
			_ = a.Leave(t.Context(), token, presence.Visitor{})
		}
		time.Sleep(time.Second)
		if s := a.Stats(); s.Pending != 50 || s.Dropped < 2000+100-50 {
			t.Errorf("got %d pending and %d dropped, want 50 and the rest", s.Pending, s.Dropped)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if alive, err := a.Beat(ctx, foreign[0], presence.Visitor{}, track.Page{}); alive || !errors.Is(err, presence.ErrStoreOut) {
			t.Errorf("a beat over the bound: got %v, %v, want ErrStoreOut", alive, err)
		}
		mine.Close()
		_ = a.SignOut(ctx, "b7")
		faults.Heal()
		time.Sleep(20 * time.Second)
		if _, there := view(t, b).Member("mine"); there {
			t.Error("a connection that closed over the bound holds its user, want it released")
		}
		if _, there := view(t, b).Member("b7"); there {
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

// What a node remembers of users is bounded, and forgets the oldest: at least the latest
// half is still known. Of the others the store knows, so that a
// user who chose to be invisible first of all is not announced.
func TestMemoriesForgetTheOldest(t *testing.T) {
	const bound = 2_000
	const many = bound + 1
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		a := start(t, store, track.Config{Logger: slog.New(slog.DiscardHandler)})
		a.RememberAtMost(bound)
		w := watch(t, a)
		choose(t, a, "alice", presence.Invisible)
		id := func(i int) presence.UserID { return presence.UserID(fmt.Sprint("u", i)) }
		for i := range many {
			_ = store.Publish(t.Context(), backend.StatusNotice(id(i), presence.Busy))
		}
		known := 0
		for i := range many {
			if a.Status(id(i)) == presence.Busy {
				known++
			}
		}
		if known < bound/2 || known > bound || a.Status(id(many-bound/2)) != presence.Busy || a.Status("alice") != "" {
			t.Errorf("got %d statuses known, want %d to %d, the latest", known, bound/2, bound)
		}
		if got := a.Stats().Forgotten; got != many+1-uint64(known) {
			t.Errorf("got %d forgotten, want %d", got, many+1-known)
		}
		a.Seen(presence.Site, user("alice"), presence.Device{})
		w.want()
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

// refusingStore refuses what one topic is sent, as a server does where a key of the
// topic is of another kind.
type refusingStore struct {
	backend.Store
	topic presence.Topic
}

func (s refusingStore) Apply(ctx context.Context, batches []backend.Batch) []backend.Result {
	results := s.Store.Apply(ctx, batches)
	for i, b := range batches {
		if b.Topic == s.topic {
			results[i] = backend.Result{Err: fmt.Errorf("%w: WRONGTYPE", presence.ErrRefused)}
		}
	}
	return results
}

// What the store refuses of one topic is no outage: other topics go on, it is given up
// after some tries, counted, and logged once a minute.
func TestRefusedTopic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		a := start(t, refusingStore{memstore.New(), "broken"}, track.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		w := watch(t, a)
		for i := range 10 {
			a.Seen("broken", user(fmt.Sprint("u", i)), presence.Device{})
			a.Seen(presence.Site, user(fmt.Sprint("u", i)), presence.Device{})
			w.want(fmt.Sprintf("diff +u%d -", i))
		}
		time.Sleep(5 * time.Second)
		if s := a.Stats(); s.StoreOut || s.Rejected != 10 || s.Pending != 0 {
			t.Errorf("got store out %v, %d rejected and %d pending, want false, 10 and 0", s.StoreOut, s.Rejected, s.Pending)
		}
		if n := strings.Count(log.String(), "\n"); n != 1 || !strings.Contains(log.String(), "topic=broken") {
			t.Errorf("got log %q, want one line that names the topic", log.String())
		}
	})
}

// halfStore has lost some of a topic's keys: its log tells of users whom its roster
// lacks.
type halfStore struct{ backend.Store }

func (s halfStore) Snapshot(ctx context.Context, topic presence.Topic) (backend.Snapshot, error) {
	snap, err := s.Store.Snapshot(ctx, topic)
	snap.Members = nil
	return snap, err
}

// A reader who comes back to such a topic gets a state, and the node goes on.
func TestRosterThatDisagreesWithItsLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := memstore.New()
		a := start(t, memory, track.Config{Node: "a"})
		w := watch(t, a)
		cursors := []presence.Cursor{w.conn.Cursor()}
		for _, id := range []string{"alice", "bob"} {
			connect(t, a, track.ConnectOptions{Visitor: visitor(id)})
			w.skip()
			cursors = append(cursors, w.conn.Cursor())
		}
		b := start(t, halfStore{memory}, track.Config{Node: "b"})
		for _, cursor := range cursors {
			if got := resumes(t, b, cursor); got != presence.EventState && got != presence.EventHeartbeat {
				t.Errorf("from %q: got %q, want a state, or a heartbeat where nothing was missed", cursor, got)
			}
		}
		if _, err := b.View(t.Context(), presence.Site); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	})
}

// headlessStore lost the id of its latest diff once: the next one says that it goes on
// from Origin, though people are there.
type headlessStore struct {
	backend.Store
	broken presence.DiffID // of which that is said
}

func (s *headlessStore) mend(d backend.Diff) backend.Diff {
	if len(d.Leaves) > 0 && s.broken == "" {
		s.broken = d.ID
	}
	if d.ID == s.broken {
		d.Prev = backend.Origin
	}
	return d
}

func (s *headlessStore) Watch(ctx context.Context, topic presence.Topic, fn func(backend.Diff)) (func(), error) {
	return s.Store.Watch(ctx, topic, func(d backend.Diff) { fn(s.mend(d)) })
}

func (s *headlessStore) Log(ctx context.Context, topic presence.Topic, after presence.DiffID) ([]backend.Diff, error) {
	diffs, err := s.Store.Log(ctx, topic, after)
	for i := range diffs {
		diffs[i] = s.mend(diffs[i])
	}
	return diffs, err
}

// A log that does not go on from itself is a lost version: the roster is read anew.
func TestLogThatDoesNotGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := start(t, &headlessStore{Store: memstore.New()}, track.Config{})
		w := watch(t, a)
		alice := connect(t, a, track.ConnectOptions{Visitor: visitor("alice")})
		connect(t, a, track.ConnectOptions{Visitor: visitor("bob")})
		w.skip()
		alice.Drop()
		time.Sleep(30 * time.Second)
		w.read()
		if roster := w.roster["site"]; roster["alice"] != "" || roster["bob"] == "" {
			t.Errorf("got roster %v, want bob alone", roster)
		}
	})
}

// forgetfulStore loses users of whom its log knows nothing more, or cannot tell a
// topic's figures.
type forgetfulStore struct {
	backend.Store
	mu      sync.Mutex
	lost    presence.UserID
	unknown presence.Topic
}

func (s *forgetfulStore) lose(user presence.UserID, unknown presence.Topic) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lost, s.unknown = user, unknown
}

func (s *forgetfulStore) Snapshot(ctx context.Context, topic presence.Topic) (backend.Snapshot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	snap, err := s.Store.Snapshot(ctx, topic)
	snap.Members = slices.DeleteFunc(snap.Members, func(m presence.Member) bool { return m.ID == s.lost })
	return snap, err
}

func (s *forgetfulStore) Counts(ctx context.Context, topics ...presence.Topic) ([]backend.Counts, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	counts, err := s.Store.Counts(ctx, topics...)
	for i, topic := range topics {
		if topic == s.unknown {
			counts[i] = backend.Counts{Unknown: true}
		} else if snap, _ := s.Store.Snapshot(ctx, topic); slices.ContainsFunc(snap.Members, func(m presence.Member) bool { return m.ID == s.lost }) {
			counts[i].Total--
		}
	}
	return counts, err
}

// A store that lost a user, and tells no diff of it, is found out by its total: the
// user goes from the rosters, here after the time in which other nodes might put the
// user back.
func TestTotalThatDiffers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := memstore.New()
		store := &forgetfulStore{Store: memory}
		a := start(t, store, track.Config{})
		w := watch(t, a)
		connect(t, a, track.ConnectOptions{Visitor: visitor("bob")})
		elsewhere := backend.Op{Kind: backend.OpJoin, User: user("alice"), Holder: "x.1", For: time.Hour}
		memory.Apply(t.Context(), []backend.Batch{{Topic: presence.Site, Ops: []backend.Op{elsewhere}}})
		w.skip()
		store.lose("alice", "")
		time.Sleep(30 * time.Second)
		w.read()
		if roster := w.roster["site"]; roster["alice"] != "" || roster["bob"] == "" {
			t.Errorf("got roster %v, want bob alone", roster)
		}
	})
}

// A topic whose figures the store cannot tell is stale. The others are not, and the
// store is not out.
func TestFiguresThatAreUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &forgetfulStore{Store: memstore.New()}
		a := start(t, store, track.Config{})
		connect(t, a, track.ConnectOptions{Topics: []presence.Topic{presence.Site, "broken"}})
		store.lose("", "broken")
		time.Sleep(2 * time.Second)
		broken, err := a.View(t.Context(), "broken")
		if err != nil || !broken.Stale || view(t, a).Stale || a.Stats().StoreOut {
			t.Errorf("got stale %v, %v of site, store out %v, error %v; want the broken topic stale alone", broken.Stale, view(t, a).Stale, a.Stats().StoreOut, err)
		}
		store.lose("", "")
		time.Sleep(2 * time.Second)
		if broken, _ = a.View(t.Context(), "broken"); broken.Stale {
			t.Error("the topic stays stale once its figures are known again")
		}
	})
}

// What is remembered of a user is the user's own bytes, and not the header that they
// were cut out of.
func TestMemoriesKeepNoHeaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := start(t, memstore.New(), track.Config{})
		synctest.Wait()
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		const users, header = 1000, 30_000
		for i := range users {
			cookie := fmt.Sprintf("name=u%04d; pad=%s", i, strings.Repeat("x", header))
			id := cookie[5:10]
			a.Seen(presence.Site, presence.User{ID: presence.UserID(id), Name: id}, presence.Device{})
			_ = a.SetStatus(t.Context(), presence.UserID(id), presence.Busy)
			_ = a.SignOut(t.Context(), presence.UserID(id))
		}
		time.Sleep(time.Minute)
		runtime.GC()
		runtime.ReadMemStats(&after)
		if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > users*header/3 {
			t.Errorf("the heap grew by %d KB, want less than a third of the %d KB of headers", grown>>10, users*header>>10)
		}
	})
}

// A topic that a node looks at is kept, and not the request that it was cut out of.
func TestTopicsKeepNoRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := start(t, memstore.New(), track.Config{Kinds: recentKinds})
		synctest.Wait()
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		const topics, request = 200, 100_000
		for i := range topics {
			query := fmt.Sprintf("topic=thread:%03d&pad=%s", i, strings.Repeat("x", request))
			topic := presence.Topic(query[6:16])
			if _, err := a.View(t.Context(), topic); err != nil {
				t.Fatal(err)
			}
			if _, err := a.LatelyActive(t.Context(), topic, 0, 10); err != nil {
				t.Fatal(err)
			}
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > topics*request/3 {
			t.Errorf("the heap grew by %d KB, want less than a third of the %d KB of requests", grown>>10, topics*request>>10)
		}
	})
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
