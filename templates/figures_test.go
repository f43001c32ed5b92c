package templates_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed"
	"github.com/rollcall-go/rollcall/templates"
)

// A template chooses the figures of its widget, and so does a request for the widget.
func TestFigures(t *testing.T) {
	bubble(t, templates.Config{}, func(s *site) {
		s.see(presence.Site, members[0])
		for figures, want := range map[string][]string{
			"online": {"online"}, "recent, online": {"online", "recent"}, "guests": {"guests"}, "": nil,
		} {
			for _, html := range []string{
				s.page(`{{whosOnline "site" "figures" "`+figures+`"}}`, guest),
				body(t, s.get("GET", "/widget?topic=site&figures="+url.QueryEscape(figures))),
			} {
				var got []string
				for _, m := range regexp.MustCompile(`data-count="(\w+)"`).FindAllStringSubmatch(html, -1) {
					got = append(got, m[1])
				}
				if !slices.Equal(got, want) {
					t.Errorf("%q: got the figures %q, want %q", figures, got, want)
				}
			}
		}
		if _, err := s.render(`{{whosOnline "site" "figures" "bots"}}`, guest); err == nil || !strings.Contains(err.Error(), "online, guests and recent") {
			t.Errorf("got %v, want what figures there are", err)
		}
		if got := s.get("GET", "/widget?figures=bots"); got.StatusCode != 400 {
			t.Errorf("got status %d, want 400", got.StatusCode)
		}
	})
}

// The bell has its name beside the icon if the template wants that. Screen readers hear it once.
func TestBellWithAWord(t *testing.T) {
	bubble(t, templates.Config{}, func(s *site) {
		from := &someFeeds{head: feed.Head{Rev: 7, Pos: 41, Unread: 3}}
		has(t, s.feedOf(from, `{{bell "word" true "label" "Post"}}`, requestOf(members[0])),
			`</svg><span class="presence-word" aria-hidden="true">Post</span><span class="presence-badge" aria-hidden="true">3</span><span class="presence-said">Post, 3 unread</span></a>`)
		if got := s.feedOf(from, `{{bell}}`, requestOf(members[0])); strings.Contains(got, "presence-word") {
			t.Errorf("got %s, want an icon alone", got)
		}
	})
}

// The texts are a file that browsers keep, and not a part of each page. A handler serves those of
// all languages of the site.
func TestTextsAreAFile(t *testing.T) {
	bubble(t, templates.Config{}, func(s *site) {
		english := newWidgets(s, parse(`{{presenceHead}}`), s.tracker, templates.Config{})
		polish := newWidgets(s, parse(`{{presenceHead}}`), s.tracker, templates.Config{Texts: templates.Texts{Lang: "pl", Lost: "Brak połączenia od {time}"}})
		heads := map[string]*templates.Widgets{"Connection lost": english, "Brak połączenia": polish}
		for want, ws := range heads {
			var b strings.Builder
			noError(t, ws.Execute(&b, "page", nil, requestOf(guest)))
			if len(b.String()) > 600 || strings.Contains(b.String(), want) {
				t.Errorf("got a head of %d bytes, want one without texts:\n%s", b.Len(), &b)
			}
			m := regexp.MustCompile(`src="/presence(/assets/texts\.[0-9a-f]{16}\.js)"></script>\n<script type="module" src="/presence(/assets/presence\.)`).FindStringSubmatch(b.String())
			if m == nil {
				t.Fatalf("got %s, want the texts before the script", &b)
			}
			for _, handler := range []*templates.Widgets{ws, english} {
				w := serve(handler.Handler(polish), m[1])
				if !strings.Contains(w.Body.String(), want) || !strings.Contains(w.Header().Get("Cache-Control"), "immutable") {
					t.Errorf("%s: got %s, %s, want %q, for a year", m[1], w.Header().Get("Cache-Control"), w.Body, want)
				}
			}
		}
	})
}

func serve(h http.Handler, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w
}
