package main

import (
	"io"
	"log/slog"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed"
)

// TestUnreadablePostsReadNothing: a thread's page that shows posts from memory, because the
// latest could not be read, marks no notification as read (rule F7).
func TestUnreadablePostsReadNothing(t *testing.T) {
	t.Parallel()
	config, err := parseConfig(nil, none)
	if err != nil {
		t.Fatal(err)
	}
	s, err := newSite(config, slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		t.Fatal(err)
	}
	defer s.close(t.Context())
	eve := presence.User{ID: "eve", Name: "Eve"}
	if _, err := s.sql.reply(t.Context(), "", s.threads[0], eve, "not on the page", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := s.feeds.Relay(t.Context()); err != nil {
		t.Fatal(err)
	}
	open := func() feed.Head {
		r := httptest.NewRequest("GET", "/threads/1", nil)
		r.Header.Set("Cookie", cookieName+"=Bob")
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Code != 200 {
			t.Fatalf("got %d", w.Code)
		}
		head, err := s.feeds.Head(t.Context(), feed.Inbox("bob"))
		if err != nil {
			t.Fatal(err)
		}
		return head
	}
	s.posts.mu.Lock()
	s.posts.paused = time.Now().Add(time.Hour) // a reading failed a moment ago
	s.posts.mu.Unlock()
	if got := open(); got.Unread != 1 {
		t.Errorf("a page without the reply: got %d unread, want 1", got.Unread)
	}
	s.posts.resume()
	if got := open(); got.Unread != 0 {
		t.Errorf("a page with the reply: got %d unread, want 0", got.Unread)
	}
}
