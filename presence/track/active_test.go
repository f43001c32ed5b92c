package track_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/track"
)

// activeOf returns the "active" of a user as a page has it, without date and seconds.
func (p *page) activeOf(user string) string {
	p.t.Helper()
	p.skip()
	profile := p.roster["site"][user]
	_, at, _ := strings.Cut(profile, "active:2000-01-01T")
	if at == "" {
		return ""
	}
	return at[:8]
}

// A page view tells readers that a user is active, once a minute at most: as a join of the
// user, who stays since before. A reader who resumes, and one at another node, is told too.
func TestActiveIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newSwapStore()
		cfg := track.Config{Kinds: map[string]presence.Kind{"site": {Active: true}}}
		a, b := start(t, store, cfg), start(t, store, cfg)
		w := watch(t, b)
		connect(t, a, track.ConnectOptions{Visitor: visitor("alice")})
		w.want("diff +alice -")
		since := w.roster["site"]["alice"]
		if got := w.activeOf("alice"); got != "00:00:00" {
			t.Errorf("got active %q, want the minute of the join", got)
		}
		cursor := w.conn.Cursor()
		time.Sleep(5*time.Minute + 30*time.Second)
		w.want()
		for range 20 { // views within two minutes
			a.Seen(presence.Site, user("alice"), presence.Device{})
			time.Sleep(3 * time.Second)
		}
		w.settle()
		if got := strings.Join(w.read(), ","); got != "diff +alice -,diff +alice -" {
			t.Errorf("got %q, want two diffs of twenty views within two minutes", got)
		}
		if got := w.activeOf("alice"); got != "00:06:00" {
			t.Errorf("got active %q, want the minute of the latest view", got)
		}
		if now := w.roster["site"]["alice"]; since[strings.Index(since, "since:"):] != now[strings.Index(now, "since:"):] {
			t.Errorf("got %s, want the since of %s", now, since)
		}
		late := openPage(t, a, track.ConnectOptions{Cursor: cursor})
		late.roster["site"] = map[string]string{"alice": since}
		late.want("diff +alice -")
		if got := late.activeOf("alice"); got != "00:06:00" {
			t.Errorf("got active %q of a reader who resumed, want 00:06:00", got)
		}
	})
}

// A store that lost its data says the moment of the restore for all. Readers are not told of
// it: each user's Active stays, as Since does, and the next view moves it.
func TestActiveSurvivesAWipe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newSwapStore()
		a := start(t, store, track.Config{Kinds: map[string]presence.Kind{"site": {Active: true}}})
		w := watch(t, a)
		for i := range 5 {
			connect(t, a, track.ConnectOptions{Visitor: visitor(fmt.Sprint("u", i))})
		}
		w.skip()
		time.Sleep(10 * time.Minute)
		store.wipe()
		time.Sleep(2 * time.Minute)
		w.want("diff + -") // a new cursor, and nothing else
		a.Seen(presence.Site, user("u1"), presence.Device{})
		w.want("diff +u1 -")
		if got := w.activeOf("u1"); got != "00:12:00" {
			t.Errorf("got active %q, want 00:12:00", got)
		}
		if got := w.activeOf("u2"); got != "00:00:00" {
			t.Errorf("got active %q of a user who viewed nothing, want 00:00:00", got)
		}
	})
}
