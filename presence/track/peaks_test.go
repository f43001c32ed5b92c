package track_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
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

// peakKinds have the site and threads remember their record.
var peakKinds = map[string]presence.Kind{"site": {Peak: true}, "thread": {Peak: true}}

// wantPeak checks the record that a node shows of the site.
func wantPeak(t *testing.T, tracker *track.Tracker, when string, total int, at time.Time) {
	t.Helper()
	v, err := tracker.View(t.Context(), presence.Site)
	if err != nil || v.Peak.Total != total || !at.IsZero() && !v.Peak.At.Equal(at) {
		t.Errorf("%s: got peak %+v, %v, want %d at %v", when, v.Peak, err, total, at)
	}
}

func seeUsers(tracker *track.Tracker, topic presence.Topic, n int) {
	for i := range n {
		tracker.Seen(topic, user(fmt.Sprint("u", i)), presence.Device{})
	}
	time.Sleep(time.Second)
	synctest.Wait()
}

// Readers are told of a record within a second: in the state, and in a heartbeat when it
// grows. Node b, which made none of it, says the same. The record stays when users go. So it is whether or not the
// store tells which topics changed.
func TestPeakIsTold(t *testing.T) {
	bubble(t, "silent", func(t *testing.T) { peakIsTold(t, memstore.New()) })
	bubble(t, "telling", func(t *testing.T) { peakIsTold(t, &tellingStore{askedStore: askedStore{Store: memstore.New()}}) })
}

func peakIsTold(t *testing.T, store backend.Store) {
	a, b := start(t, store, track.Config{Kinds: peakKinds}), start(t, store, track.Config{Kinds: peakKinds})
	watch := connect(t, b, track.ConnectOptions{})
	if s := string(watch.Events(nil)[0].Data); strings.Contains(s, "peak") {
		t.Errorf("got %s, want no record yet", s)
	}
	seeUsers(a, presence.Site, 2)
	at := time.Now().Add(-time.Second).UTC().Format(`"2006-01-02T15:04:05`)
	told := func(want string) {
		t.Helper()
		var last presence.Event
		for events := watch.Events(nil); len(events) > 0; events = watch.Events(nil) {
			last = events[len(events)-1]
		}
		if last.Type != presence.EventHeartbeat || !strings.Contains(string(last.Data), want) {
			t.Errorf("got %s %s, want a heartbeat with %s", last.Type, last.Data, want)
		}
	}
	told(`"peak":{"total":2,"at":` + at)
	seeUsers(a, presence.Site, 3)
	told(`"peak":{"total":3,"at":`)
	for i := range 3 {
		_ = a.SignOut(t.Context(), presence.UserID(fmt.Sprint("u", i)))
	}
	time.Sleep(time.Minute)
	wantPeak(t, a, "at node a", 3, time.Time{})
	wantPeak(t, b, "at node b", 3, time.Time{})
	watch.WantState(presence.Site)
	if s := string(watch.Events(nil)[0].Data); !strings.Contains(s, `"total":0`) || !strings.Contains(s, `"peak":{"total":3`) {
		t.Errorf("got state %s, want 0 online and a record of 3", s)
	}
}

// A node whose kinds ask for no record and no bots shows none, although the store has them for another node.
func TestFiguresThatTheKindDoesNotAskFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		a := start(t, store, track.Config{Kinds: map[string]presence.Kind{"site": {Peak: true, Bots: true}}})
		b := start(t, store, track.Config{})
		openPage(t, b, track.ConnectOptions{})
		a.SeenBot(presence.Site, "Googlebot", "1")
		seeUsers(a, presence.Site, 2)
		for when, tracker := range map[string]*track.Tracker{"loaded before": b, "loaded since": start(t, store, track.Config{})} {
			v, err := tracker.View(t.Context(), presence.Site)
			if err != nil || v.Total != 2 || v.Peak != (backend.Peak{}) || v.Bots != nil {
				t.Errorf("%s: got %+v and %v, %v, want two users and no more", when, v.Peak, v.Bots, err)
			}
		}
		wantPeak(t, a, "at the node that asks", 2, time.Time{})
		for _, tracker := range []*track.Tracker{b, start(t, store, track.Config{})} { // from memory, and from the store
			counts, err := tracker.Counts(t.Context(), presence.Site)
			if want := (backend.Counts{Total: 2, Recent: 2}); err != nil || !reflect.DeepEqual(counts[0], want) {
				t.Errorf("got the figures %+v, %v, want %+v", counts[0], err, want)
			}
		}
	})
}

// A store that lost its data gets the record back from a node, also from one that had
// forgotten the topic meanwhile.
func TestPeakSurvivesAWipe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newSwapStore()
		a, b := start(t, store, track.Config{Kinds: peakKinds}), start(t, store, track.Config{Kinds: peakKinds})
		openPage(t, b, track.ConnectOptions{})
		began := time.Now()
		seeUsers(a, presence.Site, 5)
		if _, err := a.View(t.Context(), "thread:1"); err != nil {
			t.Fatal(err)
		}
		seeUsers(a, "thread:1", 4)
		time.Sleep(10 * time.Minute) // all have gone, and node a has forgotten thread:1
		if got := a.Stats().Topics; got != 0 {
			t.Fatalf("got %d topics kept current, want none", got)
		}
		store.wipe()
		seeUsers(a, presence.Site, 2)
		time.Sleep(15 * time.Second)
		counts, err := store.Counts(t.Context(), presence.Site)
		if err != nil || counts[0].Peak.Total != 5 || counts[0].Peak.At.Sub(began) > time.Second {
			t.Errorf("got %+v, %v in the store, want 5 from before the wipe", counts, err)
		}
		wantPeak(t, b, "after the wipe", 5, counts[0].Peak.At)
		if _, err := a.View(t.Context(), "thread:1"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(15 * time.Second)
		if counts, err = store.Counts(t.Context(), "thread:1"); err != nil || counts[0].Peak.Total != 4 {
			t.Errorf("got %+v, %v in the store, want the 4 that node a remembers", counts, err)
		}
	})
}

// A reset reaches every node. Nobody brings the old record back, also not after a wipe.
func TestResetPeak(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newSwapStore()
		cfg := track.Config{Kinds: peakKinds}
		a, b := start(t, store, cfg), start(t, store, cfg)
		openPage(t, b, track.ConnectOptions{})
		seeUsers(a, presence.Site, 5)
		time.Sleep(15 * time.Second)
		for i := range 3 {
			_ = a.SignOut(t.Context(), presence.UserID(fmt.Sprint("u", i)))
		}
		wantPeak(t, b, "before", 5, time.Time{})
		reset := time.Now()
		noError(t, a.Staff().ResetPeak(t.Context(), "staff", presence.Site))
		reset = reset.Add(track.FlushInterval)
		synctest.Wait()
		wantPeak(t, b, "at once", 2, reset)
		time.Sleep(time.Minute)
		wantPeak(t, b, "later", 2, reset)
		store.wipe()
		time.Sleep(time.Minute)
		wantPeak(t, b, "after a wipe", 2, reset)
		counts, err := store.Counts(t.Context(), presence.Site)
		if err != nil || counts[0].Peak.Total != 2 || !counts[0].Peak.Since.Equal(reset) {
			t.Errorf("got %+v, %v in the store after a wipe, want 2", counts, err)
		}
		if err := a.Staff().ResetPeak(t.Context(), "staff", "room:1"); err != nil {
			t.Errorf("got %v for a topic without a record, want nil", err)
		}
	})
}

// An old node, which remembers the record from before a reset, does not bring it back.
func TestOldMemoryDoesNotUndoAReset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newSwapStore()
		deaf := &peakDeafStore{Store: store}
		a, b := start(t, store, track.Config{Kinds: peakKinds}), start(t, deaf, track.Config{Kinds: peakKinds})
		openPage(t, b, track.ConnectOptions{})
		seeUsers(a, presence.Site, 5)
		wantPeak(t, b, "before", 5, time.Time{})
		for i := range 5 {
			_ = a.SignOut(t.Context(), presence.UserID(fmt.Sprint("u", i)))
		}
		noError(t, a.Staff().ResetPeak(t.Context(), "staff", presence.Site))
		time.Sleep(30 * time.Second)
		wantPeak(t, b, "after", 0, time.Time{})
		counts, err := store.Counts(t.Context(), presence.Site)
		if err != nil || counts[0].Peak.Total != 0 {
			t.Errorf("got %+v, %v in the store, want the new record", counts, err)
		}
	})
}

// peakDeafStore hears no notice of records.
type peakDeafStore struct{ backend.Store }

func (s *peakDeafStore) Listen(ctx context.Context, fn func(backend.Notice)) (func(), error) {
	return s.Store.Listen(ctx, func(n backend.Notice) {
		if n.Kind != backend.NoticePeak {
			fn(n)
		}
	})
}

func TestResetPeakWhileTheStoreIsOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faults := presencetest.NewFaults(memstore.New())
		a := start(t, faults, track.Config{Kinds: peakKinds})
		openPage(t, a, track.ConnectOptions{})
		seeUsers(a, presence.Site, 3)
		_ = a.SignOut(t.Context(), "u0")
		faults.Break(presencetest.Fault{Err: errors.New("out")}, presencetest.AllCalls()...)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := a.Staff().ResetPeak(ctx, "staff", presence.Site); !errors.Is(err, presence.ErrStoreOut) {
			t.Errorf("got %v, want ErrStoreOut", err)
		}
		time.Sleep(10 * time.Second)
		faults.Heal()
		time.Sleep(20 * time.Second)
		wantPeak(t, a, "when the store was back", 2, time.Time{})
	})
}

// A record of users and guests grows with guests, too.
func TestPeakWithGuests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := start(t, memstore.New(), track.Config{Kinds: map[string]presence.Kind{"site": {Peak: true, PeakGuests: true}}})
		openPage(t, a, track.ConnectOptions{})
		seeUsers(a, presence.Site, 2)
		a.SeenGuest(presence.Site, "g1")
		a.SeenGuest(presence.Site, "g2")
		time.Sleep(1100 * time.Millisecond)
		wantPeak(t, a, "with guests", 4, time.Time{})
	})
}

// The memory of records is bounded.
func TestPeaksAreBounded(t *testing.T) {
	at := time.Now()
	if got := track.PeaksKept(100, 1_000, at); got > 100 || got < 50 {
		t.Errorf("got %d records, want 50 to 100", got)
	}
}
