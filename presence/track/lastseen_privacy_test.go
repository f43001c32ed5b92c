package track_test

import (
	"context"
	"encoding/base64"
	"errors"
	"slices"
	"strings"
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

// asked is a Directory that counts the queries for settings, and the users in them.
type asked struct {
	*presencetest.MemoryDirectory
	queries, users atomic.Int32
}

func (d *asked) Settings(ctx context.Context, users ...presence.UserID) ([]presence.Settings, error) {
	d.queries.Add(1)
	d.users.Add(int32(len(users)))
	return d.MemoryDirectory.Settings(ctx, users...)
}

// chooses is a directory in which the site itself sets what users chose.
type chooses interface {
	presence.Directory
	Choose(user presence.UserID, s presence.Settings)
}

// leftBehind makes users come and leave, and then choose settings, so that the store still
// knows of their time there.
func leftBehind(t *testing.T, d chooses) *track.Tracker {
	t.Helper()
	tracker := start(t, memstore.New(), track.Config{Directory: d, Kinds: map[string]presence.Kind{"site": {Recent: 100}}})
	for _, id := range []string{"plain", "contacts", "nobody", "invisible", "hidden"} {
		connect(t, tracker, track.ConnectOptions{Visitor: visitor(id)}).Close()
	}
	time.Sleep(time.Minute)
	connect(t, tracker, track.ConnectOptions{Visitor: visitor("here")})
	for id, s := range map[presence.UserID]presence.Settings{
		"contacts": {Seen: presence.Contacts}, "nobody": {Seen: presence.Nobody}, "here": {Seen: presence.Nobody},
		"invisible": {Status: presence.Invisible}, "hidden": {Online: presence.Nobody},
	} {
		d.Choose(id, s) // by the site itself: no node has heard of it
	}
	return tracker
}

// Rules P2, P4 and P5: Sightings tell the last seen of users whose settings let everybody
// know it, and of no other. The query is the same for users who hide and for users who never
// came. While the Directory is out nobody has a last seen.
func TestSightingsWithoutLastSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &asked{MemoryDirectory: presencetest.NewMemoryDirectory()}
		tracker := leftBehind(t, d)
		users := []presence.UserID{"plain", "contacts", "nobody", "invisible", "hidden", "here", "never"}
		sight := func() (seen, online []presence.UserID) {
			t.Helper()
			all, err := tracker.Sightings(t.Context(), presence.Site, users...)
			if err != nil || len(all) != len(users) {
				t.Fatalf("got %d sightings, %v", len(all), err)
			}
			for i, s := range all {
				if !s.LastSeen.IsZero() {
					seen = append(seen, users[i])
				}
				if s.Online {
					online = append(online, users[i])
				}
			}
			return seen, online
		}
		seen, online := sight()
		if !slices.Equal(seen, []presence.UserID{"plain", "invisible"}) || !slices.Equal(online, []presence.UserID{"here"}) {
			t.Errorf("got last seen of %q and %q online, want of plain, of invisible as of one who left, and here", seen, online)
		}
		ask := func(id presence.UserID) [2]int32 {
			d.queries.Store(0)
			d.users.Store(0)
			if _, err := tracker.Sightings(t.Context(), presence.Site, id); err != nil {
				t.Fatal(err)
			}
			return [2]int32{d.queries.Load(), d.users.Load()}
		}
		for _, id := range users {
			want := [2]int32{1, 1}
			if id == "here" {
				want = [2]int32{}
			}
			if got := ask(id); got != want {
				t.Errorf("got %d queries for %d users about %s, want %v", got[0], got[1], id, want)
			}
		}
		d.Fail(errors.New("out"))
		if seen, online := sight(); len(seen) > 0 || len(online) != 1 {
			t.Errorf("got last seen of %q and %q online while the Directory is out, want nobody and here", seen, online)
		}
	})
}

// Rules P4 and P5: a user who is away, and whose last seen is not for everybody, is in no
// list of recent users, and in no number of them.
func TestRecentWithoutTheUnseen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := presencetest.NewMemoryDirectory()
		tracker := leftBehind(t, d)
		check := func(when string, total int, want ...presence.UserID) {
			t.Helper()
			for name, read := range map[string]func() (backend.RecentPage, error){
				"Recent": func() (backend.RecentPage, error) {
					return tracker.Recent(t.Context(), presence.Site, backend.RecentQuery{Within: time.Hour, Limit: 10})
				},
				"LatelyActive": func() (backend.RecentPage, error) {
					return tracker.LatelyActive(t.Context(), presence.Site, time.Hour, 10)
				},
			} {
				page, err := read()
				var got []presence.UserID
				for _, u := range page.Users {
					got = append(got, u.ID)
				}
				slices.Sort(got)
				if err != nil || page.Total != total || !slices.Equal(got, want) {
					t.Errorf("%s: got %q of %d by %s, %v, want %q of %d", when, got, page.Total, name, err, want, total)
				}
			}
		}
		check("in order", 3, "here", "invisible", "plain")
		noError(t, tracker.People().ChangeSettings(t.Context(), "plain", to(presence.Settings{Seen: presence.Contacts})))
		check("at once after a change", 2, "here", "invisible")
		noError(t, tracker.People().ChangeSettings(t.Context(), "plain", to(presence.Settings{})))
		time.Sleep(5 * time.Second)
		check("shown again", 3, "here", "invisible", "plain")
		d.Fail(errors.New("out"))
		time.Sleep(5 * time.Second)
		check("out", 1, "here")
	})
}

// Rule P2: where the next page begins says nothing of a user whom the page leaves out, and a
// page of one user goes on to the next whom it may show.
func TestRecentNextTellsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := leftBehind(t, presencetest.NewMemoryDirectory())
		var got []presence.UserID
		q, lengths := backend.RecentQuery{Within: time.Hour, Limit: 1}, map[int]bool{}
		for range 10 {
			page, err := tracker.Recent(t.Context(), presence.Site, q)
			noError(t, err)
			if page.Total != 3 {
				t.Errorf("got a total of %d on a page of one, want 3 on all: those whom the pages have", page.Total)
			}
			for _, u := range page.Users {
				got = append(got, u.ID)
			}
			for _, id := range []string{"contacts", "nobody", "hidden"} {
				raw, _ := base64.RawURLEncoding.DecodeString(page.Next)
				if strings.Contains(page.Next, id) || strings.Contains(string(raw), id) {
					t.Errorf("got the next page %q, which names %s", page.Next, id)
				}
			}
			if q.After = page.Next; q.After == "" {
				break
			}
			lengths[len(page.Next)] = true
		}
		slices.Sort(got)
		if want := []presence.UserID{"here", "invisible", "plain"}; !slices.Equal(got, want) || q.After != "" || len(lengths) > 1 {
			t.Errorf("got %q, the last page before %q, and names of pages of the lengths %v, want %q on all pages", got, q.After, lengths, want)
		}
		q.After = "1795365759762.nobody"
		if _, err := tracker.Recent(t.Context(), presence.Site, q); !errors.Is(err, presence.ErrInvalidQuery) {
			t.Errorf("got %v for a page that somebody made up, want ErrInvalidQuery", err)
		}
	})
}
