package templates_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence/feed"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/templates"
)

func TestBell(t *testing.T) {
	for _, tt := range []struct {
		unread      int
		view, shown string
	}{
		{3, `{{bell}}`, `<presence-bell cursor="…" data-unread="3" data-unseen="1"><a class="presence-bell" href="/notifications"><svg …><span class="presence-badge" aria-hidden="true">3</span><span class="presence-said">Notifications, 3 unread</span></a></presence-bell></presence-part>`},
		{1, `{{bell "label" "Inbox & <b>"}}`, `data-unread="1" data-unseen="1"><a class="presence-bell" href="/notifications"><svg …><span class="presence-badge" aria-hidden="true">1</span><span class="presence-said">Inbox &amp; &lt;b&gt;, 1 unread</span>`},
		{0, `{{bell}}`, `data-unread="0" data-unseen="1"><a class="presence-bell" href="/notifications"><svg …><span class="presence-badge" aria-hidden="true"></span><span class="presence-said">Notifications</span>`},
		{99, `{{bell}}`, `>99</span>`},
		{100, `{{bell}}`, `data-unread="100" data-unseen="1"><a class="presence-bell" href="/notifications"><svg …><span class="presence-badge" aria-hidden="true">99+</span><span class="presence-said">Notifications, 100 unread</span>`},
	} {
		bubble(t, templates.Config{}, func(s *site) {
			got := s.feedOf(&someFeeds{head: feed.Head{Rev: 7, Pos: 41, Unread: tt.unread, Unseen: 1}}, tt.view, alices)
			got = cursorAttr.ReplaceAllString(icon.ReplaceAllString(got, "<svg …>"), `cursor="…"`)
			shows(s.T, got, tt.shown, `<presence-part class="presence-inbox" src="/presence" lang="en" data-feed="inbox" data-show="bell" data-words="{`, ` me="alice"><presence-bell`)
		})
	}
	bubble(t, templates.Config{}, func(s *site) {
		from := &someFeeds{head: feed.Head{Rev: 7}}
		if got := s.feedOf(from, `a{{bell}}b`, requestOf(guest)); got != "ab" {
			s.Errorf("a guest's: got %q, want nothing", got)
		}
		if got := s.page(`a{{bell}}{{notifications}}b`, user("alice")); got != "ab" {
			s.Errorf("without feeds: got %q, want nothing", got)
		}
		from.asked = nil
		s.feedOf(from, `{{bell}}{{bell}}{{notifications}}`, alices)
		s.feedOf(from, `{{notifications}}{{bell}}`, alices)
		if got, want := strings.Join(from.asked, ", "), "head of inbox:alice, page of inbox:alice, page of inbox:alice"; got != want {
			s.Errorf("two pages asked %q, want %q", got, want)
		}
	})
}

var icon = regexp.MustCompile(`<svg .*?</svg>`)

// F10: a page waits 50 ms for the database, and then shows the bell without a number. Pages in
// the next second do not wait.
func TestF10BellDoesNotWait(t *testing.T) {
	bubble(t, templates.Config{}, func(s *site) {
		widgets := s.views(`{{bell}}{{bell}}`)
		from := &someFeeds{head: feed.Head{Rev: 7, Unread: 3}, wait: time.Hour}
		widgets.FeedsFrom(from)
		for i, want := range []time.Duration{50, 0, 0} {
			began := time.Now()
			var b strings.Builder
			if err := widgets.Execute(&b, "page", nil, alices); err != nil {
				s.Fatal(err)
			}
			if got := time.Since(began); got != want*time.Millisecond {
				s.Errorf("page %d took %v, want %v", i, got, want*time.Millisecond)
			}
			shows(s.T, b.String(), `<presence-bell><a class="presence-bell" href="/notifications"><svg`, `aria-hidden="true"></span><span class="presence-said">Notifications</span></a>`)
			hides(s.T, b.String(), "data-unread", "cursor=")
		}
		if len(from.asked) != 3 {
			s.Errorf("got %d questions of three pages, want 3: %q", len(from.asked), from.asked)
		}
		from.wait, from.err = 0, feed.ErrOut // the Keeper says the last known head too
		hides(s.T, s.feedOf(from, `{{bell}}`, alices), "data-unread", "cursor=", ">3<")
	})
}

// F10: the wait for the bell is part of the 50 ms that a page waits for everything.
func TestF10OneWaitForThePage(t *testing.T) {
	bubble(t, templates.Config{}, func(s *site) {
		widgets := s.views(`{{whosOnline "thread:1"}}{{bell}}`)
		widgets.FeedsFrom(&someFeeds{wait: time.Hour})
		s.store.Break(presencetest.Fault{Delay: time.Minute}, presencetest.CallSnapshot)
		began := time.Now()
		if err := widgets.Execute(new(strings.Builder), "page", nil, alices); err != nil {
			s.Fatal(err)
		}
		if got, want := time.Since(began), 50*time.Millisecond; got != want {
			s.Errorf("a page took %v while the store and the database hung, want %v", got, want)
		}
	})
}

// The popover of a bell has the list that the script fills.
func TestBellWithAPopover(t *testing.T) {
	bubble(t, templates.Config{}, func(s *site) {
		got := s.feedOf(&someFeeds{head: feed.Head{Rev: 7, Unread: 3}, items: items()}, `{{bell "popover" true "label" "Inbox"}}`, alices)
		shows(s.T, got, `</a><template><presence-part class="presence-notifications" src="/presence" lang="en" data-feed="inbox" data-show="list"`,
			`aria-label="Inbox"`, `<p class="presence-page"><a href="/notifications">All notifications</a></p>`, `<ul class="presence-items" role="list"></ul><template><li data-item="" data-pos="0" data-state="unread">`, `</presence-part></template></presence-bell></presence-part>`)
		hides(s.T, s.feedOf(&someFeeds{}, `{{bell}}`, alices), "<template")
	})
}
