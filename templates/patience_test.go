package templates_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/templates"
)

// waits returns how long a page takes that shows a topic which is not in memory,
// and whether it has the topic's roster.
func (s *site) waits(ctx context.Context, views *templates.Widgets, topic string) (time.Duration, bool) {
	s.Helper()
	began := time.Now()
	var b strings.Builder
	if err := views.Execute(&b, "page", topic, requestOf(guest).WithContext(ctx)); err != nil {
		s.Fatal(err)
	}
	return time.Since(began), !strings.Contains(b.String(), ` cursor=""`)
}

// Views are used again and again: each page waits for what it needs, however long
// ago the first one was. There are many, since a page may be made anew now and then.
func TestEachPageWaitsForItsTopics(t *testing.T) {
	bubble(t, templates.Config{}, func(s *site) {
		const slow = 10 * time.Millisecond
		s.store.Break(presencetest.Fault{Delay: slow}, presencetest.CallSnapshot)
		views := s.views(`{{whosOnline .}}`)
		for i := range 20 {
			if took, known := s.waits(s.Context(), views, fmt.Sprintf("thread:%d", i)); took != slow || !known {
				s.Errorf("page %d: got its roster %v after %v, want true after %v", i, known, took, slow)
			}
			time.Sleep(100 * time.Millisecond)
		}
	})
}

// While a store hangs one page a second waits for it, and the others do not.
func TestPagesDoNotWaitInVain(t *testing.T) {
	bubble(t, templates.Config{}, func(s *site) {
		s.store.Break(presencetest.Fault{Hang: true}, presencetest.CallSnapshot)
		views := s.views(`{{whosOnline .}} {{whosOnline "thread:2"}}`)
		for i, want := range []time.Duration{50, 0, 0, 50, 0, 0} {
			if took, _ := s.waits(s.Context(), views, "thread:1"); took != want*time.Millisecond {
				s.Errorf("page %d took %v, want %v", i, took, want*time.Millisecond)
			}
			time.Sleep(400 * time.Millisecond)
		}
	})
}

// A visitor who does not wait for the page says nothing about the store.
func TestAVisitorWhoLeavesSpoilsNoPage(t *testing.T) {
	bubble(t, templates.Config{}, func(s *site) {
		s.see(presence.Site, user("alice"))
		s.leave("alice")
		const slow = 10 * time.Millisecond
		s.store.Break(presencetest.Fault{Delay: slow}, presencetest.CallSnapshot, presencetest.CallSightings)
		views := s.views(`{{whosOnline .}}{{lastSeen "alice"}}`)
		ctx, leave := context.WithCancel(s.Context())
		time.AfterFunc(slow/2, leave)
		if took, _ := s.waits(ctx, views, "thread:1"); took != slow/2 {
			s.Errorf("the page that nobody waits for took %v, want %v", took, slow/2)
		}
		if took, known := s.waits(s.Context(), views, "thread:2"); took != 2*slow || !known {
			s.Errorf("the next page: got its roster %v after %v, want true after %v, last seen included", known, took, 2*slow)
		}
	})
}
