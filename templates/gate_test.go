package templates_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/internal/gate"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/templates"
)

// ask asks a handler as one visitor, whose account pays by take; nil: there is no account.
func ask(h http.Handler, target string, take func(points int, when gate.When) bool) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, target, nil)
	if take != nil {
		r = r.WithContext(gate.With(r.Context(), take))
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// Widgets of all sizes are parts of few lists, and the widgets of pages stay in memory. After a change a list is the
// same as one that is rendered anew.
func TestWidgetsShareTheirUsers(t *testing.T) {
	bubble(t, templates.Config{}, func(s *site) {
		const users = 130
		for i := range users {
			s.tracker.Seen(presence.Site, user(fmt.Sprint("u", i)), presence.Device{})
			time.Sleep(time.Millisecond)
		}
		time.Sleep(time.Second)
		widgets := s.views(`{{whosOnline "site"}}`)
		noError(t, widgets.Execute(new(strings.Builder), "page", nil, requestOf(guest)))
		same := func() {
			t.Helper()
			for size := range users + 20 {
				target := fmt.Sprintf("/widget?topic=site&max=%d&figures=%s", size, []string{"online", "guests", "recent"}[size%3])
				got := ask(widgets.Handler(), target, nil).Body.String()
				if n := strings.Count(got, `data-user="`); n != min(size, users) && size < users-1 {
					t.Fatalf("%s: got %d users, want %d", target, n, min(size, users))
				}
				if want := ask(newWidgets(t, nil, s.tracker, s.cfg).Handler(), target, nil).Body.String(); got != want {
					t.Fatalf("%s: got\n%s\nwant what is rendered anew\n%s", target, got, want)
				}
			}
		}
		same()
		if lists, kept := widgets.Kept(); lists > 5 || kept != 1 {
			t.Errorf("got %d lists and %d widgets in memory, want five lists at most, and the widget of the page", lists, kept)
		}
		s.tracker.SignOut(s.Context(), "u7")
		s.tracker.SetStatus(s.Context(), "u9", presence.Busy)
		s.see(presence.Site, user("u999"), presence.User{ID: "u100", Name: "Another name"})
		same()
	})
}

// A part pays for each topic about which it asks the site, and for the users whom it renders. Whoever cannot pay is
// told to wait, and learns nothing. Another visitor of the same second is answered.
func TestPartsArePaidFor(t *testing.T) {
	asked := 0
	cfg := templates.Config{Authorize: func(*http.Request, presence.Visitor, presence.Topic) bool { asked++; return true }}
	bubble(t, cfg, func(s *site) {
		for i := range 40 {
			s.tracker.Seen(presence.Topic(fmt.Sprint("thread:", i)), user("alice"), presence.Device{})
			s.tracker.Seen(presence.Site, user(fmt.Sprint("u", i)), presence.Device{})
		}
		time.Sleep(3 * time.Second)
		ask(newWidgets(t, nil, s.tracker, cfg).Handler(), "/widget?part=where", nil) // has the places read
		time.Sleep(5 * time.Second)
		for target, price := range map[string]int{"/widget?part=where&max=100": 40 * (gate.Question + gate.Item), "/widget?part=about&max=100": 40 * gate.Item} {
			h := newWidgets(t, nil, s.tracker, cfg).Handler()
			paid, has := 0, price-1
			pays := func(points int, _ gate.When) bool {
				if paid+points > has {
					return false
				}
				paid += points
				return true
			}
			asked = 0
			if w := ask(h, target, pays); w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") == "" || asked != 0 || strings.Contains(w.Body.String(), "thread:") {
				t.Errorf("%s: got %d %s after %d questions, want 429, Retry-After and no question", target, w.Code, w.Body, asked)
			}
			if w := ask(h, target, func(int, gate.When) bool { return true }); w.Code != http.StatusOK {
				t.Errorf("%s: another visitor: got %d, want 200", target, w.Code)
			}
			if paid, has, asked = 0, price, 0; ask(newWidgets(t, nil, s.tracker, cfg).Handler(), target, pays).Code != http.StatusOK {
				t.Errorf("%s: with %d points: want 200", target, price)
			}
		}
		titled := cfg
		titled.Title = func(_ context.Context, t presence.Topic) string { return string(t) }
		for _, w := range []struct {
			cfg    templates.Config
			target string
			prices [2]int // of a visitor's first request, and of the same again
		}{
			{cfg, "/widget?part=where&max=100", [2]int{40 * (gate.Question + gate.Item), 40 * gate.Item}},
			{titled, "/widget?part=where&max=100", [2]int{40 * (2*gate.Question + gate.Item), 40 * (gate.Question + gate.Item)}},
			{cfg, "/widget?part=recent&within=24h", [2]int{gate.Renewed, 0}},
		} {
			h := newWidgets(t, nil, s.tracker, w.cfg).Handler()
			for i, want := range w.prices {
				paid := 0
				body := ask(h, w.target, func(points int, _ gate.When) bool { paid += points; return true }).Body
				if paid -= gate.Bytes(body.Len()); paid != want {
					t.Errorf("%s, request %d: paid %d points beside the bytes, want %d", w.target, i, paid, want)
				}
			}
		}
		if gate.Pays(context.Background(), 1<<30) != true {
			t.Error("the site's own pages pay")
		}
	})
}
