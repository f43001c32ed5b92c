package templates_test

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/templates"
)

// What is kept of a rendering never outlives what it shows.
func TestRenderingFollowsTheTopic(t *testing.T) {
	bubble(t, templates.Config{}, func(s *site) {
		views := s.views(`{{whosOnline "site"}}{{whosOnline "site" "max" 1}}`)
		var last string
		render := func(parts ...string) {
			t.Helper()
			var b strings.Builder
			for range 2 {
				b.Reset()
				noError(t, views.Execute(&b, "page", nil, requestOf(guest)))
				has(t, b.String(), parts...)
			}
			if b.String() == last {
				t.Errorf("got the same as before, want a change to %q", parts)
			}
			last = b.String()
		}
		s.see(presence.Site)
		render(`value="0" data-count="online">0</data>`)
		s.see(presence.Site, user("alice"))
		render(`value="1" data-count="online">1</data>`, `data-user="alice"`)
		s.see(presence.Site, presence.User{ID: "alice", Name: "Queen Alice"})
		render(">Queen Alice</bdi>")
		s.tracker.SeenGuest(presence.Site, "g")
		s.see(presence.Site)
		render(`value="1" data-count="guests">1</data>`)
		s.see(presence.Site, user("bob"))
		render(">and 1 more</span>")
		s.leave("bob")
		render(`value="1" data-count="online">1</data>`)
	})
}

func TestRenderingWhileTheTopicChanges(t *testing.T) {
	bubble(t, templates.Config{}, func(s *site) {
		views := s.views(`{{whosOnline "site"}}`)
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() {
				for j := range 50 {
					if i == 0 {
						s.see(presence.Site, user(fmt.Sprint(j)))
						continue
					}
					var b strings.Builder
					if err := views.Execute(&b, "page", nil, requestOf(guest)); err != nil {
						t.Error(err)
					}
					has(t, b.String(), fmt.Sprintf(` data-count="online">%d</data>`, strings.Count(b.String(), "data-user=")))
				}
			})
		}
		wg.Wait()
	})
}

// A place is a topic and options, and a site may make up any number of labels.
func TestRenderingsAreBounded(t *testing.T) {
	bubble(t, templates.Config{}, func(s *site) {
		s.see(presence.Site, crowd(1000)...)
		views := s.views(`{{whosOnline "site" "max" 1000 "label" .}}`)
		before := heap()
		for i := range 150 {
			noError(t, views.Execute(io.Discard, "page", i, requestOf(guest)))
		}
		if got := heap() - before; got > 16<<20 {
			t.Errorf("got %d MB kept of 150 widgets of 1,000 users, want at most 16", got>>20)
		}
		runtime.KeepAlive(views)
	})
}

// What is kept is found by its label, which counts, too.
func TestRenderingsOfLongLabelsAreBounded(t *testing.T) {
	bubble(t, templates.Config{}, func(s *site) {
		s.see(presence.Site)
		views := s.views(`{{whosOnline "site" "label" .}}`)
		before := heap()
		for i := range 7 {
			label := fmt.Sprint(i, strings.Repeat("x", 1<<20))
			noError(t, views.Execute(io.Discard, "page", label, requestOf(guest)))
		}
		if got := heap() - before; got > 10<<20 {
			t.Errorf("got %d MB kept of widgets with labels of 1 MB, want at most 10", got>>20)
		}
		runtime.KeepAlive(views)
	})
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
