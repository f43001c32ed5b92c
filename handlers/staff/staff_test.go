package staff_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/handlers/staff"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
)

// A desk is a page of staff, and who asks for it.
type desk struct {
	t       *testing.T
	tracker *track.Tracker
	page    *staff.Page
}

func newDesk(t *testing.T, cfg staff.Config) *desk {
	tracker, err := track.New(memstore.New(), track.Config{Node: "a", Kinds: map[string]presence.Kind{"site": {Peak: true}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tracker.Close(context.Background()) })
	return &desk{t, tracker, staff.New(tracker, cfg)}
}

// onlyZoe opens the page to one user.
func onlyZoe(_ *http.Request, v presence.Visitor) bool { return v.User.ID == "zoe" }

// ask sends a request as a user; empty: a guest. A form makes it a POST.
func (d *desk) ask(user, path string, form url.Values, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	if form != nil {
		r = httptest.NewRequest(http.MethodPost, path, strings.NewReader(form.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	v := presence.Visitor{User: presence.User{ID: presence.UserID(user)}}
	w := httptest.NewRecorder()
	d.page.ServeHTTP(w, r.WithContext(presence.ContextWithVisitor(r.Context(), v)))
	return w
}

func TestWhoMayOpenThePage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		panics := func(*http.Request, presence.Visitor) bool { panic("the site's mistake") }
		for name, tt := range map[string]struct {
			allow func(*http.Request, presence.Visitor) bool
			user  string
			want  int
		}{
			"by default nobody": {nil, "zoe", 403}, "by default no guest": {nil, "", 401},
			"staff": {onlyZoe, "zoe", 200}, "another user": {onlyZoe, "bob", 403}, "a guest": {onlyZoe, "", 401},
			"a panic": {panics, "zoe", 403},
		} {
			d := newDesk(t, staff.Config{Allow: tt.allow})
			d.tracker.Seen("site", presence.User{ID: "secret-user"}, presence.Device{})
			time.Sleep(time.Second)
			for _, path := range []string{"/staff", "/staff/staff.js", "/staff?topic=site"} {
				w := d.ask(tt.user, path, nil)
				if w.Code != tt.want || tt.want != 200 && strings.Contains(w.Body.String(), "secret-user") {
					t.Errorf("%s: %s: got status %d and %.200s, want %d", name, path, w.Code, w.Body, tt.want)
				}
			}
			if w := d.ask(tt.user, "/staff", url.Values{"do": {"disconnect"}, "user": {"secret-user"}, "topic": {"site"}}); tt.want != 200 && w.Code != tt.want {
				t.Errorf("%s: POST: got status %d, want %d", name, w.Code, tt.want)
			}
			if got := len(d.tracker.Staff().Acts()); (got == 1) != (tt.want == 200) {
				t.Errorf("%s: %d acts were done", name, got)
			}
		}
	})
}

func TestPageShowsWhoIsThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, staff.Config{Allow: onlyZoe, Title: func(t presence.Topic) string { return "The topic <" + string(t) + ">" }})
		d.tracker.Seen("site", presence.User{ID: "<b>eve", Name: "<script>alert(1)</script>", URL: "javascript:alert(1)", Group: "staff"}, presence.Device{})
		d.tracker.Seen("site", presence.User{ID: "ghost", Status: presence.Invisible}, presence.Device{})
		d.tracker.Seen("thread:1", presence.User{ID: "bob"}, presence.Device{})
		c, err := d.tracker.Connect(t.Context(), track.ConnectOptions{Visitor: presence.Visitor{User: presence.User{ID: "bob"}}, Topics: []presence.Topic{"site"}})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		time.Sleep(time.Second)
		body := d.ask("zoe", "/staff", nil).Body.String()
		for _, want := range []string{
			`The topic &lt;thread:1&gt;`, `&lt;script&gt;alert(1)&lt;/script&gt;`, `<strong>invisible</strong>`, `data-user="ghost"`,
			`at node <code>a</code>`, "a page view", "It answers.", `<span class="group">staff</span>`, "Most ever online",
		} {
			if !strings.Contains(body, want) {
				t.Errorf("the page lacks %s", want)
			}
		}
		for _, never := range []string{"<script>alert", "javascript:alert", "<b>eve"} {
			if strings.Contains(body, never) {
				t.Errorf("the page has %s", never)
			}
		}
		if body := d.ask("zoe", "/staff?topic=thread:1", nil).Body.String(); !strings.Contains(body, `data-user="bob"`) || strings.Contains(body, `data-user="ghost"`) {
			t.Error("the page of thread:1 shows others than bob")
		}
	})
}

func TestActs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ended []presence.UserID
		fails := false
		d := newDesk(t, staff.Config{Allow: onlyZoe, OnDisconnect: func(_ context.Context, u presence.UserID) error {
			if fails {
				return errors.New("the site's database is out")
			}
			ended = append(ended, u)
			return nil
		}})
		d.tracker.Seen("site", presence.User{ID: "eve"}, presence.Device{})
		time.Sleep(time.Second)
		for name, tt := range map[string]struct {
			form   url.Values
			header []string
			want   int
		}{
			"unknown act":    {form: url.Values{"do": {"delete"}, "topic": {"site"}}, want: 400},
			"no user":        {form: url.Values{"do": {"disconnect"}, "topic": {"site"}}, want: 400},
			"no topic":       {form: url.Values{"do": {"disconnect"}, "user": {"eve"}}, want: 400},
			"too large":      {form: url.Values{"do": {strings.Repeat("x", 5000)}}, want: 400},
			"foreign origin": {form: url.Values{"do": {"disconnect"}, "user": {"eve"}, "topic": {"site"}}, header: []string{"Sec-Fetch-Site", "cross-site"}, want: 403},
		} {
			if w := d.ask("zoe", "/staff", tt.form, tt.header...); w.Code != tt.want {
				t.Errorf("%s: got status %d and %s, want %d", name, w.Code, w.Body, tt.want)
			}
		}
		out := url.Values{"do": {"disconnect"}, "user": {"eve"}, "topic": {"site"}}
		fails = true
		if w := d.ask("zoe", "/staff", out); w.Code != 503 || len(d.tracker.Staff().Acts()) != 0 {
			t.Errorf("the site's session could not be ended: got status %d and %d acts, want 503 and none", w.Code, len(d.tracker.Staff().Acts()))
		}
		fails = false
		w := d.ask("zoe", "/staff", out)
		if w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/staff?topic=site&done=disconnect" {
			t.Errorf("got status %d to %q, want 303 back to the page", w.Code, w.Header().Get("Location"))
		}
		time.Sleep(time.Second)
		body := d.ask("zoe", w.Header().Get("Location"), nil).Body.String()
		if !strings.Contains(body, "The user was disconnected.") || !strings.Contains(body, "<strong>zoe</strong> disconnected <code>eve</code>") || strings.Contains(body, `data-user="eve"`) {
			t.Errorf("the page does not say that eve was disconnected: %s", body)
		}
		if len(ended) != 1 || ended[0] != "eve" {
			t.Errorf("the site was asked to end the sessions of %v, want eve's", ended)
		}
		if w := d.ask("zoe", "/staff", url.Values{"do": {"reset"}, "topic": {"site"}}); w.Code != http.StatusSeeOther {
			t.Errorf("reset: got status %d and %s", w.Code, w.Body)
		}
	})
}
