package track_test

import (
	"regexp"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
)

var validTopic = regexp.MustCompile(`\A[A-Za-z0-9_.:-]{1,128}\z`)

// A topic is what the contract says, and its kind is the part before the colon.
func FuzzTopic(f *testing.F) {
	for _, seed := range []string{"site", "thread:42", "", ":", "a b", "a\x00", "\xff", "thrеad", strings.Repeat("x", 128), strings.Repeat("x", 129)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		topic, err := presence.ParseTopic(s)
		if want := validTopic.MatchString(s); (err == nil) != want {
			t.Fatalf("%q: got %v, want valid %v", s, err, want)
		}
		if err == nil && (string(topic) != s || topic.Kind() != strings.SplitN(s, ":", 2)[0]) {
			t.Errorf("%q: got %q of kind %q", s, topic, topic.Kind())
		}
	})
}

// Whatever a page says of its connection, it renews and ends nobody else's, and
// whatever page of a roster it asks for, it gets one that could be.
func FuzzTokenAndPage(f *testing.F) {
	f.Add("a.1~site", "alice", "")
	f.Add("b.zz~site~thread:1", "mallory", "kf12oi.YWxpY2U")
	f.Add("~.~", "", "zzzzzzzzzzzzz.")
	f.Fuzz(func(t *testing.T, token, asker, after string) {
		if token == "" {
			return
		}
		synctest.Test(t, func(t *testing.T) {
			tracker := start(t, memstore.New(), track.Config{Node: "a"})
			alice := connect(t, tracker, track.ConnectOptions{Visitor: visitor("alice")})
			by := visitor(asker + "!") // never a guest
			for _, tried := range []presence.Token{presence.Token(token), alice.Token(), alice.Token() + presence.Token(token)} {
				var want error
				if tried != alice.Token() {
					want = presence.ErrForeignToken
				}
				if alive, err := tracker.Beat(t.Context(), tried, by, track.Page{}); err != want || alive {
					t.Errorf("Beat(%q) by %q: got %v, %v", tried, asker, alive, err)
				}
				if alive, err := tracker.Beat(t.Context(), tried, by, track.Page{Joined: true}); err != want || alive {
					t.Errorf("Follow(%q) by %q: got %v, %v", tried, asker, alive, err)
				}
				if err := tracker.Leave(t.Context(), tried, by); err != want {
					t.Errorf("Leave(%q) by %q: got %v, want %v", tried, asker, err, want)
				}
			}
			view, err := tracker.View(t.Context(), presence.Site)
			noError(t, err)
			if _, ok := view.Member("alice"); !ok || alice.Err() != nil {
				t.Errorf("alice was ended (%v), want not by %q", alice.Err(), asker)
			}
			if page, next, err := view.Page("", after, 10); err == nil && (len(page) > 1 || next != "") {
				t.Errorf("page after %q: got %v and %q, want at most alice", after, page, next)
			}
		})
	})
}
