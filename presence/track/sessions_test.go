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
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
)

// wantSessions checks a user's sessions at both nodes, each as "<device> <connections>".
func (d *town) wantSessions(user presence.UserID, want ...string) {
	d.t.Helper()
	time.Sleep(time.Second)
	for _, at := range []*track.Tracker{d.a, d.b} {
		sessions, err := at.People().Sessions(d.t.Context(), user)
		var got []string
		for _, s := range sessions {
			got = append(got, fmt.Sprint(s.ID, " ", s.Connections))
		}
		if err != nil || !slices.Equal(got, want) {
			d.t.Errorf("got sessions %q of %s, %v, want %q", got, user, err, want)
		}
	}
}

func (d *town) end(at *track.Tracker, user presence.UserID, device presence.DeviceID) {
	d.t.Helper()
	if err := at.People().EndSession(d.t.Context(), user, device); err != nil {
		d.t.Errorf("EndSession: %v", err)
	}
}

// wantOnly checks that nobody else's device than the given ones ever left @people.
func (d *town) wantOnlyLeaves(devices ...string) {
	d.t.Helper()
	diffs, err := d.store.Log(d.t.Context(), "@people", "")
	noError(d.t, err)
	for _, diff := range diffs {
		for _, l := range diff.Leaves {
			_, device, _ := strings.Cut(string(l.ID), "\x1e")
			if !slices.Contains(devices, device) {
				d.t.Errorf("got a leave of %q, want none but those of %q", l.ID, devices)
			}
		}
	}
}

// Sessions are the devices of a user, the latest first, with their connections on all nodes.
func TestSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newTown(t)
		began := time.Now()
		phone := on("alice", "phone")
		phone.Device.Kind, phone.Device.Label = presence.Mobile, "Safari on iOS"
		connect(t, d.a, track.ConnectOptions{Visitor: phone})
		connect(t, d.b, track.ConnectOptions{Visitor: phone})
		time.Sleep(time.Minute)
		d.b.Seen(presence.Site, user("alice"), on("alice", "laptop").Device)
		connect(t, d.b, track.ConnectOptions{Visitor: on("alic", "other")})
		d.wantSessions("alice", "laptop 0", "phone 2")
		d.wantSessions("bob")
		sessions, err := d.a.People().Sessions(t.Context(), "alice")
		if err != nil || len(sessions) != 2 || sessions[1].Device != phone.Device || sessions[1].Since.Sub(began).Abs() > time.Second {
			t.Errorf("got %+v, %v, want the phone second, since the start", sessions, err)
		}
		plain := start(t, memstore.New(), track.Config{})
		if _, err := plain.People().Sessions(t.Context(), "alice"); !errors.Is(err, presence.ErrNoDirectory) {
			t.Errorf("got %v without a Directory, want ErrNoDirectory", err)
		}
	})
}

// Rule P11: the connections of a device end on every node within a second, and its page views
// count no longer. The user's other devices show nothing: neither in the site nor in @people.
func TestEndSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newTown(t)
		readers := []*page{openPage(t, d.a, track.ConnectOptions{}), openPage(t, d.b, track.ConnectOptions{})}
		d.a.Seen(presence.Site, user("alice"), on("alice", "laptop").Device)
		here, there := connect(t, d.a, track.ConnectOptions{Visitor: on("alice", "laptop")}), connect(t, d.b, track.ConnectOptions{Visitor: on("alice", "laptop")})
		phone := connect(t, d.b, track.ConnectOptions{Visitor: on("alice", "phone")})
		foreign := connect(t, d.b, track.ConnectOptions{Visitor: on("bob", "laptop")})
		d.b.Seen(presence.Site, user("alice"), on("alice", "laptop").Device)
		d.wantSessions("alice", "phone 1", "laptop 2")
		for _, r := range readers {
			r.skip()
		}
		before := time.Now()
		d.end(d.a, "alice", "laptop")
		synctest.Wait()
		if took := time.Since(before); took > time.Second {
			t.Errorf("the end of the session took %v, want a second at most", took)
		}
		wantEnded(t, "the laptop's session ended", true, here, there)
		wantEnded(t, "the laptop's session ended", false, phone, foreign)
		d.wantSessions("alice", "phone 1")
		d.wantSessions("bob", "laptop 1")
		time.Sleep(time.Minute)
		for _, r := range readers {
			r.want()
		}
		d.wantOnlyLeaves("laptop")

		phone.Close() // page views of the laptop do not hold her
		time.Sleep(20 * time.Second)
		for _, r := range readers {
			r.want("diff + -alice")
		}
		d.wantSessions("alice")
	})
}

// Rule P11: the end of the last session is a sign-out.
func TestEndOfTheLastSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newTown(t)
		site, thread := openPage(t, d.a, track.ConnectOptions{}), openPage(t, d.b, track.ConnectOptions{Topics: []presence.Topic{"thread:1"}})
		laptop := connect(t, d.b, track.ConnectOptions{Visitor: on("alice", "laptop"), Topics: []presence.Topic{presence.Site, "thread:1"}})
		d.a.Seen(presence.Site, user("alice"), on("alice", "laptop").Device)
		d.b.Seen("thread:1", user("alice"), on("alice", "laptop").Device)
		d.wantSessions("alice", "laptop 1")
		for _, r := range []*page{site, thread} {
			r.skip()
		}
		d.end(d.a, "alice", "laptop")
		wantEnded(t, "the session ended", true, laptop)
		site.want("diff + -alice")
		thread.want("diff + -alice")
		d.wantSessions("alice")
		connect(t, d.b, track.ConnectOptions{Visitor: on("alice", "laptop")}) // signed in again
		site.want("diff +alice -")
		d.wantSessions("alice", "laptop 1")
		d.a.Seen("thread:1", user("alice"), on("alice", "laptop").Device)
		thread.want("diff +alice -")
	})
}

// Rule P11: page views without a stream end, too, where no other device may have viewed pages.
// The page views of another device stay.
func TestEndSessionEndsPageViews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newTown(t)
		topics := []presence.Topic{presence.Site, "thread:1", "thread:2", "thread:3", "thread:4"}
		readers := make(map[presence.Topic]*page)
		for _, topic := range topics {
			readers[topic] = openPage(t, d.b, track.ConnectOptions{Topics: []presence.Topic{topic}})
		}
		laptop, tablet := on("alice", "laptop").Device, on("alice", "tablet").Device
		connect(t, d.b, track.ConnectOptions{Visitor: on("alice", "phone"), Topics: []presence.Topic{"thread:2"}})
		time.Sleep(time.Second)
		d.a.Seen("thread:3", user("alice"), tablet)
		d.a.Seen("thread:4", user("alice"), tablet)
		d.a.Seen(presence.Site, user("alice"), tablet)
		time.Sleep(time.Second)
		connect(t, d.a, track.ConnectOptions{Visitor: on("alice", "laptop"), Topics: []presence.Topic{"thread:3", "thread:4", presence.Site}})
		time.Sleep(time.Second)
		for _, topic := range topics[:4] {
			d.a.Seen(topic, user("alice"), laptop)
		}
		d.wantSessions("alice", "laptop 1", "tablet 0", "phone 1")
		for _, topic := range topics {
			readers[topic].settle()
			readers[topic].read()
		}
		d.end(d.b, "alice", "laptop")
		readers["thread:1"].want("diff + -alice") // the laptop's alone
		readers["thread:2"].want()                // the phone has a stream there
		readers["thread:3"].want()                // the tablet viewed a page
		readers["thread:4"].want()                // the same, before the laptop's stream opened (rule 3)
		readers[presence.Site].want()
		d.wantSessions("alice", "tablet 0", "phone 1")
		d.wantOnlyLeaves("laptop")
	})
}

// In "site" a page view of another device may be of any node, so the user stays there.
func TestEndSessionKeepsTheSite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newTown(t)
		w := openPage(t, d.a, track.ConnectOptions{})
		d.b.Seen(presence.Site, user("alice"), on("alice", "tablet").Device)
		d.a.Seen(presence.Site, user("alice"), on("alice", "laptop").Device)
		d.wantSessions("alice", "laptop 0", "tablet 0")
		w.skip()
		d.end(d.a, "alice", "laptop")
		w.want()
		d.wantSessions("alice", "tablet 0")
		time.Sleep(6 * time.Minute) // an age period
		w.want("diff + -alice")
	})
}

// Nothing happens for a device that is not there, for another user's, or for a guest. An id
// that no device can have is an error.
func TestEndSessionOfUnknownDevices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newTown(t)
		w := openPage(t, d.a, track.ConnectOptions{})
		alice, bob := connect(t, d.a, track.ConnectOptions{Visitor: on("alice", "laptop")}), connect(t, d.b, track.ConnectOptions{Visitor: on("bob", "phone")})
		strange := connect(t, d.b, track.ConnectOptions{Visitor: visitor("alice")})
		w.skip()
		d.end(d.a, "alice", "phone")
		d.end(d.b, "alice", "another")
		d.end(d.b, "carol", "laptop")
		d.end(d.b, "", "laptop")
		wantEnded(t, "others' sessions ended", false, alice, bob, strange)
		w.want()
		d.wantSessions("alice", " 1", "laptop 1")
		if err := d.a.People().EndSession(t.Context(), "alice", "no/id"); !errors.Is(err, presence.ErrInvalidDevice) {
			t.Errorf("got %v, want ErrInvalidDevice", err)
		}
		plain := start(t, memstore.New(), track.Config{})
		if err := plain.People().EndSession(t.Context(), "alice", "laptop"); !errors.Is(err, presence.ErrNoDirectory) {
			t.Errorf("got %v without a Directory, want ErrNoDirectory", err)
		}
		d.end(d.a, "alice", "") // the device of which nothing is known
		wantEnded(t, "the unknown device's session ended", true, strange)
		wantEnded(t, "the unknown device's session ended", false, alice)
		w.want()
	})
}

// A notice that comes late, because its node could not reach the store, spares connections
// and page views since.
func TestLateEndOfASession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faults := presencetest.NewFaults(memstore.New())
		d := newTownOn(t, faults)
		old := connect(t, d.b, track.ConnectOptions{Visitor: on("alice", "laptop")})
		connect(t, d.b, track.ConnectOptions{Visitor: on("alice", "phone")})
		time.Sleep(time.Second)
		faults.Break(presencetest.Fault{Err: errors.New("out")}, presencetest.CallPublish)
		if err := d.a.People().EndSession(t.Context(), "alice", "laptop"); !errors.Is(err, presence.ErrStoreOut) {
			t.Errorf("got %v, want ErrStoreOut", err)
		}
		time.Sleep(time.Second)
		wantEnded(t, "node b has not heard of it", false, old)
		again := connect(t, d.b, track.ConnectOptions{Visitor: on("alice", "laptop")})
		d.b.Seen(presence.Site, user("alice"), on("alice", "laptop").Device)
		time.Sleep(time.Second)
		faults.Heal()
		time.Sleep(5 * time.Second)
		wantEnded(t, "node b has heard of it", true, old)
		wantEnded(t, "node b has heard of it", false, again)
		d.wantSessions("alice", "laptop 1", "phone 1")
	})
}

// A page view that waits until the user's settings are known does not bring back a device
// whose session ended meanwhile.
func TestEndedDeviceStaysAwayFromWaitingViews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newTown(t)
		w := openPage(t, d.a, track.ConnectOptions{})
		w.want("state ")
		d.directory.Fail(errors.New("out"))
		d.b.Seen(presence.Site, user("alice"), on("alice", "laptop").Device)
		d.b.Seen("thread:1", user("alice"), on("alice", "phone").Device)
		time.Sleep(time.Second)
		d.end(d.a, "alice", "laptop")
		d.directory.Fail(nil)
		time.Sleep(5 * time.Second)
		d.wantSessions("alice", "phone 0")
		w.want()
	})
}

// Ends of sessions of devices that nobody knows leave nothing that waits for the store, and those
// of one that is known leave one operation.
func TestEndsOfUnknownSessions(t *testing.T) {
	const many = 12_000
	synctest.Test(t, func(t *testing.T) {
		faults := presencetest.NewFaults(memstore.New())
		d := newTownOn(t, faults)
		a := d.a
		connect(t, a, track.ConnectOptions{Visitor: on("alice", "laptop")})
		connect(t, d.b, track.ConnectOptions{Visitor: on("alice", "phone")})
		time.Sleep(5 * time.Second)
		d.end(a, "alice", "x")
		faults.Break(presencetest.Fault{Err: errDown})
		time.Sleep(3 * time.Second)
		waits := a.Stats().Pending
		for i := range many {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
			if err := a.People().EndSession(ctx, "alice", presence.DeviceID(fmt.Sprint("y", i))); !errors.Is(err, presence.ErrStoreOut) {
				t.Fatalf("in an outage: got %v, want ErrStoreOut", err)
			}
			cancel()
		}
		for range many { // one that is known, and at another node
			_ = a.People().EndSession(t.Context(), "alice", "phone")
		}
		if got := a.Stats().Pending; got > waits+4 {
			t.Errorf("got %d operations that wait, and %d before 24,000 ends of sessions", got, waits)
		}
		faults.Heal()
		d.wantSessions("alice", "laptop 1")
	})
}
