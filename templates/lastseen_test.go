package templates_test

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/presencetest"
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

func TestLastSeen(t *testing.T) {
	bubble(t, templates.Config{}, func(s *site) {
		if got := s.page(seenView, guest); got != "" {
			t.Errorf("of someone unknown: got %q, want nothing", got)
		}
		time.Sleep(31 * time.Second)
		s.see(presence.Site, user("alice"))
		if got, want := s.page(seenView, guest), "online now"; got != want {
			t.Errorf("of someone online: got %q, want %q", got, want)
		}
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
			time.Sleep(tt.later)
			has(t, s.page(seenView, guest), ">"+tt.want+"</time>")
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
			if err := views.Execute(&b, "page", nil, requestOf(guest)); err != nil {
				t.Fatal(err)
			}
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
		if got := s.page(`<p>{{lastSeen "alice"}}{{lastSeen "bob"}}{{lastSeen "carol"}}</p>`, guest); got != "<p></p>" {
			t.Errorf("got %q, want an empty paragraph", got)
		}
		if got, want := time.Since(start), 50*time.Millisecond; got != want {
			t.Errorf("the page took %v, want %v", got, want)
		}
	})
}

// What is remembered is bounded: after 5,000 users the first is forgotten.
func TestLastSeenOfMany(t *testing.T) {
	bubble(t, templates.Config{}, func(s *site) {
		views := s.views(`{{lastSeen .}}`)
		for i := range 5000 {
			if err := views.Execute(io.Discard, "page", i, requestOf(guest)); err != nil {
				t.Fatal(err)
			}
		}
		for id, want := range map[int]int{4999: 0, 0: 1} {
			before := s.store.Calls(presencetest.CallSightings)
			if err := views.Execute(io.Discard, "page", id, requestOf(guest)); err != nil {
				t.Fatal(err)
			}
			if got := s.store.Calls(presencetest.CallSightings) - before; got != want {
				t.Errorf("user %d again: got %d calls of the store, want %d", id, got, want)
			}
		}
	})
}
