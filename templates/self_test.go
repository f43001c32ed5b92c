package templates_test

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/templates"
)

const selfView = `{{whosOnline "site"}}|{{onlineCount "site"}}|{{isOnline "me"}}|{{onlineDot "me"}}|{{lastSeen "me"}}`

var me = presence.User{ID: "me", Name: "Me Myself", URL: "/u/me"}

// A page view is recorded behind the page's back, and yet its visitor is shown.
func TestVisitorIsShown(t *testing.T) {
	bubble(t, templates.Config{Max: 2}, func(s *site) {
		s.see(presence.Site, members...)
		html := s.page(selfView, me)
		has(t, html, `<b data-count="online">4</b>`, `data-user="me" data-status="online"><a class="presence-card" href="/u/me">`,
			`data-user="carol"`, ">and 2 more</p>", "|4|true|", `data-presence-dot="me" data-status="online"`, "|online now")
		if strings.Contains(html, `data-user="bob"`) {
			t.Error("got three users shown, want two")
		}

		s.see(presence.Site, me)
		html = s.page(selfView, me)
		has(t, html, `<b data-count="online">4</b>`, `data-user="me" data-status="online" data-since=`, "|4|true|")
		if got := strings.Count(html, `data-user="me"`); got != 1 {
			t.Errorf("got the visitor shown %d times once recorded, want 1", got)
		}
	})
}

func TestVisitorIsNotShown(t *testing.T) {
	hidden, invisible := me, me
	hidden.Hidden = true
	invisible.Status = presence.Invisible
	for name, visitor := range map[string]presence.User{"guest": guest, "hidden": hidden, "invisible": invisible} {
		t.Run(name, func(t *testing.T) {
			bubble(t, templates.Config{}, func(s *site) {
				has(t, s.page(selfView, visitor), `<b data-count="online">0</b>`, "|0|false|", `data-status="offline"`, `<p class="presence-empty">`)
			})
		})
	}
	t.Run("chose to be invisible", func(t *testing.T) {
		bubble(t, templates.Config{}, func(s *site) {
			if err := s.tracker.SetStatus(context.Background(), me.ID, presence.Invisible); err != nil {
				t.Fatal(err)
			}
			has(t, s.page(selfView, me), `<b data-count="online">0</b>`, "|0|false|")
		})
	})
	t.Run("another topic", func(t *testing.T) {
		bubble(t, templates.Config{}, func(s *site) {
			has(t, s.page(`{{whosOnline "thread:1"}}|{{onlineCount "thread:1"}}`, me), `<b data-count="online">0</b>`, "|0")
		})
	})
	t.Run("fragment", func(t *testing.T) {
		bubble(t, templates.Config{}, func(s *site) {
			w := httptest.NewRecorder()
			r := requestOf(me)
			r.URL.Path, r.URL.RawQuery = "/widget", "topic=site"
			templates.Handler(s.tracker, s.cfg).ServeHTTP(w, r)
			has(t, w.Body.String(), `<b data-count="online">0</b>`)
		})
	})
}

// Rendering, polling and asking record nobody.
func TestRenderingRecordsNobody(t *testing.T) {
	bubble(t, templates.Config{}, func(s *site) {
		for range 3 {
			s.page(selfView, me)
			s.see(presence.Site)
		}
		has(t, s.page(selfView, guest), `<b data-count="online">0</b>`, `<b data-count="guests">0</b>`, `<b data-count="recent">0</b>`)
	})
}
