package templates_test

import (
	"fmt"
	"html/template"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/labstack/echo/v4"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/templates"
)

// A Renderer is what Echo wants, without knowing Echo.
var _ echo.Renderer = templates.RendererFor[echo.Context](nil)

func TestRendererWithEcho(t *testing.T) {
	bubble(t, templates.Config{}, func(s *site) {
		e := echo.New()
		e.Renderer = templates.RendererFor[echo.Context](s.views(`{{.}}: {{onlineTotal "site"}}`))
		e.GET("/", func(c echo.Context) error { return c.Render(http.StatusOK, "page", "online") })
		w := httptest.NewRecorder()
		e.ServeHTTP(w, requestOf(me))
		if got, want := w.Body.String(), "online: 1"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

// fakeContext is a framework's context as small as it may be.
type fakeContext struct{ r *http.Request }

func (c fakeContext) Request() *http.Request { return c.r }

func TestRendererWithAnyFramework(t *testing.T) {
	bubble(t, templates.Config{}, func(s *site) {
		r := templates.RendererFor[fakeContext](s.views(`{{isOnline "me"}}`))
		var b strings.Builder
		if err := r.Render(&b, "page", nil, fakeContext{requestOf(me)}); err != nil || b.String() != "true" {
			t.Errorf("got %q, %v, want true", b.String(), err)
		}
	})
}

// Renderings at the same time know each its own visitor.
func TestViewsAtTheSameTime(t *testing.T) {
	bubble(t, templates.Config{}, func(s *site) {
		s.see(presence.Site, members...)
		views := s.views(`{{define "list"}}{{whosOnline "site" "max" 1}}{{end}}{{template "list"}}{{template "list"}}`)
		var wg sync.WaitGroup
		for i := range 200 {
			wg.Go(func() {
				var b strings.Builder
				id := fmt.Sprintf("visitor-%d", i)
				if err := views.Execute(&b, "page", nil, requestOf(user(id))); err != nil {
					t.Error(err)
				}
				if got := strings.Count(b.String(), `data-user="`+id+`"`); got != 2 || strings.Count(b.String(), "data-user=") != 2 {
					t.Errorf("got %s, want only %s, twice", b.String(), id)
				}
			})
		}
		wg.Wait()
	})
}

func TestNothingIsWrittenOnError(t *testing.T) {
	bubble(t, templates.Config{}, func(s *site) {
		html, err := s.render(`before {{whosOnline ""}}`, guest)
		if err == nil || html != "" {
			t.Errorf("got %q, %v, want nothing and an error", html, err)
		}
	})
}

func TestViewsThatWereExecuted(t *testing.T) {
	bubble(t, templates.Config{}, func(s *site) {
		views := parse("plain")
		noError(t, views.Execute(new(strings.Builder), nil))
		_, err := templates.New(views, s.tracker, s.cfg)
		if err == nil || !strings.Contains(err.Error(), "executed") {
			t.Errorf("got %v, want an error that says that they were executed", err)
		}
	})
}

func TestNewRefusesABadConfig(t *testing.T) {
	bubble(t, templates.Config{}, func(s *site) {
		widgets, err := templates.New(parse("plain"), s.tracker, templates.Config{Topic: "no topic"})
		if widgets != nil || err == nil || !strings.Contains(err.Error(), "Config.Topic") {
			t.Errorf("got %v, %v, want an error that names Config.Topic", widgets, err)
		}
	})
}

// A site that only serves the widget has no templates.
func TestWidgetsWithoutTemplates(t *testing.T) {
	bubble(t, templates.Config{}, func(s *site) {
		err := newWidgets(s, nil, s.tracker, s.cfg).Execute(io.Discard, "page", nil, requestOf(guest))
		if err == nil || !strings.Contains(err.Error(), "no templates") {
			t.Errorf("got %v, want an error that says that there are no templates", err)
		}
	})
}

// A site may go on to use its own template.
func TestViewsAreClonedAtOnce(t *testing.T) {
	bubble(t, templates.Config{}, func(s *site) {
		original := parse("plain")
		views := newWidgets(s, original, s.tracker, s.cfg)
		noError(t, original.Execute(io.Discard, nil))
		if err := views.Execute(io.Discard, "page", nil, requestOf(guest)); err != nil {
			t.Error(err)
		}
	})
}

// The functions say what is missing where the views are executed without us.
func TestFuncsAlone(t *testing.T) {
	for _, call := range []string{`presenceHead`, `presenceStyle`, `whosOnline "site"`, `onlineDot "a"`, `presenceAvatar .`, `isOnline "a"`, `lastSeen "a"`, `prefetchSeen "a"`, `onlineCount "site"`, `onlineTotal "site"`,
		`prefetchCounts "site"`, `recentlyActive "site"`, `mostOnline "site"`, `where`, `legend`, `contacts`, `person "a"`, `sessions`, `settings`} {
		err := parse("{{"+call+"}}").Execute(new(strings.Builder), me)
		if err == nil || !strings.Contains(err.Error(), "templates.RendererFor") || !strings.Contains(err.Error(), "Funcs(widgets.Page(r).Funcs())") {
			t.Errorf("%s: got %v, want an error that names RendererFor, and Page.Funcs for other engines", call, err)
		}
	}
}

// A page shows a topic as it was at one moment, whatever happens meanwhile.
func TestOnePageOneMoment(t *testing.T) {
	bubble(t, templates.Config{}, func(s *site) {
		s.see(presence.Site, members[0])
		views := template.Must(template.New("page").Funcs(templates.Funcs()).Funcs(template.FuncMap{
			"bobComes": func() string { s.see(presence.Site, members[1]); return "" },
		}).Parse(`{{onlineTotal "site"}}{{bobComes}}{{onlineTotal "site"}}{{isOnline "bob"}}`))
		var b strings.Builder
		noError(t, newWidgets(s, views, s.tracker, s.cfg).Execute(&b, "page", nil, requestOf(guest)))
		if got, want := b.String(), "11false"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

// Ids and topics may have a type of the site's own.
func TestAnyTypeOfID(t *testing.T) {
	bubble(t, templates.Config{}, func(s *site) {
		s.see(presence.Site, user("42"))
		var b strings.Builder
		err := s.views(`{{isOnline .Number}} {{isOnline .ID}} {{onlineTotal .Topic}}`).Execute(&b, "page", map[string]any{
			"Number": int64(42), "ID": presence.UserID("42"), "Topic": presence.Site,
		}, requestOf(guest))
		if got, want := b.String(), "true true 1"; err != nil || got != want {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	})
}
