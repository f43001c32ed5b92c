package track_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
)

// devicesOf returns the devices of a user that a tracker knows of.
func devicesOf(t *testing.T, at *track.Tracker, user presence.UserID) []string {
	t.Helper()
	time.Sleep(time.Second)
	return at.DevicesOf(user)
}

func wantDevices(t *testing.T, d *town, user presence.UserID, want ...string) {
	t.Helper()
	for name, at := range map[string]*track.Tracker{"a": d.a, "b": d.b} {
		if got := devicesOf(t, at, user); !slices.Equal(got, want) {
			t.Errorf("node %s: got devices %q of %s, want %q", name, got, user, want)
		}
	}
}

// User, device, connection: a device is there exactly while a connection or a page view holds
// it, on whichever nodes, and also for a user whom nobody may see.
func TestDevices(t *testing.T) {
	for _, online := range []presence.Audience{presence.Everyone, presence.Contacts, presence.Nobody} {
		bubble(t, string(online), func(t *testing.T) {
			d := newTown(t)
			d.choose(d.a, "alice", presence.Settings{Online: online})
			one := connect(t, d.a, track.ConnectOptions{Visitor: on("alice", "one")})
			again := connect(t, d.b, track.ConnectOptions{Visitor: on("alice", "one")})
			two := connect(t, d.b, track.ConnectOptions{Visitor: on("alice", "two")})
			connect(t, d.b, track.ConnectOptions{Visitor: on("alic", "three")})
			d.a.Seen(presence.Site, user("alice"), on("alice", "view").Device)
			connect(t, d.a, track.ConnectOptions{Visitor: on("alice", "observer"), Observe: true})
			wantDevices(t, d, "alice", "one", "two", "view")
			one.Close()
			time.Sleep(20 * time.Second)
			wantDevices(t, d, "alice", "one", "two", "view")
			again.Close()
			time.Sleep(20 * time.Second)
			wantDevices(t, d, "alice", "two", "view")
			two.Drop()
			wantDevices(t, d, "alice", "view")
			time.Sleep(5 * time.Minute)
			wantDevices(t, d, "alice")
		})
	}
}

// A sign-out ends all devices, on every node.
func TestSignOutEndsDevices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newTown(t)
		connect(t, d.a, track.ConnectOptions{Visitor: on("alice", "one")})
		connect(t, d.b, track.ConnectOptions{Visitor: on("alice", "two")})
		d.b.Seen(presence.Site, user("alice"), on("alice", "view").Device)
		wantDevices(t, d, "alice", "one", "two", "view")
		noError(t, d.a.SignOut(t.Context(), "alice"))
		wantDevices(t, d, "alice")
		connect(t, d.b, track.ConnectOptions{Visitor: on("alice", "two")})
		wantDevices(t, d, "alice", "two")
	})
}

// A token names no topic of this package's own, and a beat at another node is one for the
// device too: it stays although its own node renews nothing.
func TestBeatElsewhereHoldsTheDevice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newTown(t)
		c := connect(t, d.a, track.ConnectOptions{Visitor: on("alice", "one"), Beat: true})
		for range 20 {
			time.Sleep(10 * time.Second)
			if alive, err := d.b.Beat(t.Context(), c.Token(), presence.Visitor{}, track.Page{}); !alive || err != nil {
				t.Fatalf("got alive %v, %v", alive, err)
			}
		}
		wantDevices(t, d, "alice", "one")
		noError(t, d.b.Leave(t.Context(), c.Token(), presence.Visitor{}))
		time.Sleep(20 * time.Second)
		wantDevices(t, d, "alice")
	})
}

// However many devices a client makes up, a user has 33 at most.
func TestDevicesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newTown(t)
		for i := range 100 {
			d.a.Seen(presence.Site, user("alice"), on("alice", presence.DeviceID(fmt.Sprint("d", i))).Device)
			time.Sleep(300 * time.Millisecond)
		}
		if got := devicesOf(t, d.b, "alice"); len(got) != 33 || got[0] != "" {
			t.Errorf("got %d devices, %q first, want 32 and the one without an id", len(got), got[0])
		}
		d.a.Seen(presence.Site, user("bob"), presence.Device{ID: "bad id"})
		wantDevices(t, d, "bob", "")
	})
}

// The bound holds also where all come at once.
func TestDevicesAreBoundedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newTown(t)
		for range 2 {
			for i := range 100 {
				d.a.Seen(presence.Site, user("alice"), on("alice", presence.DeviceID(fmt.Sprint("d", i))).Device)
			}
			time.Sleep(5 * time.Second)
			if got := devicesOf(t, d.b, "alice"); len(got) != 33 || got[0] != "" {
				t.Errorf("got %d devices, %q first, want 32 and the one without an id", len(got), got[0])
			}
		}
	})
}

// After the store lost its data the nodes put every device back, and nobody sees a change.
func TestDevicesComeBackAfterAWipe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newSwapStore()
		d := newTownOn(t, store)
		d.choose(d.a, "alice", presence.Settings{Online: presence.Contacts, Status: presence.Busy})
		connect(t, d.a, track.ConnectOptions{Visitor: on("alice", "one")})
		d.b.Seen(presence.Site, user("alice"), on("alice", "view").Device)
		wantDevices(t, d, "alice", "one", "view")
		store.wipe()
		time.Sleep(15 * time.Second)
		wantDevices(t, d, "alice", "one", "view")
		wantOnline(t, d)
	})
}

// Without a Directory there are no devices, and the store gets nothing of them.
func TestNoDirectoryNoDevices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		tracker := start(t, store, track.Config{})
		connect(t, tracker, track.ConnectOptions{Visitor: on("alice", "one")})
		tracker.Seen(presence.Site, user("alice"), on("alice", "two").Device)
		time.Sleep(time.Second)
		topics, err := store.Topics(t.Context(), "", 100)
		if err != nil || !slices.Equal(topics, []presence.Topic{presence.Site}) {
			t.Errorf("got topics %q, %v, want the site's alone", topics, err)
		}
	})
}

// A user whom rosters do not show is recorded once in a throttle time like any other.
func TestHiddenUserNeedsNoOtherView(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newTown(t)
		d.choose(d.a, "alice", presence.Settings{Online: presence.Contacts})
		seen := time.Now()
		d.a.Seen(presence.Site, user("alice"), on("alice", "one").Device)
		wantDevices(t, d, "alice", "one")
		if d.a.NeedsSeen(presence.Site, "alice", seen) {
			t.Error("another view is needed of a user whose device is known")
		}
		noError(t, d.a.SignOut(t.Context(), "alice"))
		time.Sleep(time.Second)
		if !d.a.NeedsSeen(presence.Site, "alice", time.Now()) {
			t.Error("a user without a device needs a view")
		}
	})
}

// Nobody at any page: the devices of a user turn idle, and back, also those of a user whom
// not everybody sees.
func TestIdleDevices(t *testing.T) {
	for _, online := range []presence.Audience{presence.Everyone, presence.Contacts} {
		bubble(t, string(online), func(t *testing.T) {
			d := newTown(t)
			d.choose(d.a, "alice", presence.Settings{Online: online, Seen: presence.Nobody})
			one := connect(t, d.a, track.ConnectOptions{Visitor: on("alice", "one"), Beat: true})
			two := connect(t, d.b, track.ConnectOptions{Visitor: on("alice", "two"), Beat: true})
			beat := func(idle bool) {
				for at, c := range map[*track.Tracker]*track.Connection{d.a: one, d.b: two} {
					if _, err := at.Beat(t.Context(), c.Token(), presence.Visitor{}, track.Page{Idle: &idle}); err != nil {
						t.Fatal(err)
					}
				}
				time.Sleep(5 * time.Second)
			}
			for range 40 {
				beat(true)
				time.Sleep(5 * time.Second)
			}
			if got := d.a.WordStatus("alice"); got != presence.Idle {
				t.Errorf("got %q, want idle", got)
			}
			beat(false)
			if got := d.a.WordStatus("alice"); got != presence.Online {
				t.Errorf("got %q, want online", got)
			}
		})
	}
}
