package templates_test

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/templates"
)

// Views are used again and again: each page waits for what it needs, however long
// ago the first one was.
func TestEachPageWaitsForItsTopics(t *testing.T) {
	bubble(t, templates.Config{}, func(s *site) {
		views := templates.New(parse(`{{whosOnline .}}`), s.tracker, s.cfg)
		for _, topic := range []string{"site", "thread:1", "thread:2"} {
			var b strings.Builder
			if err := views.Execute(&b, "page", topic, requestOf(guest)); err != nil {
				s.Fatal(err)
			}
			if !strings.Contains(b.String(), ` cursor="`) || strings.Contains(b.String(), ` cursor=""`) {
				s.Errorf("%s: got %s, want a roster with its cursor", topic, b.String())
			}
			time.Sleep(time.Second)
		}
	})
}

// While a store hangs the first page waits for it, and those after it do not.
func TestPagesDoNotWaitInVain(t *testing.T) {
	bubble(t, templates.Config{}, func(s *site) {
		s.store.hangs.Store(true)
		views := templates.New(parse(`{{whosOnline "thread:1"}} {{whosOnline "thread:2"}}`), s.tracker, s.cfg)
		for i, want := range []time.Duration{50 * time.Millisecond, 0, 0} {
			began := time.Now()
			if err := views.Execute(io.Discard, "page", nil, requestOf(guest)); err != nil {
				s.Fatal(err)
			}
			if took := time.Since(began); took != want {
				s.Errorf("page %d took %v, want %v", i, took, want)
			}
		}
	})
}
