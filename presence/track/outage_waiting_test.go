package track_test

import (
	"cmp"
	"fmt"
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

// Alice's page at node A closes while A cannot write. She signs out at node B, and A finds the
// store back: its release must not renew her lease.
func TestSignOutBeforeAReleaseIsWritten(t *testing.T) {
	for _, wait := range []time.Duration{2 * time.Second, 30 * time.Second} {
		t.Run(wait.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				memory := memstore.New()
				slow := presencetest.NewFaults(memory)
				a := start(t, slow, track.Config{Node: "a"})
				b := start(t, memory, track.Config{Node: "b"})
				time.Sleep(20 * time.Second)
				c := connect(t, a, track.ConnectOptions{Visitor: visitor("alice"), Topics: []presence.Topic{presence.Site, "thread:1"}})
				time.Sleep(time.Second)
				if stored(t, memory, presence.Site) == "" {
					t.Fatal("alice is not online")
				}
				slow.Break(presencetest.Fault{Err: errDown}, presencetest.CallApply, presencetest.CallCounts)
				c.Close() // before A notices
				time.Sleep(wait)
				noError(t, b.SignOut(t.Context(), "alice"))
				time.Sleep(20 * time.Second)
				if got := stored(t, memory, presence.Site); got != "" {
					t.Fatal("after the sign-out: ", got)
				}
				slow.Heal()
				for range 200 {
					time.Sleep(50 * time.Millisecond)
					if got := stored(t, memory, presence.Site); got != "" {
						t.Fatalf("alice signed out over 20 s ago, and is shown: %q", got)
					}
				}
			})
		})
	}
}

// Node A does not reach the store, and hears late that Alice signed out. Her page there closed
// meanwhile: A must not make its lease again.
func TestSignOutHeardAfterThePageClosed(t *testing.T) {
	v := visitor("alice")
	v.Browser, v.Device.ID = "firefox", "phone"
	for _, n := range []backend.Notice{
		backend.SignOutNotice("alice"),
		{Kind: backend.NoticeSignedOut, User: "alice", Payload: "browser firefox", Lasting: true},
		{Kind: backend.NoticeSignedOut, User: "alice", Payload: "device phone", Lasting: true},
	} {
		t.Run(cmp.Or(n.Payload, "everything"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				memory := memstore.New()
				away := presencetest.NewFaults(memory)
				directory := presencetest.NewMemoryDirectory()
				a := start(t, away, track.Config{Node: "a", Directory: directory})
				start(t, memory, track.Config{Node: "b", Directory: directory}) // sweeps
				c := connect(t, a, track.ConnectOptions{Visitor: v})
				time.Sleep(time.Second)
				away.Break(presencetest.Fault{Err: errDown})
				n.Ago = 2 * time.Minute
				time.Sleep(n.Ago)
				if got := stored(t, memory, presence.Site); got != "" {
					t.Fatal("when the lease has expired: ", got)
				}
				c.Close()
				n.Ago -= time.Second
				noError(t, memory.Publish(t.Context(), n))
				away.Heal()
				for range 200 {
					time.Sleep(50 * time.Millisecond)
					if got := stored(t, memory, presence.Site); got != "" {
						t.Fatalf("alice signed out two minutes ago, and is shown: %q", got)
					}
				}
			})
		})
	}
}

// The store lost its data once, and then one write fails every six seconds.
func TestProvisionalRosterOfAFlappingStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newSwapStore()
		flaps := presencetest.NewFaults(store)
		a := start(t, flaps, track.Config{Node: "a"})
		w := watch(t, a)
		faults := presencetest.NewFaults(store)
		away := start(t, faults, track.Config{Node: "away"})
		connect(t, away, track.ConnectOptions{Visitor: visitor("ghost")})
		time.Sleep(2 * time.Second)
		faults.Break(presencetest.Fault{Err: errDown}) // the node dies
		store.wipe()
		for range 100 {
			time.Sleep(6 * time.Second)
			flaps.Break(presencetest.Fault{Err: errDown, Times: 1}, presencetest.CallApply)
			a.SeenGuest(presence.Site, "g")
		}
		w.read()
		if got := len(w.roster["site"]); got != 0 {
			t.Errorf("ten minutes after a node died the site still shows %v", w.roster["site"])
		}
	})
}

// A page view that waits while the store is out holds its user for as long as one that is written at once.
func TestViewsThatWaitedEndInTime(t *testing.T) {
	for outage, want := range map[time.Duration]string{
		2 * time.Minute: "join 2m0s, leave 5m0s",
		6 * time.Minute: "",
	} {
		bubble(t, fmt.Sprint(outage), func(t *testing.T) {
			memory := memstore.New()
			faults := presencetest.NewFaults(memory)
			a := start(t, faults, track.Config{Node: "a"})
			noError(t, a.SetStatus(t.Context(), "alice", presence.Busy)) // so the view does not wait for what she chose
			began, got := time.Now(), []string(nil)
			note := func(did string) { got = append(got, fmt.Sprint(did, " ", time.Since(began).Round(5*time.Second))) }
			faults.Break(presencetest.Fault{Err: errDown})
			a.Seen(presence.Site, user("alice"), presence.Device{})
			time.Sleep(outage)
			faults.Heal()
			for there := false; time.Since(began) < 15*time.Minute; time.Sleep(time.Second) {
				now := stored(t, memory, presence.Site) != ""
				switch {
				case now && !there:
					note("join")
				case there && !now:
					note("leave")
				}
				there = now
			}
			if got := strings.Join(got, ", "); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

// An outage ends for a node whose waiting operations were given up, so that it has nothing to write when the store is
// back.
func TestOutageInWhichNothingIsLeftToWrite(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		faults := presencetest.NewFaults(memstore.New())
		tracker := start(t, faults, track.Config{})
		reader := openPage(t, tracker, track.ConnectOptions{})
		reader.want("state ")
		time.Sleep(time.Minute)
		faults.Break(presencetest.Fault{Err: errDown}, presencetest.CallApply, presencetest.CallPoll)
		tracker.Seen(presence.Site, user("alice"), presence.Device{})
		time.Sleep(20 * time.Minute) // until the page view is too old to be written
		if !tracker.StoreOut() {
			t.Error("the store is not out")
		}
		faults.Heal()
		time.Sleep(5 * time.Second)
		if tracker.StoreOut() {
			t.Error("the store is still out")
		}
	})
}
