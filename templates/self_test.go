package templates_test

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/track"
	"github.com/rollcall-go/rollcall/templates"
)

const selfView = `{{whosOnline "site"}}|{{onlineTotal "site"}}|{{isOnline "me"}}|{{onlineDot "me"}}|{{lastSeen "me"}}`

var me = presence.User{ID: "me", Name: "Me Myself", URL: "/u/me"}

// A page view is recorded behind the page's back, and yet its visitor is shown.
func TestVisitorIsShown(t *testing.T) {
	bubble(t, templates.Config{Max: 2}, func(s *site) {
		s.see(presence.Site, members...)
		html := s.page(selfView, me)
		has(t, html, `value="4" data-count="online">4</data>`, `data-user="me" data-status="online"><a class="presence-card" href="/u/me" title="Me Myself">`,
			`data-user="carol"`, ">and 2 more</span>", "|4|true|", `data-presence-dot="me" data-status="online"`, ">online now</last-seen>")
		if strings.Contains(html, `data-user="bob"`) {
			t.Error("got three users shown, want two")
		}

		s.see(presence.Site, me)
		html = s.page(selfView, me)
		has(t, html, `value="4" data-count="online">4</data>`, `data-user="me" data-status="online" data-since=`, "|4|true|")
		if got := strings.Count(html, `data-user="me"`); got != 1 {
			t.Errorf("got the visitor shown %d times once recorded, want 1", got)
		}
	})
}

func TestVisitorIsNotShown(t *testing.T) {
	hidden, invisible, veiled := me, me, me
	hidden.Hidden = true
	invisible.Status = presence.Invisible
	veiled.Veiled = true // and the node knows of no choice
	for name, visitor := range map[string]presence.User{"guest": guest, "hidden": hidden, "invisible": invisible, "veiled": veiled} {
		t.Run(name, func(t *testing.T) {
			bubble(t, templates.Config{}, func(s *site) {
				has(t, s.page(selfView, visitor), `value="0" data-count="online">0</data>`, "|0|false|", `data-status="offline"`, `<p class="presence-empty">`)
			})
		})
	}
	t.Run("chose to be invisible", func(t *testing.T) {
		bubble(t, templates.Config{}, func(s *site) {
			noError(t, s.tracker.SetStatus(context.Background(), me.ID, presence.Invisible))
			has(t, s.page(selfView, me), `value="0" data-count="online">0</data>`, "|0|false|")
		})
	})
	t.Run("chose so at another node, and this one has just started", func(t *testing.T) {
		bubble(t, templates.Config{}, func(s *site) {
			noError(t, s.tracker.SetStatus(context.Background(), me.ID, presence.Invisible))
			fresh, err := track.New(s.store, track.Config{})
			noError(t, err)
			defer func() { noError(t, fresh.Close(context.Background())) }()
			var b strings.Builder
			noError(t, newWidgets(s, parse(selfView), fresh, s.cfg).Execute(&b, "page", nil, requestOf(me)))
			has(t, b.String(), `value="0" data-count="online">0</data>`, "|0|false|", `<p class="presence-empty">`)
			if strings.Contains(b.String(), `data-user="me"`) {
				t.Errorf("got the visitor, who hides:\n%s", &b)
			}
		})
	})
	t.Run("chose to be seen, and is not veiled", func(t *testing.T) {
		bubble(t, templates.Config{}, func(s *site) {
			named := veiled
			named.Status = presence.Away
			has(t, s.page(selfView, named), `value="1" data-count="online">1</data>`, "|1|true|")
			noError(t, s.tracker.SetStatus(context.Background(), me.ID, presence.Online))
			has(t, s.page(selfView, veiled), `value="1" data-count="online">1</data>`, "|1|true|")
		})
	})
	t.Run("another topic", func(t *testing.T) {
		bubble(t, templates.Config{}, func(s *site) {
			has(t, s.page(`{{whosOnline "thread:1"}}|{{onlineTotal "thread:1"}}`, me), `value="0" data-count="online">0</data>`, "|0")
		})
	})
	t.Run("fragment", func(t *testing.T) {
		bubble(t, templates.Config{}, func(s *site) {
			w := httptest.NewRecorder()
			r := requestOf(me)
			r.URL.Path, r.URL.RawQuery = "/widget", "topic=site"
			newWidgets(s, nil, s.tracker, s.cfg).Handler().ServeHTTP(w, r)
			has(t, w.Body.String(), `value="0" data-count="online">0</data>`)
		})
	})
}

// Nobody but an invisible visitor's own page could show the visitor: and that does
// not, nor what is kept of it for others.
func TestInvisibleVisitorIsNotShownToOthers(t *testing.T) {
	for name, view := range map[string]string{"page": selfView, "compact": `{{whosOnline "site" "form" "compact"}}{{onlineDot "me"}}`} {
		t.Run(name, func(t *testing.T) {
			bubble(t, templates.Config{}, func(s *site) {
				s.see(presence.Site, members...)
				noError(t, s.tracker.SetStatus(context.Background(), me.ID, presence.Invisible))
				views := s.views(view)
				for _, visitor := range []presence.User{me, guest, user("zoe")} {
					var b strings.Builder
					noError(t, views.Execute(&b, "page", nil, requestOf(visitor)))
					if got := b.String(); strings.Contains(got, `data-user="me"`) || !strings.Contains(got, `data-presence-dot="me" data-status="offline"`) {
						t.Errorf("to %q: got\n%s\nwant no user me", visitor.ID, got)
					}
				}
				has(t, body(t, s.get("GET", "/widget?topic=site")), `value="3" data-count="online">3</data>`)
			})
		})
	}
}

// Rendering, polling and asking record nobody.
func TestRenderingRecordsNobody(t *testing.T) {
	bubble(t, templates.Config{}, func(s *site) {
		for range 3 {
			s.page(selfView, me)
			s.see(presence.Site)
		}
		has(t, s.page(selfView, guest), `value="0" data-count="online">0</data>`, `value="0" data-count="guests">0</data>`, `value="0" data-count="recent">0</data>`)
	})
}
