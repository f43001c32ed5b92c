package templates_test

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
	"github.com/rollcall-go/rollcall/templates"
)

const seenView = `{{lastSeen "alice"}}`

// leave ends all that holds a user online.
func (s *site) leave(id presence.UserID) {
	s.Helper()
	if err := s.tracker.SignOut(context.Background(), id); err != nil {
		s.Fatal(err)
	}
	s.see(presence.Site)
}

// restartAfter ends the site's node, and begins another one later. In between nothing happens
// twice a second, so that days cost nothing.
func (s *site) restartAfter(d time.Duration) {
	s.Helper()
	s.tracker.Close(context.Background())
	time.Sleep(d)
	tracker, err := track.New(s.store, s.tracker.Config())
	if err != nil {
		s.Fatal(err)
	}
	s.tracker = tracker
}

func TestLastSeen(t *testing.T) {
	t.Parallel()
	bubble(t, templates.Config{}, func(s *site) {
		golden(t, "lastseen-unknown", s.page(seenView, guest))
		time.Sleep(31 * time.Second)
		s.see(presence.Site, user("alice"))
		golden(t, "lastseen-online", s.page(seenView, guest))
		s.leave("alice")
		golden(t, "lastseen", s.page(seenView, guest))
		for _, tt := range []struct {
			later time.Duration
			want  string
		}{
			{time.Minute, "1 minute ago"},
			{time.Minute, "2 minutes ago"},
			{58 * time.Minute, "1 hour ago"},
			{22 * time.Hour, "23 hours ago"},
			{time.Hour, "1 day ago"},
			{24 * time.Hour, "2 days ago"},
		} {
			s.restartAfter(tt.later)
			has(t, s.page(seenView, guest), ">"+tt.want+"</last-seen>")
		}
	})
}

func TestLastSeenIsRemembered(t *testing.T) {
	bubble(t, templates.Config{}, func(s *site) {
		s.see(presence.Site, user("alice"), user("bob"))
		s.leave("alice")
		views := s.views(seenView + `{{lastSeen "bob"}}`)
		ask := func() string {
			var b strings.Builder
			noError(t, views.Execute(&b, "page", nil, requestOf(guest)))
			return b.String()
		}
		count := func(what string, want int) {
			t.Helper()
			if got := s.store.Calls(presencetest.CallSightings); got != want {
				t.Errorf("%s: got %d calls of the store, want %d", what, got, want)
			}
		}
		for range 50 {
			ask()
			time.Sleep(500 * time.Millisecond)
		}
		count("50 pages in 25 seconds", 1)
		time.Sleep(10 * time.Second)
		ask()
		count("35 seconds later", 2)

		s.store.Break(presencetest.Fault{Err: errOut}, presencetest.CallSightings)
		time.Sleep(31 * time.Second)
		for range 50 {
			has(t, ask(), "1 minute ago")
		}
		count("the store is out", 3)
		time.Sleep(2 * time.Second)
		ask()
		count("it is asked again after a rest", 4)
	})
}

// A store that hangs holds a page up for a moment, however many it names.
func TestLastSeenWithAStoreThatHangs(t *testing.T) {
	bubble(t, templates.Config{}, func(s *site) {
		s.see(presence.Site)
		s.store.Break(presencetest.Fault{Hang: true}, presencetest.CallSightings)
		start := time.Now()
		if got := s.page(`{{lastSeen "alice"}}{{lastSeen "bob"}}{{lastSeen "carol"}}`, guest); strings.Count(got, `datetime="" title=""`) != 3 || strings.Count(got, "></last-seen>") != 3 {
			t.Errorf("got %q, want three empty elements", got)
		}
		if got, want := time.Since(start), 50*time.Millisecond; got != want {
			t.Errorf("the page took %v, want %v", got, want)
		}
	})
}

// names is a view of a list, and the ids of its users.
const namesView = `{{range .}}{{lastSeen .}};{{end}}`

func names(n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = string(crowd(n)[i].ID)
	}
	return ids
}

// shows renders views, and returns how long that took, how often it asked the store
// and of how many users it shows when they were last seen.
func (s *site) shows(views *templates.Widgets, data any) (took time.Duration, asked, known int) {
	s.Helper()
	began, before := time.Now(), s.store.Calls(presencetest.CallSightings)
	var b strings.Builder
	if err := views.Execute(&b, "page", data, requestOf(guest)); err != nil {
		s.Fatal(err)
	}
	return time.Since(began), s.store.Calls(presencetest.CallSightings) - before, strings.Count(b.String(), " ago<") + strings.Count(b.String(), "just now<")
}

// absent makes users who were online and are gone.
func (s *site) absent(n int) {
	s.Helper()
	all := crowd(n)
	s.see(presence.Site, all...)
	for _, u := range all {
		s.leave(u.ID)
	}
}

// A page of 150 names asks a slow store once, also the first time.
func TestLastSeenIsOneRoundTrip(t *testing.T) {
	bubble(t, templates.Config{}, func(s *site) {
		s.absent(150)
		const slow = 40 * time.Millisecond
		s.store.Break(presencetest.Fault{Delay: slow}, presencetest.CallSightings)
		views := s.views(namesView + namesView) // twice: each name is asked for once
		for i, want := range []int{1, 0, 1} {
			if took, asked, known := s.shows(views, names(150)); took != time.Duration(want)*slow || asked != want || known != 300 {
				t.Errorf("page %d: got %d known after %v and %d calls, want 300 after %d", i, known, took, asked, want)
			}
			time.Sleep(time.Duration(i) * time.Minute)
		}
	})
}

// If the store is out, or too slow, a page of 500 names comes at once, and all of
// them are unknown. Answers that were in memory are shown.
func TestLastSeenWithoutTheStore(t *testing.T) {
	for name, tt := range map[string]struct {
		fault presencetest.Fault
		took  time.Duration
	}{
		"out":  {presencetest.Fault{Err: errOut}, 0},
		"slow": {presencetest.Fault{Delay: time.Second}, 50 * time.Millisecond},
		"hung": {presencetest.Fault{Hang: true}, 50 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, templates.Config{}, func(s *site) {
				s.absent(3)
				views := s.views(namesView)
				s.shows(views, names(2))
				time.Sleep(time.Minute)
				s.store.Break(tt.fault, presencetest.CallSightings)
				if took, asked, known := s.shows(views, names(500)); took != tt.took || asked != 1 || known != 2 {
					t.Errorf("got %d known after %v and %d calls, want 2 after %v and one", known, took, asked, tt.took)
				}
				if took, _, known := s.shows(views, names(500)); took != 0 || known != 2 {
					t.Errorf("the next page: got %d known after %v, want 2 at once", known, took)
				}
			})
		})
	}
}

// A page that says whom it names needs no second time.
func TestPrefetchSeen(t *testing.T) {
	for name, view := range map[string]string{
		"a slice": `{{prefetchSeen .}}` + namesView,
		"ids":     `{{prefetchSeen "user-0000" (slice . 1)}}` + namesView,
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, templates.Config{}, func(s *site) {
				s.absent(50)
				const slow = 40 * time.Millisecond
				s.store.Break(presencetest.Fault{Delay: slow}, presencetest.CallSightings)
				if took, asked, known := s.shows(s.views(view), names(50)); took != slow || asked != 1 || known != 50 {
					t.Errorf("got %d known after %v and %d calls, want 50 after %v and one", known, took, asked, slow)
				}
			})
		})
	}
}

// However many names a page has, and whether they are known to the store or not, one
// call has at most two hundred, and a page is not asked twice for who was never seen.
func TestLastSeenOfStrangers(t *testing.T) {
	bubble(t, templates.Config{}, func(s *site) {
		views := s.views(`{{prefetchSeen .}}` + namesView)
		if _, asked, _ := s.shows(views, names(300)); asked != 2 {
			t.Errorf("got %d calls, want two", asked)
		}
		if _, asked, _ := s.shows(views, names(300)); asked != 0 {
			t.Errorf("again: got %d calls, want none", asked)
		}
	})
}

// Topics and last seen share what a page waits.
func TestAPageWaitsOnce(t *testing.T) {
	bubble(t, templates.Config{}, func(s *site) {
		s.store.Break(presencetest.Fault{Delay: 40 * time.Millisecond})
		views := s.views(`{{lastSeen "a"}}{{whosOnline "thread:1"}}{{lastSeen "b"}}{{prefetchSeen "c" "d"}}{{onlineCount "thread:2"}}`)
		for i := range 5 {
			if took, _, _ := s.shows(views, nil); took > 50*time.Millisecond {
				t.Errorf("page %d took %v, want at most 50ms", i, took)
			}
		}
	})
}

// What is remembered is bounded: after 5,000 users the first is forgotten.
func TestLastSeenOfMany(t *testing.T) {
	bubble(t, templates.Config{}, func(s *site) {
		views := s.views(`{{lastSeen .}}`)
		for i := range 5000 {
			noError(t, views.Execute(io.Discard, "page", i, requestOf(guest)))
		}
		for id, want := range map[int]int{4999: 0, 0: 1} {
			before := s.store.Calls(presencetest.CallSightings)
			noError(t, views.Execute(io.Discard, "page", id, requestOf(guest)))
			if got := s.store.Calls(presencetest.CallSightings) - before; got != want {
				t.Errorf("user %d again: got %d calls of the store, want %d", id, got, want)
			}
		}
	})
}

// Rule P6: whoever hides when they were last seen is hidden on pages within a second, also while
// the store does not answer.
func TestLastSeenIsHiddenWithinASecond(t *testing.T) {
	for name, fault := range map[string]*presencetest.Fault{"the store answers": nil, "the store is slow": {Delay: time.Minute}} {
		t.Run(name, func(t *testing.T) {
			bubbleOf(t, track.Config{Directory: presencetest.NewMemoryDirectory()}, templates.Config{}, func(s *site) {
				s.see(presence.Site, user("alice"))
				s.leave("alice")
				views := s.views(`{{lastSeen "alice"}}`)
				page := func() string {
					var b strings.Builder
					noError(t, views.Execute(&b, "page", nil, requestOf(guest)))
					return b.String()
				}
				has(t, page(), "just now")
				noError(t, s.tracker.People().ChangeSettings(context.Background(), "alice", func(now *presence.Settings) error {
					now.Seen = presence.Nobody
					return nil
				}))
				if fault != nil {
					s.store.Break(*fault, presencetest.CallSightings)
				}
				time.Sleep(time.Second)
				if got := page(); strings.Contains(got, "just now") {
					t.Errorf("got %s a second after alice hid it, want no last seen", got)
				}
			})
		})
	}
}
