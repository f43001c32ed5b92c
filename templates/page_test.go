package templates_test

import (
	"context"
	"errors"
	"html/template"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/internal/syncbuf"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
	"github.com/rollcall-go/rollcall/templates"
)

// Each method of a Page renders what the template function renders.
func TestPageRendersAsTheFunctions(t *testing.T) {
	for view, of := range map[string]func(p *templates.Page) template.HTML{
		`{{presenceHead}}`:                      func(p *templates.Page) template.HTML { return p.Head() },
		`{{presenceHead "a<b"}}`:                func(p *templates.Page) template.HTML { return p.Head("a<b") },
		`{{presenceStyle}}`:                     func(p *templates.Page) template.HTML { return p.Style() },
		`{{whosOnline "site"}}`:                 func(p *templates.Page) template.HTML { return p.WhosOnline(presence.Site) },
		`{{whosOnline "site" "max" 1}}`:         func(p *templates.Page) template.HTML { return p.WhosOnline("site", "max", 1) },
		`{{whosOnline "thread:1" "label" "x"}}`: func(p *templates.Page) template.HTML { return p.WhosOnline("thread:1", "label", "x") },
		`{{onlineDot "bob"}}`:                   func(p *templates.Page) template.HTML { return p.Dot(presence.UserID("bob")) },
		`{{onlineDot "42"}}`:                    func(p *templates.Page) template.HTML { return p.Dot(42) },
		`{{presenceAvatar .}}`:                  func(p *templates.Page) template.HTML { return p.Avatar(members[0]) },
		`{{lastSeen "bob"}}`:                    func(p *templates.Page) template.HTML { return p.LastSeen("bob") },
		`{{lastSeen "gone"}}`:                   func(p *templates.Page) template.HTML { return p.LastSeen("gone") },
		`{{onlineCount "site"}}`:                func(p *templates.Page) template.HTML { return p.Count("site") },
		`{{onlineTotal "site"}}`:                func(p *templates.Page) template.HTML { return template.HTML(p.Total("site").String()) },
		`{{recentlyActive "site" "max" 2}}`:     func(p *templates.Page) template.HTML { return p.RecentlyActive("site", "max", 2) },
		`{{mostOnline "site"}}`:                 func(p *templates.Page) template.HTML { return p.MostOnline("site") },
		`{{where "max" 2}}`:                     func(p *templates.Page) template.HTML { return p.Where("max", 2) },
		`{{if isOnline "bob"}}yes{{end}}`: func(p *templates.Page) template.HTML {
			if !p.IsOnline("bob") {
				return "no"
			}
			return "yes"
		},
	} {
		bubble(t, templates.Config{}, func(s *site) {
			s.see(presence.Site, append(members, user("gone"))...)
			s.leave("gone")
			widgets := s.views(view)
			for _, visitor := range []presence.User{guest, me} {
				var want strings.Builder
				noError(t, widgets.Execute(&want, "page", members[0], requestOf(visitor)))
				if got := of(widgets.Page(requestOf(visitor))); string(got) != want.String() || got == "" {
					t.Errorf("%s: got\n%s\nwant\n%s", view, got, want.String())
				}
			}
		})
	}
}

// A site without html/template needs no templates.
func TestPageWithoutTemplates(t *testing.T) {
	bubble(t, templates.Config{}, func(s *site) {
		s.see(presence.Site, members...)
		page := newWidgets(s, nil, s.tracker, s.cfg).Page(requestOf(me))
		has(t, string(page.WhosOnline("site")), `data-user="me"`, `data-user="alice"`)
		if got, want := page.Total("site"), templates.Count(4); got != want || !page.IsOnline("me") {
			t.Errorf("got %v online, and the visitor online %v, want %v, true", got, page.IsOnline("me"), want)
		}
	})
}

// A mistake in the site's code costs the page one element, and the log one line a minute.
func TestPageWithMistakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log syncbuf.Buffer
		tracker, err := track.New(memstore.New(), track.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		noError(t, err)
		defer tracker.Close(context.Background())
		page := newWidgets(t, nil, tracker, templates.Config{}).Page(requestOf(guest))
		for minute := range 2 {
			if got := page.WhosOnline("no topic") + page.WhosOnline("site", "max", "3") + page.Count(""); got != "" {
				t.Errorf("got %q, want nothing", got)
			}
			if got := page.Total(""); got != templates.Unknown {
				t.Errorf("got a total of %v, want Unknown", got)
			}
			lines := strings.Count(log.String(), "\n")
			if lines != minute+1 || !strings.Contains(log.String(), "invalid topic") {
				t.Errorf("got %d lines, want %d:\n%s", lines, minute+1, log.String())
			}
			time.Sleep(time.Minute)
		}
		has(t, string(page.WhosOnline("site")), ` me=""`) // the mistakes named nobody
	})
}

// Without PrefetchSeen each user costs a round trip, and with it all cost one.
func TestPagePrefetchesSeen(t *testing.T) {
	bubble(t, templates.Config{}, func(s *site) {
		widgets := newWidgets(s, nil, s.tracker, s.cfg)
		for i, prefetch := range []bool{false, true} {
			before := s.store.Calls(presencetest.CallSightings)
			page, ids, want := widgets.Page(requestOf(guest)), []int{3 * i, 3*i + 1, 3*i + 2}, 3
			if prefetch {
				page.PrefetchSeen(ids)
				want = 1
			}
			for _, id := range ids {
				page.LastSeen(id)
			}
			if got := s.store.Calls(presencetest.CallSightings) - before; got != want {
				t.Errorf("prefetched %v: got %d calls of the store, want %d", prefetch, got, want)
			}
		}
	})
}

// The first element of a page names the visitor, whichever it is, and no other does.
func TestTheFirstElementNamesTheVisitor(t *testing.T) {
	for _, first := range []string{`{{whosOnline "site"}}`, `{{onlineDot "alice"}}`, `{{lastSeen "alice"}}`, `{{lastSeen "stranger"}}`, `{{onlineCount "site"}}`} {
		bubble(t, templates.Config{}, func(s *site) {
			s.see(presence.Site, members...)
			widgets := s.views(`<p>{{isOnline "alice"}}{{onlineTotal "site"}}{{presenceAvatar .}}` + first +
				`{{whosOnline "site"}}{{onlineDot "bob"}}{{lastSeen "bob"}}{{onlineCount "site"}}`)
			for _, visitor := range []presence.User{guest, me, members[1], guest, user(`"><b>`)} { // the HTML of the widget is shared by all
				var b strings.Builder
				noError(t, widgets.Execute(&b, "page", me, requestOf(visitor)))
				html, name := b.String(), ` me="`+template.HTMLEscapeString(string(visitor.ID))+`">`
				if got := strings.Count(html, " me="); got != 1 || !strings.Contains(html, name) {
					t.Errorf("%s: got %d elements that name a visitor, want one with %s", first, got, name)
				}
				if before, _, _ := strings.Cut(html, " me="); elements(before) != 1 {
					t.Errorf("%s: got %d elements before the name, want only its own", first, elements(before))
				}
			}
		})
	}
}

// Only an element of ours is changed for it, and no text that looks like one.
func TestNoOtherTextNamesTheVisitor(t *testing.T) {
	bubble(t, templates.Config{}, func(s *site) {
		const before = `<script>x = "<online-dot data-x='1'>"; y = {{onlineDot "bob"}}</script><p title="{{onlineDot "bob"}}"><online-dot class="presence-dot"></online-dot>`
		html := s.page(`{{onlineDot "alice"}}`+before, me)
		has(t, html, `me="me"></online-dot><script>`)
		html = s.page(before+`{{onlineDot "bob"}}`, me)
		has(t, html, `"<online-dot data-x='1'>"`, `<online-dot class="presence-dot"></online-dot>`, ` title="offline" me="me"></online-dot>`)
		has(t, s.page(`<p title="{{lastSeen "bob"}}{{onlineCount "site"}}">{{onlineDot "bob"}}`, me), ` title="offline" me="me"></online-dot>`)
		if got := strings.Count(html, ` me="`); got != 1 {
			t.Errorf("got the visitor named %d times, want once:\n%s", got, html)
		}
	})
}

// elements returns how many elements of the script begin in html.
func elements(html string) (n int) {
	for _, name := range []string{"<whos-online ", "<online-dot ", "<last-seen ", "<online-count "} {
		n += strings.Count(html, name)
	}
	return n
}

// A page that fails writes nothing, whatever the framework.
func TestRendererWritesNothingOnError(t *testing.T) {
	bubble(t, templates.Config{}, func(s *site) {
		var b strings.Builder
		err := templates.RendererFor[fakeContext](s.views(`before {{whosOnline ""}}`)).Render(&b, "page", nil, fakeContext{requestOf(guest)})
		if err == nil || b.Len() != 0 {
			t.Errorf("got %q, %v, want nothing and an error", b.String(), err)
		}
	})
}

// The error of the writer is returned.
func TestExecuteReturnsTheErrorOfTheWriter(t *testing.T) {
	bubble(t, templates.Config{}, func(s *site) {
		r, w := io.Pipe()
		r.CloseWithError(errOut)
		if err := s.views(`page`).Execute(w, "page", nil, requestOf(guest)); !errors.Is(err, errOut) {
			t.Errorf("got %v, want %v", err, errOut)
		}
	})
}

// The request of a page knows whether the page must become live, and whether it links the script.
func TestPagesSayWhatTheyShow(t *testing.T) {
	for view, want := range map[string][2]bool{
		``:                                   {false, false},
		`{{presenceHead}}`:                   {false, true},
		`{{whosOnline "site"}}`:              {true, false},
		`{{onlineDot "bob"}}`:                {true, false},
		`{{presenceStyle}}`:                  {false, false},
		`{{presenceHead}}{{whosOnline "x"}}`: {true, true},
	} {
		bubble(t, templates.Config{}, func(s *site) {
			r := requestOf(user("alice"))
			noError(t, s.views(view).Execute(io.Discard, "page", nil, r))
			if element, head := r.Context().(*presence.VisitorContext).Shown(); [2]bool{element, head} != want {
				t.Errorf("%s: got element %t and head %t, want %v", view, element, head, want)
			}
		})
	}
	bubble(t, templates.Config{Members: true}, func(s *site) {
		r := requestOf(guest)
		noError(t, s.views(`{{whosOnline "site"}}{{onlineDot "bob"}}`).Execute(io.Discard, "page", nil, r))
		if element, _ := r.Context().(*presence.VisitorContext).Shown(); element {
			t.Error("a page without elements says that it has one")
		}
	})
}
