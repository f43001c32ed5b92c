package track_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
)

// reachable is a node's own way to a Directory, which may be cut. It counts calls of Saw, and
// the most users in one.
type reachable struct {
	*presencetest.MemoryDirectory
	cut   atomic.Bool
	calls atomic.Int32
	most  atomic.Int32
}

func (d *reachable) Saw(ctx context.Context, at map[presence.UserID]time.Time) error {
	d.calls.Add(1)
	d.most.Store(max(d.most.Load(), int32(len(at))))
	if d.cut.Load() {
		time.Sleep(100 * time.Millisecond)
		return errors.New("cut")
	}
	return d.MemoryDirectory.Saw(ctx, at)
}

// peopleNode is a node of a site that has a Directory.
func peopleNode(t *testing.T, store backend.Store, d presence.Directory, name string) *track.Tracker {
	t.Helper()
	return start(t, store, track.Config{Node: name, Directory: d})
}

// lastSeen returns when the Directory last saw a user.
func lastSeen(t *testing.T, d presence.Directory, id presence.UserID) time.Time {
	t.Helper()
	seen, err := d.LastSeen(t.Context(), id)
	noError(t, err)
	return seen[0].At
}

// wantSeen checks that the Directory has exactly a moment.
func wantSeen(t *testing.T, when string, d presence.Directory, id presence.UserID, want time.Time) {
	t.Helper()
	if got := lastSeen(t, d, id); !got.Equal(want) {
		t.Errorf("%s: got %s last seen at %v, want %v", when, id, got, want)
	}
}

// inTime is how long after a close or a page view the Directory has it (rule P12).
const inTime = 30 * time.Second

// Rule P12: the Directory has the end of a connection and a page view within 30 seconds.
func TestLastSeenIsWrittenInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := presencetest.NewMemoryDirectory()
		tracker := peopleNode(t, memstore.New(), d, "a")
		c := connect(t, tracker, track.ConnectOptions{Visitor: visitor("alice")})
		time.Sleep(time.Minute)
		tracker.Seen("thread:1", user("bob"), presence.Device{})
		viewed := time.Now()
		time.Sleep(inTime)
		wantSeen(t, "after a page view", d, "bob", viewed)
		c.Close()
		closed := time.Now()
		time.Sleep(inTime)
		wantSeen(t, "after a close", d, "alice", closed)
		time.Sleep(10 * time.Minute)
		wantSeen(t, "long after the close", d, "alice", closed)
	})
}

// A sign-out is the moment at which a user was last seen, as the turn to invisible is, also where page views alone held
// the user. Otherwise the Directory would tell who left from who hides.
func TestLastSeenOfSignOuts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := presencetest.NewMemoryDirectory()
		tracker := peopleNode(t, memstore.New(), d, "a")
		for _, id := range []presence.UserID{"alice", "bob"} {
			tracker.Seen(presence.Site, user(string(id)), presence.Device{ID: presence.DeviceID(id + "s phone")})
		}
		time.Sleep(6 * time.Second)
		at := time.Now()
		noError(t, tracker.SignOut(t.Context(), "alice"))
		wantNone := lastSeen(t, d, "alice")
		setStatus(t, tracker, "bob", presence.Invisible)
		noError(t, tracker.SignOut(t.Context(), "carol")) // who was not there
		time.Sleep(inTime)
		for _, id := range []presence.UserID{"alice", "bob"} {
			if got := lastSeen(t, d, id); got.Before(at) || got.Sub(at) > time.Second || !wantNone.Before(at) {
				t.Errorf("got %s last seen at %v, want the moment of leaving, %v", id, got, at)
			}
		}
		wantSeen(t, "after a sign-out of nobody", d, "carol", time.Time{})
	})
}

// Rule P12: a node that dies takes less than five minutes of last seen with it. The users of
// a node do not all have their turn at once, and each has one every four minutes alone.
func TestLastSeenOfOpenConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &reachable{MemoryDirectory: presencetest.NewMemoryDirectory()}
		tracker := peopleNode(t, memstore.New(), d, "a")
		const users = 200
		for i := range users {
			connect(t, tracker, track.ConnectOptions{Visitor: visitor(fmt.Sprint("u", i))})
		}
		time.Sleep(5 * time.Minute)
		d.calls.Store(0)
		for range 40 {
			time.Sleep(15 * time.Second)
			tracker.Seen("thread:1", user("u0"), presence.Device{}) // a view of a user who has a connection waits for the turn
			for i := range users {
				if behind := time.Since(lastSeen(t, d, presence.UserID(fmt.Sprint("u", i)))); behind > 5*time.Minute {
					t.Fatalf("got u%d last seen %v ago while its page is open, want five minutes at most", i, behind)
				}
			}
		}
		if got := d.most.Load(); got > users/4 {
			t.Errorf("got %d users in one write, want them spread over four minutes", got)
		}
		if got := d.calls.Load(); got > 41 {
			t.Errorf("got %d writes in ten minutes, want one each 15 s at most", got)
		}
	})
}

// Rule P12: an earlier moment that a node could not write in time changes nothing later. What
// waited is merged by user, so that the latest moment alone is written.
func TestLastSeenNeverGoesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := presencetest.NewMemoryDirectory()
		cut, fine := &reachable{MemoryDirectory: memory}, &reachable{MemoryDirectory: memory}
		store := memstore.New()
		a, b := peopleNode(t, store, cut, "a"), peopleNode(t, store, fine, "b")
		cut.cut.Store(true)
		a.Seen(presence.Site, user("alice"), presence.Device{})
		a.Seen(presence.Site, user("bob"), presence.Device{})
		time.Sleep(time.Minute)
		a.Seen(presence.Site, user("bob"), presence.Device{})
		latest := time.Now()
		time.Sleep(time.Second)
		b.Seen(presence.Site, user("alice"), presence.Device{})
		at := time.Now()
		time.Sleep(inTime)
		wantSeen(t, "of node b", memory, "alice", at)
		wantSeen(t, "while node a is cut", memory, "bob", time.Time{})
		if got := a.Stats().People.LastSeenWaiting; got != 2 {
			t.Errorf("got %d users waiting, want 2", got)
		}
		cut.cut.Store(false)
		cut.calls.Store(0)
		time.Sleep(inTime)
		wantSeen(t, "after node a was cut", memory, "alice", at)
		wantSeen(t, "after node a was cut", memory, "bob", latest)
		if got := cut.calls.Load(); got != 1 {
			t.Errorf("got %d writes after the outage, want one for both users", got)
		}
		if got := a.Stats().People.LastSeenWaiting; got != 0 {
			t.Errorf("got %d users waiting, want none", got)
		}
	})
}

// Rule P12: a later moment that came while a write failed is not lost to the one of that write.
func TestLastSeenKeepsTheLaterOfTwo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &reachable{MemoryDirectory: presencetest.NewMemoryDirectory()}
		tracker := peopleNode(t, memstore.New(), d, "a")
		d.cut.Store(true)
		tracker.Seen(presence.Site, user("alice"), presence.Device{})
		for d.calls.Load() == 0 {
			time.Sleep(10 * time.Millisecond)
		}
		tracker.Seen(presence.Site, user("alice"), presence.Device{}) // while the write is under way
		latest := time.Now()
		time.Sleep(time.Second)
		d.cut.Store(false)
		time.Sleep(inTime)
		wantSeen(t, "after the outage", d, "alice", latest)
	})
}

// A page that has to beat was last seen with its last beat, also where the beats came to
// another node than the connection's.
func TestLastSeenOfPagesThatBeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := presencetest.NewMemoryDirectory()
		store := memstore.New()
		a, b := peopleNode(t, store, d, "a"), peopleNode(t, store, d, "b")
		alice := connect(t, a, track.ConnectOptions{Visitor: visitor("alice"), Beat: true})
		bob := connect(t, a, track.ConnectOptions{Visitor: visitor("bob"), Beat: true})
		last := make(map[presence.UserID]time.Time)
		for range 8 {
			time.Sleep(15 * time.Second)
			for _, beat := range []struct {
				at   *track.Tracker
				of   *track.Connection
				user presence.UserID
			}{{a, alice, "alice"}, {b, bob, "bob"}} {
				if alive, err := beat.at.Beat(t.Context(), beat.of.Token(), presence.Visitor{}, track.Page{}); err != nil || !alive {
					t.Fatalf("Beat: %v, %v", alive, err)
				}
				last[beat.user] = time.Now()
			}
		}
		time.Sleep(45 * time.Second)
		wantSeen(t, "after the beats", d, "bob", last["bob"])
		time.Sleep(5 * time.Minute)
		wantSeen(t, "after the beats", d, "alice", last["alice"])
		alice.Close() // the server finds out that the client is gone
		time.Sleep(time.Minute)
		wantSeen(t, "after the close", d, "alice", last["alice"])
	})
}

// Nothing is written of users who hide. Who turns hidden loses what waits, because it may
// tell when that was.
func TestLastSeenOfTheHidden(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := presencetest.NewMemoryDirectory()
		tracker := peopleNode(t, memstore.New(), d, "a")
		setStatus(t, tracker, "alice", presence.Invisible)
		c := connect(t, tracker, track.ConnectOptions{Visitor: visitor("alice")})
		tracker.Seen(presence.Site, user("alice"), presence.Device{})
		tracker.Seen(presence.Site, user("bob"), presence.Device{})
		setStatus(t, tracker, "bob", presence.Invisible)
		named := user("carol")
		named.Status = presence.Invisible
		tracker.Seen(presence.Site, named, presence.Device{})
		veiled := user("dave")
		veiled.Veiled = true
		tracker.Seen(presence.Site, veiled, presence.Device{})
		time.Sleep(10 * time.Minute)
		c.Close()
		time.Sleep(time.Minute)
		for _, id := range []presence.UserID{"alice", "bob", "carol", "dave"} {
			wantSeen(t, "while hidden", d, id, time.Time{})
		}
		setStatus(t, tracker, "alice", presence.Online)
		tracker.Seen(presence.Site, user("alice"), presence.Device{})
		at := time.Now()
		time.Sleep(inTime)
		wantSeen(t, "when shown again", d, "alice", at)
	})
}

// A node that closes writes what waits, and ends its connections before. It waits for a
// Directory that is out for a bounded time.
func TestLastSeenIsWrittenByClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &reachable{MemoryDirectory: presencetest.NewMemoryDirectory()}
		tracker := peopleNode(t, memstore.New(), d, "a")
		connect(t, tracker, track.ConnectOptions{Visitor: visitor("alice")})
		tracker.Seen(presence.Site, user("bob"), presence.Device{})
		viewed := time.Now()
		time.Sleep(time.Second)
		d.cut.Store(true)
		go func() {
			time.Sleep(time.Second)
			d.cut.Store(false)
		}()
		closed := time.Now()
		if err := tracker.Close(t.Context()); err != nil {
			t.Error(err)
		}
		wantSeen(t, "after Close", d, "alice", closed)
		wantSeen(t, "after Close", d, "bob", viewed)
		time.Sleep(time.Second) // for a call that Close has abandoned
	})
	synctest.Test(t, func(t *testing.T) {
		d := &reachable{MemoryDirectory: presencetest.NewMemoryDirectory()}
		tracker := peopleNode(t, memstore.New(), d, "a")
		tracker.Seen(presence.Site, user("bob"), presence.Device{})
		d.cut.Store(true)
		began := time.Now()
		if err := tracker.Close(t.Context()); err != nil || time.Since(began) > 5*time.Second {
			t.Errorf("got %v after %v, want Close to give up", err, time.Since(began))
		}
		time.Sleep(time.Second) // for a call that Close has abandoned
		d.cut.Store(false)      // for the Close of the test's end
	})
}

// Those who only watch a topic, and users whom the site hides, are not seen.
func TestLastSeenOfObservers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := presencetest.NewMemoryDirectory()
		tracker := peopleNode(t, memstore.New(), d, "a")
		connect(t, tracker, track.ConnectOptions{Visitor: visitor("alice"), Observe: true})
		staff := visitor("bob")
		staff.User.Hidden = true
		connect(t, tracker, track.ConnectOptions{Visitor: staff})
		tracker.Seen(presence.Site, staff.User, presence.Device{})
		time.Sleep(10 * time.Minute)
		wantSeen(t, "of an observer", d, "alice", time.Time{})
		wantSeen(t, "of a hidden user", d, "bob", time.Time{})
	})
}

// While the Directory is out, a bounded number of users wait, in writes of a bounded size.
func TestLastSeenIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &reachable{MemoryDirectory: presencetest.NewMemoryDirectory()}
		tracker := peopleNode(t, memstore.New(), d, "a")
		tracker.RememberAtMost(2_000)
		d.cut.Store(true)
		for i := range 5_000 {
			tracker.Seen(presence.Site, user(fmt.Sprint("u", i)), presence.Device{})
		}
		time.Sleep(time.Minute)
		if got := tracker.Stats().People.LastSeenWaiting; got > 2_000 || got < 1_000 {
			t.Errorf("got %d users waiting, want 1,000 to 2,000", got)
		}
		d.cut.Store(false)
		time.Sleep(time.Minute)
		if got := tracker.Stats().People.LastSeenWaiting; got != 0 || d.most.Load() > 500 {
			t.Errorf("got %d users waiting and %d in a write, want none, and 500 at most", got, d.most.Load())
		}
		if lastSeen(t, d, "u4999").IsZero() {
			t.Error("the latest user was forgotten, want the oldest forgotten")
		}
	})
}

func setStatus(t *testing.T, tracker *track.Tracker, id presence.UserID, status presence.Status) {
	t.Helper()
	noError(t, tracker.SetStatus(t.Context(), id, status))
}

// A Directory that is out does not make a node unhealthy: pages go on. The figures tell, until
// a call goes well.
func TestHealthWhileTheDirectoryIsOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &reachable{MemoryDirectory: presencetest.NewMemoryDirectory()}
		tracker := peopleNode(t, memstore.New(), d, "a")
		d.cut.Store(true)
		tracker.Seen(presence.Site, user("alice"), presence.Device{})
		time.Sleep(5 * time.Minute)
		s := tracker.Stats().People
		if err := tracker.Health(); err != nil || !s.DirectoryOut || s.Directory["saw"].Failed == 0 || s.Directory["settings"].Failed != 0 {
			t.Errorf("got %v and %+v while the Directory is out, want no error, and failed calls of saw", err, s)
		}
		d.cut.Store(false)
		time.Sleep(time.Minute)
		if s := tracker.Stats().People; s.DirectoryOut {
			t.Error("got DirectoryOut although the latest call went well")
		}
	})
}

// A beat at another node, of which only the token is known, tells the Directory of a user whom
// the roster shows, and of nobody else.
func TestLastSeenOfBeatsByToken(t *testing.T) {
	for _, tt := range []struct {
		name string
		hide func(*presence.User)
		want bool
	}{
		{"shown", func(*presence.User) {}, true},
		{"invisible", func(u *presence.User) { u.Status = presence.Invisible }, false},
		{"veiled", func(u *presence.User) { u.Veiled = true }, false},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			d, store := presencetest.NewMemoryDirectory(), memstore.New()
			a, b := peopleNode(t, store, d, "a"), peopleNode(t, store, d, "b")
			time.Sleep(time.Second)
			v := visitor("alice")
			tt.hide(&v.User)
			c := connect(t, a, track.ConnectOptions{Visitor: v, Beat: true})
			var beaten time.Time
			for range 6 {
				time.Sleep(20 * time.Second)
				pass, err := b.Pass(t.Context(), c.Token())
				noError(t, err)
				beaten = time.Now()
				if alive, err := pass.Beat(t.Context(), track.Page{}); !alive || err != nil {
					t.Fatalf("Beat: got %v and error %v", alive, err)
				}
			}
			time.Sleep(15 * time.Minute)
			if got := lastSeen(t, d, "alice"); got.IsZero() == tt.want || tt.want && got.Sub(beaten).Abs() > time.Second {
				t.Errorf("got last seen %v; the latest beat was at %v", got, beaten)
			}
		})
	}
}
