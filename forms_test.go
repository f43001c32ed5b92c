package rollcall_test

import (
	"context"
	"html/template"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/rollcall-go/rollcall"
	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed"
)

// A formSite is a site without one line of its own for forms.
type formSite struct {
	t *testing.T
	*rollcall.Site
	http.Handler
}

func newFormSite(t *testing.T, config rollcall.Config) *formSite {
	t.Helper()
	config.SQL, _ = newSQL(t)
	config.Views = parse(`{{settings}}{{sessions}}{{contact "bob"}}{{notifications "mute" true}}`)
	site, _ := newSite(t, config)
	return &formSite{t, site, site.Wrap(pages(site))}
}

var (
	formTag = regexp.MustCompile(`(?s)<form[^>]* action="([^"]*)".*?</form>`)
	field   = regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)"`)
)

// submit sends the form of Alice's page whose action ends so, as a browser without script does,
// with more fields. referer is false for a browser that says nothing of where it comes from.
func (s *formSite) submit(action string, referer bool, more url.Values) *httptest.ResponseRecorder {
	s.t.Helper()
	page := get(s.t, s, "/account?tab=2", "alice").Body.String()
	for _, form := range formTag.FindAllStringSubmatch(page, -1) {
		if !strings.HasSuffix(form[1], action) {
			continue
		}
		fields := url.Values{}
		for _, f := range field.FindAllStringSubmatch(form[0], -1) {
			fields.Add(f[1], template.HTMLEscapeString(f[2]))
		}
		for name, values := range more {
			fields[name] = values
		}
		return s.post(form[1], "alice", referer, fields)
	}
	s.t.Fatalf("there is no form for %s in %s", action, page)
	return nil
}

func (s *formSite) post(path, user string, referer bool, fields url.Values) *httptest.ResponseRecorder {
	s.t.Helper()
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(fields.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("User", user)
	if referer {
		r.Header.Set("Referer", "https://example.com/account?tab=2")
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

// wantBack fails the test unless an answer leads back to a page.
func (s *formSite) wantBack(w *httptest.ResponseRecorder, page string) {
	s.t.Helper()
	if w.Code != http.StatusSeeOther || w.Header().Get("Location") != page {
		s.t.Errorf("got %d to %q (%s), want 303 to %s", w.Code, w.Header().Get("Location"), w.Body, page)
	}
}

func TestFormsAreAnswered(t *testing.T) {
	s := newFormSite(t, rollcall.Config{BasePath: "/reader"})
	settings := func() presence.Settings {
		got, err := s.Tracker().People().Settings(t.Context(), "alice")
		if err != nil {
			t.Fatal(err)
		}
		return got
	}

	s.wantBack(s.submit("/form/settings", true, url.Values{"status": {"busy"}, "text": {" in a call "}, "for": {""}, "online": {"contacts"}, "seen": {"nobody"}}), "/account?tab=2")
	if got := settings(); got.Status != presence.Busy || got.Text != "in a call" || !got.Until.IsZero() || got.Online != presence.Contacts || got.Seen != presence.Nobody {
		t.Errorf("got the settings %+v, want those of the form", got)
	}
	s.wantBack(s.submit("/form/settings", false, url.Values{"status": {"away"}, "text": {""}, "for": {"3600"}}), "/account?tab=2")
	if got := settings(); got.Status != presence.Away || got.Until.IsZero() {
		t.Errorf("got the settings %+v, want away for an hour", got)
	}

	people := s.relation("bob")
	for _, step := range []struct {
		do   string
		want presence.Relation
	}{{"add", presence.Contact}, {"remove", presence.Stranger}, {"block", presence.Blocked}, {"unblock", presence.Stranger}} {
		s.wantBack(s.submit("/form/contacts", true, url.Values{"do": {step.do}}), "/account?tab=2")
		if got := people(); got != step.want {
			t.Errorf("%s: Bob is %v to Alice, want %v", step.do, got, step.want)
		}
	}

	if err := s.Send(t.Context(), feed.Message{To: []presence.UserID{"alice"}, Type: "reply", Text: "hello"}); err != nil {
		t.Fatal(err)
	}
	inbox := func() feed.Head {
		head, err := s.Feeds().Head(t.Context(), feed.Inbox("alice"))
		if err != nil {
			t.Fatal(err)
		}
		return head
	}
	until(t, "the message is there", func() bool { return inbox().Unread == 1 })
	s.wantBack(s.submit("/form/notifications", true, url.Values{"do": {"read"}}), "/account?tab=2") // the first form marks all
	if got := inbox().Unread; got != 0 {
		t.Errorf("got %d unread, want none", got)
	}
	s.wantBack(s.post("/reader/presence/form/notifications", "alice", false, url.Values{"do": {"mute"}, "scope": {"type:reply"}, "how": {"all"}}), "/reader")
	if mutes, err := s.Feeds().Mutes(t.Context(), "alice"); err != nil || len(mutes) != 1 {
		t.Errorf("got the mutes %v, %v, want one", mutes, err)
	}
}

// relation returns what a user is to Alice.
func (s *formSite) relation(user presence.UserID) func() presence.Relation {
	return func() presence.Relation {
		is, err := s.Tracker().Config().Directory.Relations(s.t.Context(), presence.Pair{User: "alice", Viewer: user})
		if err != nil {
			s.t.Fatal(err)
		}
		return is[0]
	}
}

func TestFormsThatAreRefused(t *testing.T) {
	s := newFormSite(t, rollcall.Config{})
	for name, tt := range map[string]struct {
		path, user string
		fields     url.Values
		want       int
	}{
		"a guest":             {"settings", "", url.Values{"status": {"busy"}}, http.StatusUnauthorized},
		"another user's page": {"notifications", "bob", url.Values{"me": {"alice"}, "do": {"read"}, "upto": {"1"}}, http.StatusForbidden},
		"no status":           {"settings", "alice", url.Values{"status": {"asleep"}}, http.StatusBadRequest},
		"no time":             {"settings", "alice", url.Values{"for": {"soon"}}, http.StatusBadRequest},
		"no deed":             {"contacts", "alice", url.Values{"user": {"bob"}, "do": {"hug"}}, http.StatusBadRequest},
		"oneself":             {"contacts", "alice", url.Values{"user": {"alice"}, "do": {"add"}}, http.StatusBadRequest},
		"no user":             {"contacts", "alice", url.Values{"do": {"add"}}, http.StatusBadRequest},
		"no place":            {"notifications", "alice", url.Values{"do": {"read"}, "pos": {"x"}}, http.StatusBadRequest},
		"upto nothing":        {"notifications", "alice", url.Values{"do": {"read"}, "upto": {"0"}}, http.StatusBadRequest},
		"mute nothing":        {"notifications", "alice", url.Values{"do": {"mute"}, "how": {"all"}}, http.StatusBadRequest},
		"no session":          {"session/%00", "alice", nil, http.StatusBadRequest},
		"no form":             {"secrets", "alice", nil, http.StatusNotFound},
	} {
		w := s.post("/presence/form/"+tt.path, tt.user, true, tt.fields)
		if w.Code != tt.want || !strings.Contains(w.Body.String(), `<a href="/account?tab=2">Back</a>`) || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") {
			t.Errorf("%s: got %d %s, want %d and a page with a link back", name, w.Code, w.Body, tt.want)
		}
	}
	r := httptest.NewRequest(http.MethodPost, "/presence/form/contacts", strings.NewReader("do=block&user=bob"))
	r.Header.Set("User", "alice")
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	w := httptest.NewRecorder()
	if s.ServeHTTP(w, r); w.Code != http.StatusForbidden || s.relation("bob")() != presence.Stranger {
		t.Errorf("got %d for a form of another site, want 403 and nothing changed", w.Code)
	}
	for _, evil := range []string{"https://example.com//evil.example/x", "https://example.com/\\evil.example/x"} {
		r := httptest.NewRequest(http.MethodPost, "/presence/form/settings", strings.NewReader("status=busy"))
		r.Header.Set("User", "alice")
		r.Header.Set("Referer", evil)
		w := httptest.NewRecorder()
		if s.ServeHTTP(w, r); w.Header().Get("Location") != "/evil.example/x" {
			t.Errorf("%s: got %d to %q, want a path of this site", evil, w.Code, w.Header().Get("Location"))
		}
	}
}

// A site whose CSRF check stands before Wrap gives its field to all forms.
func TestFormsHaveTheField(t *testing.T) {
	s := newFormSite(t, rollcall.Config{CSRF: func(r *http.Request) template.HTML {
		return template.HTML(`<input type="hidden" name="token" value="of ` + template.HTMLEscapeString(r.Header.Get("User")) + `">`)
	}})
	page := get(t, s, "/", "alice").Body.String()
	forms := formTag.FindAllString(page, -1)
	if got := strings.Count(page, `name="token" value="of alice"`); len(forms) < 4 || got < len(forms) {
		t.Errorf("got %d fields in %d forms: %s", got, len(forms), page)
	}
}

// Devices have a form that ends their session where the site can end one.
func TestFormOfSessions(t *testing.T) {
	t.Parallel()
	end := func(context.Context, presence.UserID, presence.DeviceID) error { return nil }
	for name, parts := range map[string]rollcall.Parts{"none": {}, "one": {Handlers: handlers.Config{EndSession: end}}} {
		s := newFormSite(t, rollcall.Config{Parts: parts})
		var page string
		until(t, name+": the page lists a device with an id", func() bool { // it has none while the fleet's secret is not known
			page = get(t, s, "/account", "alice").Body.String()
			return regexp.MustCompile(`data-session="[^"]`).MatchString(page)
		})
		if got, want := strings.Contains(page, `action="/presence/form/session/`), name == "one"; got != want {
			t.Errorf("%s: a form ends a session: got %v, want %v in %s", name, got, want, page)
		}
	}
}

// A page of Alice is still open when Bob signs in. Its forms change nothing that is Bob's.
func TestFormsOfAnotherUser(t *testing.T) {
	s := newFormSite(t, rollcall.Config{Parts: rollcall.Parts{Handlers: handlers.Config{EndSession: func(context.Context, presence.UserID, presence.DeviceID) error {
		t.Error("a session was ended")
		return nil
	}}}})
	page := get(t, s, "/account", "alice").Body.String()
	forms := formTag.FindAllStringSubmatch(page, -1)
	for _, form := range forms {
		fields := url.Values{"do": {"add"}, "text": {"hello"}}
		for _, f := range field.FindAllStringSubmatch(form[0], -1) {
			fields.Add(f[1], f[2])
		}
		if w := s.post(form[1], "bob", true, fields); w.Code != http.StatusForbidden || fields.Get("me") != "alice" {
			t.Errorf("%s: got %d (%s) and me=%q, want 403", form[1], w.Code, w.Body, fields.Get("me"))
		}
	}
	if got, err := s.Tracker().People().Settings(t.Context(), "bob"); err != nil || got.Text != "" || len(forms) < 3 {
		t.Errorf("got %+v, %v and %d forms, want Bob's settings unchanged, and three forms at least", got, err, len(forms))
	}
}
