package track_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/track"
)

// endings are the users whose status ended, and when.
type endings struct {
	mu    sync.Mutex
	began time.Time
	lines []string
}

func (e *endings) add(user presence.UserID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.lines = append(e.lines, fmt.Sprintf("%s after %v", user, time.Since(e.began).Truncate(time.Second)))
}

func (e *endings) want(t *testing.T, want ...string) {
	t.Helper()
	synctest.Wait()
	e.mu.Lock()
	defer e.mu.Unlock()
	if !slices.Equal(e.lines, want) {
		t.Errorf("got %q, want %q", e.lines, want)
	}
	e.lines = nil
}

// Rule P7: a status with an end ends within a second of it, once, at the latest end that was
// noted. An end in the past is over at once.
func TestStatusesEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &endings{began: time.Now()}
		u := track.NewUntils(e.add)
		defer u.Stop()
		in := func(d time.Duration) time.Time { return e.began.Add(d) }
		u.Set("hour", in(time.Hour))
		u.Set("minute", in(time.Minute)) // sooner than the one that is waited for
		u.Set("longer", in(time.Minute))
		u.Set("longer", in(2*time.Minute))
		u.Set("never", in(time.Minute))
		u.Set("never", time.Time{})
		u.Set("shorter", in(time.Hour))
		u.Set("shorter", in(3*time.Minute))
		time.Sleep(59 * time.Second)
		e.want(t)
		time.Sleep(2 * time.Second)
		e.want(t, "minute after 1m0s")
		time.Sleep(2 * time.Minute)
		e.want(t, "longer after 2m0s", "shorter after 3m0s")
		time.Sleep(time.Hour)
		e.want(t, "hour after 1h0m0s")
		u.Set("past", in(time.Minute))
		time.Sleep(2 * time.Second)
		e.want(t, "past after 1h3m2s")
		u.Set("again", in(2*time.Hour)) // after the goroutine has ended
		time.Sleep(time.Hour)
		e.want(t, "again after 2h0m0s")
	})
}

// A tracker that closes does not wait for the ends of statuses.
func TestStatusesDoNotEndAfterClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &endings{began: time.Now()}
		u := track.NewUntils(e.add)
		u.Set("alice", e.began.Add(time.Minute))
		u.Stop()
		u.Set("bob", e.began.Add(time.Minute))
		time.Sleep(time.Hour)
		e.want(t)
	})
}

// Rule P7: a status with an end ends on whichever node holds the user, also where the node
// learned of it from the Directory alone. It is heard as a status is that the user chose: a
// user who was invisible joins. A later choice without an end stays.
func TestStatusesEndInRosters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newTown(t)
		w := openPage(t, d.a, track.ConnectOptions{})
		w.want("state ")
		until := time.Now().Add(time.Hour)
		busy, gone := presence.Settings{Status: presence.Busy, Text: "in a call", Until: until}, presence.Settings{Status: presence.Invisible, Until: until}
		for id, s := range map[presence.UserID]presence.Settings{"alice": busy, "bob": gone, "later": gone} {
			d.directory.Choose(id, s) // before any node knew
		}
		connect(t, d.b, track.ConnectOptions{Visitor: on("alice", "one")})
		connect(t, d.b, track.ConnectOptions{Visitor: on("bob", "one")})
		connect(t, d.b, track.ConnectOptions{Visitor: on("later", "one")})
		connect(t, d.a, track.ConnectOptions{Visitor: on("carol", "one")})
		d.choose(d.b, "carol", busy)
		d.choose(d.a, "later", presence.Settings{Status: presence.Invisible})
		w.skip()
		shown := func(want map[presence.UserID]presence.Status) {
			t.Helper()
			for name, at := range map[string]*track.Tracker{"a": d.a, "b": d.b} {
				people, err := at.People().Find(t.Context(), "viewer", "alice", "bob", "carol", "later")
				noError(t, err)
				for _, p := range people {
					if p.Status != want[p.ID] {
						t.Errorf("node %s: got %s %q, want %q", name, p.ID, p.Status, want[p.ID])
					}
					if text := map[bool]string{true: "in a call"}[p.Status == presence.Busy]; p.Text != text {
						t.Errorf("node %s: got the text %q of %s, want %q", name, p.Text, p.ID, text)
					}
				}
			}
		}
		time.Sleep(time.Until(until) - time.Second)
		w.want()
		shown(map[presence.UserID]presence.Status{"alice": presence.Busy, "carol": presence.Busy})
		time.Sleep(3 * time.Second)
		w.settle()
		if w.read(); w.roster["site"]["bob"] == "" || w.roster["site"]["later"] != "" {
			t.Errorf("got %v in the site, want bob there and not later", w.roster["site"])
		}
		shown(map[presence.UserID]presence.Status{"alice": presence.Online, "bob": presence.Online, "carol": presence.Online})
		people, _ := d.a.People().Find(t.Context(), "viewer", "bob")
		if got := people[0].Since; got.Sub(until).Abs() > 2*time.Second {
			t.Errorf("got bob online since %v, want since the end at %v", got, until)
		}
		time.Sleep(time.Hour)
		w.want()
	})
}
