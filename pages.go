package rollcall

import (
	"bytes"
	"errors"
	"html/template"
	"io"
	"net/http"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/templates"
)

// Funcs returns the functions that templates call, such as whosOnline, to parse them with. The
// documentation of package templates describes each.
func Funcs() template.FuncMap { return templates.Funcs() }

// Render answers a request with one of Config.Views. If the template fails it answers 500, and
// logs the error.
func (s *Site) Render(w http.ResponseWriter, r *http.Request, name string, data any) {
	var page bytes.Buffer
	if err := s.Execute(&page, name, data, r); err != nil {
		s.logger.Error("presence: a page could not be rendered", "template", name, "error", err)
		http.Error(w, "The page could not be rendered.", http.StatusInternalServerError)
		return
	}
	if w.Header().Get("Content-Type") == "" {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
	}
	_, _ = page.WriteTo(w) // a client that is gone is no error of the site
}

// Execute writes one of Config.Views for a request, in one piece: see
// [templates.Widgets.Execute].
func (s *Site) Execute(w io.Writer, name string, data any, r *http.Request) error {
	if !s.hasViews {
		return errors.New("rollcall: Config.Views has no templates")
	}
	s.recheck(r)
	return s.widgets.Execute(w, name, data, r)
}

// Page returns the parts of one page, for templ, gomponents and other engines. An engine that
// clones html/template templates for each request gives them [templates.Page.Funcs].
func (s *Site) Page(r *http.Request) *templates.Page {
	s.recheck(r)
	return s.widgets.Page(r)
}

// recheck asks identify once more about a guest's page, until a user has been met. It reports [presence.NoUser] if
// the guest is a user by now: Wrap then stands before the site's sessions.
func (s *Site) recheck(r *http.Request) {
	identify := s.mount.Config.Identify
	if identify == nil || s.tracker.MetUser() || !presence.HasVisitor(r.Context()) {
		return
	}
	defer func() { _ = recover() }() // the middleware has reported it
	if _, ok := identify(r); ok {
		s.tracker.Found(presence.NoUser, "cause", "identify finds the user in the page, and not before it")
	}
}
