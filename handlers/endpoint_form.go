package handlers

import (
	"html/template"
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/rollcall-go/rollcall/internal/problem"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/track"
)

// A form of package templates is an ordinary POST below form/, so that it works without script. Like every
// POST it may come only from pages of this site. The answer redirects to the page that has the form.

// A formAction does what a visitor's form asks for. rest is the path below the name of the form.
type formAction func(r *http.Request, v presence.Visitor, rest string, form url.Values) error

// formEndpoints serve the forms that the site has.
type formEndpoints struct {
	tracker *track.Tracker
	cfg     *settings
	people  *peopleEndpoints
	faults  *faults
	actions map[string]formAction // by the name of the form
}

func newFormEndpoints(tracker *track.Tracker, people *peopleEndpoints, f *faults) *formEndpoints {
	e := &formEndpoints{tracker: tracker, cfg: people.cfg, people: people, faults: f, actions: make(map[string]formAction)}
	if e.cfg.people {
		e.actions["settings"], e.actions["session"] = e.settings, e.session
	}
	if e.cfg.people && e.cfg.Contacts != nil {
		e.actions["contacts"] = e.contacts
	}
	if e.cfg.Feeds != nil {
		e.actions["notifications"] = e.notifications
	}
	return e
}

// form serves all forms.
func (e *formEndpoints) form(w http.ResponseWriter, r *http.Request, v presence.Visitor) error {
	name, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, e.cfg.prefix+"/form/"), "/")
	do := e.actions[name]
	var form url.Values
	var err error
	switch {
	case do == nil:
		err = notFound("This site has no such form.")
	case !v.SignedIn():
		err = problem.New(http.StatusUnauthorized, "Sign in first.")
	default:
		form, err = readForm(w, r, e.cfg.MaxBody)
	}
	back := e.cfg.backFrom(r, form)
	switch {
	case err != nil:
	case ofAnother(form, v):
		err = errOfAnother()
	default:
		err = do(r, v, rest, form)
	}
	if err != nil {
		e.failed(w, r, back, e.faults.explain(err, "form/"+name, v))
		return nil
	}
	w.Header().Set("Cache-Control", "no-store")
	http.Redirect(w, r, back, http.StatusSeeOther)
	return nil
}

// backFrom returns the page from which a form came, as a path of this site. It takes the page that the browser
// names, or else the one in the form, or else the page above the endpoints.
func (s *settings) backFrom(r *http.Request, form url.Values) string {
	for _, text := range []string{r.Referer(), form.Get("back")} {
		page, err := url.Parse(text)
		if err != nil || page.Path == "" {
			continue
		}
		// Two slashes at the beginning would name another host.
		return (&url.URL{Path: "/" + strings.TrimLeft(page.Path, `/\`), RawQuery: page.RawQuery}).RequestURI()
	}
	return path.Dir(s.prefix)
}

// formPage is the page that says why a form failed.
var formPage = template.Must(template.New("").Parse(`<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">` +
	`<title>{{.Title}}</title><p>{{.Detail}}</p><p><a href="{{.Back}}">Back</a></p></html>`))

// failed answers a form that failed.
func (e *formEndpoints) failed(w http.ResponseWriter, r *http.Request, back string, p *problem.Problem) {
	for name, value := range p.Header {
		w.Header().Set(name, value)
	}
	w.Header().Set("Cache-Control", "no-store")
	if e.cfg.FormFailed != nil {
		e.cfg.FormFailed(w, r, p.Status, p.Detail)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(p.Status)
	_ = formPage.Execute(w, map[string]string{"Title": p.Title, "Detail": p.Detail, "Back": back}) // an error means that the client has gone
}
