package track_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
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

const throng presence.Topic = "throng"

// inPart is for a tracker that keeps large topics in part. Users of crowds stay long.
var inPart = track.Config{MaxRoster: 10, Kinds: map[string]presence.Kind{"few": {MaxRoster: -1}}}

// startInPart is start. The tracker keeps topics of more than 10 users in part: the newest 5.
func startInPart(t *testing.T, store backend.Store, cfg track.Config) *track.Tracker {
	t.Helper()
	tracker := start(t, store, cfg)
	tracker.KeepInPart(10, 5)
	return tracker
}

func holderOf(id string) presence.Holder { return presence.Holder("elsewhere." + id) }

// come lets users come to the throng as from another node, a millisecond apart.
func come(t *testing.T, store backend.Store, ids ...string) {
	t.Helper()
	for _, id := range ids {
		crowdStep(t, store, backend.Op{Kind: backend.OpJoin, User: user(id), Holder: holderOf(id), For: time.Hour})
		time.Sleep(time.Millisecond)
	}
}

func leave(t *testing.T, store backend.Store, ids ...string) {
	t.Helper()
	for _, id := range ids {
		crowdStep(t, store, backend.Op{Kind: backend.OpDrop, User: user(id), Holder: holderOf(id)})
	}
}

func crowdStep(t *testing.T, store backend.Store, op backend.Op) {
	t.Helper()
	stepIn(t, store, throng, op)
}

// stepIn applies an operation as another node does: at once, and as one step.
func stepIn(t *testing.T, store backend.Store, topic presence.Topic, op backend.Op) {
	t.Helper()
	noError(t, store.Apply(context.Background(), []backend.Batch{{Topic: topic, Ops: []backend.Op{op}}})[0].Err)
}

// span returns the ids u<from>, …, u<to-1>.
func span(from, to int) (ids []string) {
	for i := from; i < to; i++ {
		ids = append(ids, fmt.Sprint("u", i))
	}
	return ids
}

func crowdView(t *testing.T, tracker *track.Tracker) *track.View {
	t.Helper()
	v, err := tracker.View(t.Context(), throng)
	noError(t, err)
	return v
}

// wantPart checks the total, and how many users are kept, of a topic that is kept in part; -1:
// of one that is kept whole.
func wantPart(t *testing.T, tracker *track.Tracker, total, kept int) *track.View {
	t.Helper()
	synctest.Wait()
	v := crowdView(t, tracker)
	got, part := v.Kept()
	if !part {
		got = -1
	}
	if v.Total != total || got != kept {
		t.Fatalf("got a total of %d and %d users kept (-1: all), want %d and %d", v.Total, got, total, kept)
	}
	return v
}

func newestOf(v *track.View) string {
	var ids []string
	for _, m := range v.Newest(100) {
		ids = append(ids, string(m.ID))
	}
	return strings.Join(ids, " ")
}

// A topic that grows over the limit is kept in part, with the newest, and one that shrinks is
// kept whole again 10 % below. Pages get totals, then a state, then diffs that fit it.
func TestPartUpAndDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faults := presencetest.NewFaults(memstore.New())
		tracker := startInPart(t, faults, inPart)
		come(t, faults, span(0, 9)...)
		p := openPage(t, tracker, track.ConnectOptions{Topics: []presence.Topic{throng}, Observe: true})
		p.want("state u0,u1,u2,u3,u4,u5,u6,u7,u8")
		come(t, faults, span(9, 30)...)
		time.Sleep(3 * time.Second)
		if v := wantPart(t, tracker, 30, 5); newestOf(v) != "u29 u28 u27 u26 u25" {
			t.Errorf("got the newest %q", newestOf(v))
		}
		p.read()
		reads := tracker.Stats().Calls["snapshot"].Latency.Count
		leave(t, faults, span(0, 20)...)
		time.Sleep(2 * time.Second)
		wantPart(t, tracker, 10, 5) // not 10 % below
		leave(t, faults, "u29")
		time.Sleep(2 * time.Second)
		wantPart(t, tracker, 9, 4)
		if got := tracker.Stats().Calls["snapshot"].Latency.Count; got != reads {
			t.Errorf("the roster was read %d times, want none above the limit", got-reads)
		}
		for _, e := range p.conn.Events(nil) {
			if e.Type != presence.EventCount {
				t.Errorf("got a %s in count mode", e.Type)
			}
		}
		leave(t, faults, "u28")
		time.Sleep(2 * time.Second)
		wantPart(t, tracker, 8, -1)
		p.want("state u20,u21,u22,u23,u24,u25,u26,u27")
		come(t, faults, "back")
		leave(t, faults, "u20")
		time.Sleep(time.Second)
		got := strings.Join(p.read(), ", ")
		if strings.Count(got, "back") != 1 || strings.Count(got, "u20") != 1 {
			t.Errorf("got %q, want the join of back and the leave of u20, once each", got)
		}
	})
}

// A node that starts reads a page of a large roster and not the whole, knows the newest, and
// keeps them current.
func TestPartAtTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faults := presencetest.NewFaults(memstore.New())
		come(t, faults, span(0, 50)...)
		faults.Break(presencetest.Fault{Err: errDown}, presencetest.CallSnapshot)
		tracker := startInPart(t, faults, inPart)
		if v := wantPart(t, tracker, 50, 5); newestOf(v) != "u49 u48 u47 u46 u45" || !slices.Equal(membersOf(v, "u0", "u49", "nobody"), []bool{true, true, false}) {
			t.Errorf("got the newest %q", newestOf(v))
		}
		come(t, faults, "new")
		leave(t, faults, "u0", "u47")
		time.Sleep(2 * time.Second)
		v := wantPart(t, tracker, 49, 4)
		if newestOf(v) != "new u49 u48 u46" || !slices.Equal(membersOf(v, "u0", "u47", "new", "u1"), []bool{false, false, true, true}) {
			t.Errorf("got the newest %q", newestOf(v))
		}
		leave(t, faults, "new", "u49", "u48")
		time.Sleep(6 * time.Second)
		come(t, faults, "late") // the sample is read again
		time.Sleep(2 * time.Second)
		if v := wantPart(t, tracker, 47, 5); newestOf(v) != "late u46 u45 u44 u43" {
			t.Errorf("got the newest %q after many of them left", newestOf(v))
		}
	})
}

func membersOf(v *track.View, ids ...presence.UserID) (there []bool) {
	for _, id := range ids {
		m, ok := v.Member(id)
		there = append(there, ok && m.ID == id && m.Name == strings.ToUpper(string(id)))
	}
	return there
}

// Users outside the sample are asked for once, in one round trip, and then known: also when they
// leave, come back or change.
func TestPartAsksForUsers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faults := presencetest.NewFaults(memstore.New())
		come(t, faults, span(0, 50)...)
		tracker := startInPart(t, faults, inPart)
		v := wantPart(t, tracker, 50, 5)
		ask := func() uint64 { return tracker.Stats().Calls["members"].Latency.Count }
		if err := v.Look(t.Context(), "u1", "u2", "u3", "u4", "nobody", "u49"); err != nil || ask() > 2 {
			t.Errorf("got %v and %d round trips, want no error and 2 at most", err, ask())
		}
		asked := ask()
		if got := membersOf(v, "u1", "u2", "nobody", "u49"); !slices.Equal(got, []bool{true, true, false, true}) {
			t.Errorf("got %v of members", got)
		}
		leave(t, faults, "u1")
		come(t, faults, "nobody")
		come(t, faults, span(50, 60)...) // more than the sample
		crowdStep(t, faults, backend.Op{Kind: backend.OpUpdate, User: presence.User{ID: "u2", Name: "U2", Status: presence.Busy}})
		time.Sleep(2 * time.Second)
		v = wantPart(t, tracker, 60, 5)
		if got := membersOf(v, "u1", "u2", "nobody", "u59"); !slices.Equal(got, []bool{false, true, true, true}) {
			t.Errorf("got %v of members after changes", got)
		}
		if m, _ := v.Member("u2"); m.Status != presence.Busy {
			t.Errorf("got status %q, want the new one", m.Status)
		}
		if ask() != asked {
			t.Errorf("got %d more round trips for users who are known", ask()-asked)
		}
	})
}

// NeedsSeen does not wait: it reports false for a user who is not known yet, and then what the
// store says. Sightings and InRosters are as ever.
func TestPartNeedsSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		come(t, store, span(0, 50)...)
		tracker := startInPart(t, store, inPart)
		wantPart(t, tracker, 50, 5)
		began := time.Now()
		for _, want := range []bool{false, true} {
			if got := tracker.NeedsSeen(throng, "gone", began); got != want {
				t.Errorf("a user who is not there: got %v, want %v", got, want)
			}
			synctest.Wait()
		}
		for range 2 {
			if tracker.NeedsSeen(throng, "u3", began) {
				t.Error("u3 is there, and needs to be seen")
			}
			synctest.Wait()
		}
		leave(t, store, "u3")
		time.Sleep(2 * time.Second)
		if !tracker.NeedsSeen(throng, "u3", began) {
			t.Error("u3 left, and does not need to be seen")
		}
		s, err := tracker.Sightings(t.Context(), throng, "u3", "u4")
		if err != nil || s[0].Online || !s[1].Online || !tracker.InRosters("u4") {
			t.Errorf("got %+v, %v, want u4 alone online", s, err)
		}
		tracker.Seen(throng, user("u3"), presence.Device{})
		time.Sleep(2 * time.Second)
		if v := wantPart(t, tracker, 50, 5); !membersOf(v, "u3")[0] || tracker.NeedsSeen(throng, "u3", began) {
			t.Error("u3 viewed a page, and is not there")
		}
	})
}

// An answer that was on its way while a diff came is older than the diff.
func TestPartAnswerBehindADiff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		come(t, store, span(0, 50)...)
		slow := &lateAnswers{Store: store, late: 30 * time.Millisecond}
		tracker := startInPart(t, slow, inPart)
		v := wantPart(t, tracker, 50, 5)
		done := make(chan bool)
		go func() { done <- membersOf(v, "u1")[0] }()
		time.Sleep(10 * time.Millisecond)
		leave(t, store, "u1")
		if <-done || membersOf(v, "u1")[0] {
			t.Error("u1 left while the store was asked, and is there")
		}
	})
}

// lateAnswers answers for members late, as they were when it was asked.
type lateAnswers struct {
	backend.Store
	late time.Duration
}

func (s *lateAnswers) Members(ctx context.Context, topic presence.Topic, ids ...presence.UserID) ([]presence.Member, error) {
	defer time.Sleep(s.late)
	return s.Store.Members(ctx, topic, ids...)
}

// A page with many dots waits for a store that hangs once, and not for each of its dots.
func TestPartStoreHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faults := presencetest.NewFaults(memstore.New())
		come(t, faults, span(0, 50)...)
		tracker := startInPart(t, faults, inPart)
		v := wantPart(t, tracker, 50, 5)
		faults.Break(presencetest.Fault{Hang: true}, presencetest.CallMembers)
		began := time.Now()
		for _, id := range span(0, 40) {
			v.Member(presence.UserID(id))
		}
		if took := time.Since(began); took > 200*time.Millisecond {
			t.Errorf("40 users took %v, want one wait", took)
		}
		faults.Heal()
		time.Sleep(5 * time.Second)
		if !membersOf(crowdView(t, tracker), "u3")[0] {
			t.Error("the store answers again, and u3 is not known")
		}
	})
}

// Callers that give up their questions, as a client does that resets its requests, take nothing
// from others: the dots of a page are right, and the question that was given up is answered.
func TestPartQuestionsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		come(t, store, span(0, 90)...)
		tracker := startInPart(t, &lateAnswers{Store: store, late: 10 * time.Millisecond}, inPart)
		v := wantPart(t, tracker, 90, 5)
		for i, id := range span(0, 80) {
			if i%10 == 0 { // three times a second, beside a page whose dots take 300 ms
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(time.Millisecond, cancel)
				if err := v.Look(ctx, presence.UserID(fmt.Sprint("made-up", i))); !errors.Is(err, context.Canceled) {
					t.Fatalf("got %v, want that the question was given up", err)
				}
			}
			if !membersOf(v, presence.UserID(id))[0] {
				t.Errorf("%s is online, and the page shows that nobody is there", id)
			}
		}
	})
}

// Diffs that are lost on the way are found, and read from the log: the total, the sample and who
// was asked for are right again.
func TestPartLostDiffs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		faults := presencetest.NewFaults(store)
		come(t, store, span(0, 50)...)
		tracker := startInPart(t, faults, inPart)
		v := wantPart(t, tracker, 50, 5)
		membersOf(v, "u1", "u2", "x")
		faults.Disturb(presencetest.Disturbance{Lose: 3})
		leave(t, store, "u1")
		come(t, store, "x", "y")
		time.Sleep(5 * time.Second)
		v = wantPart(t, tracker, 51, 5)
		if got := membersOf(v, "u1", "u2", "x", "y"); !slices.Equal(got, []bool{false, true, true, true}) || newestOf(v) != "y x u49 u48 u47" {
			t.Errorf("got %v of members, and the newest %q", got, newestOf(v))
		}
		if tracker.Stats().Gaps == 0 {
			t.Error("no gap was found")
		}
	})
}

// The store is wiped while nodes hold the users of a large topic. They restore their leases; until
// then the total, the mode, the sample and whoever was asked for stay. Who is gone for good is
// gone afterwards.
func TestPartWipe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newSwapStore()
		a, b := startInPart(t, store, inPart), startInPart(t, store, inPart)
		for _, id := range span(0, 20) {
			connect(t, a, track.ConnectOptions{Visitor: visitor(id), Topics: []presence.Topic{throng}})
			time.Sleep(10 * time.Millisecond)
		}
		come(t, store, "gone1", "gone2") // nobody restores them
		time.Sleep(2 * time.Second)
		v := wantPart(t, b, 22, 5)
		membersOf(v, "u1", "u2", "gone1", "nobody")
		p := openPage(t, b, track.ConnectOptions{Topics: []presence.Topic{throng}, Observe: true})
		p.settle()
		p.conn.Events(nil)
		store.wipe()
		for i := range 50 {
			time.Sleep(100 * time.Millisecond)
			if i == 40 {
				come(t, store, "late") // as a user whom a slow node restores
			}
			v := crowdView(t, b)
			if _, part := v.Kept(); v.Total < 22 || !part {
				t.Fatalf("%d00 ms after the wipe: got a total of %d, in part %v, want 22 while nodes restore", i, v.Total, part)
			}
			if got := newestOf(v); got != "gone2 gone1 u19 u18 u17" {
				t.Fatalf("got the newest %q while nodes restore", got)
			}
			if page, next, err := b.RosterPage(t.Context(), v, "", "", 3); i > 20 && (err != nil || len(page) != 3 || page[0].ID != "gone2" || next == "") {
				t.Fatalf("got a page of %d, %q, %v while nodes restore", len(page), next, err)
			}
			if got := membersOf(v, "u1", "u2", "gone2", "nobody"); !slices.Equal(got, []bool{true, true, true, false}) {
				t.Fatalf("got %v of members while nodes restore", got)
			}
		}
		time.Sleep(10 * time.Second)
		v = wantPart(t, b, 21, 5)
		if got := membersOf(v, "u1", "u19", "gone1", "gone2"); !slices.Equal(got, []bool{true, true, false, false}) {
			t.Errorf("got %v of members afterwards", got)
		}
		for _, e := range p.conn.Events(nil) {
			if e.Type == presence.EventDiff || e.Type == presence.EventState && strings.Contains(string(e.Data), `"total":2,`) {
				t.Errorf("got a %s: %s", e.Type, e.Data)
			}
		}
	})
}

// A failover brings back an older state: users who left meanwhile are there again, and users who
// came are not, until nodes made it right.
func TestPartFailover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newSwapStore()
		old := memstore.New()
		come(t, old, span(0, 30)...)
		come(t, store, span(0, 30)...)
		a := startInPart(t, store, inPart)
		wantPart(t, a, 30, 5)
		connect(t, a, track.ConnectOptions{Visitor: visitor("here"), Topics: []presence.Topic{throng}})
		leave(t, store, "u1", "u2")
		time.Sleep(2 * time.Second)
		membersOf(wantPart(t, a, 29, 5), "u1", "u3", "here")
		store.goOnAs(old)
		time.Sleep(40 * time.Second)
		v := wantPart(t, a, 31, 5) // u1 and u2 hang on leases that nobody renews
		if got := membersOf(v, "here", "u3"); !slices.Equal(got, []bool{true, true}) {
			t.Errorf("got %v of members after the failover", got)
		}
		leave(t, store, "u1", "u2")
		time.Sleep(2 * time.Second)
		wantPart(t, a, 29, 5)
	})
}

// A user outside the sample may signal, and a user who is not there may not.
func TestPartSignals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		come(t, store, span(0, 30)...)
		a, b := startInPart(t, store, inPart), startInPart(t, store, inPart)
		wantPart(t, a, 30, 5)
		wantPart(t, b, 30, 5)
		p := openPage(t, b, track.ConnectOptions{Topics: []presence.Topic{throng}, Observe: true})
		p.settle()
		p.conn.Events(nil)
		typing := presence.Signal{Type: "typing", For: 5 * time.Second}
		if err := a.Whisper(t.Context(), visitor("u2"), throng, typing); err != nil {
			t.Errorf("u2 signals: %v", err)
		}
		if err := a.Whisper(t.Context(), visitor("nobody"), throng, typing); !errors.Is(err, presence.ErrNotThere) {
			t.Errorf("nobody signals: got %v, want ErrNotThere", err)
		}
		p.settle()
		var got []string
		for _, e := range p.conn.Events(nil) {
			if e.Type == presence.EventSignal {
				got = append(got, string(e.Data))
			}
		}
		if len(got) != 1 || !strings.Contains(got[0], `"from":"u2","name":"U2"`) {
			t.Errorf("got %q, want the signal of u2", got)
		}
	})
}
