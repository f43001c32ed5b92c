package hostile_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rollcall-go/rollcall/examples/forum/internal/forumtest"
	"github.com/rollcall-go/rollcall/internal/redistest"
)

// acme is the host of a tenant whose members have secrets: each holds the word sesame.
const acme = "acme.localhost:8080"

// tenantStores are the flags of the forums that tenants share.
var tenantStores = map[string]func(t *testing.T) []string{
	"memory": func(*testing.T) []string { return nil },
	"Redis and SQLite": func(t *testing.T) []string {
		return []string{"-redis", redistest.Start(t).URL(), "-sql", "file:" + filepath.Join(t.TempDir(), "forum.db")}
	},
}

// at returns a user of a host.
func at(t *testing.T, f *forumtest.Forum, host, name string) *forumtest.Visitor {
	t.Helper()
	v := f.Visitor(t).As(host)
	v.SignIn(name)
	return v
}

// TestTenantsShareNothing: no page or answer of one tenant contains anything of another tenant.
// Users and topics of both have the same names. The attacker sends cookies, cursors, tokens and
// ETags of one tenant to the other, and makes up internal names (rules T1 to T4).
func TestTenantsShareNothing(t *testing.T) {
	t.Parallel()
	for name, flags := range tenantStores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := forumtest.Start(t, append(flags(t), "-tenants", "acme,globex", "-staff", "zoe", "-grace", "200ms", "-sweep", "100ms")...)
			alice := inhabit(t, f)
			eve := at(t, f, "globex.localhost:8080", "Alice")
			mine := eve.Stream("topic=site&topic=thread:1&topic=edit:1:1")
			mine.Join("alice")
			seesNothing(t, f, eve)
			crossesNothing(t, f, alice, eve)
			namesNothing(t, eve)
			signalsPart(t, alice, eve)
		})
	}
}

// inhabit fills acme with secrets, and returns Alice there: she is in a stream, and has a
// notification.
func inhabit(t *testing.T, f *forumtest.Forum) *forumtest.Visitor {
	t.Helper()
	alice, sesame := at(t, f, acme, "Alice"), at(t, f, acme, "Sesame")
	for path, form := range map[string]url.Values{
		"/settings":          {"status": {"busy"}, "text": {"a sesame text"}},
		"/contacts":          {"user": {"Alice"}, "do": {"add"}},
		"/threads/1/replies": {"text": {"a sesame reply"}},
		editOf(1):            {"text": {"a sesame edit"}, "revision": {"1"}},
		"/threads/2/replies": {"text": {"a sesame second"}},
		"/mutes":             {"scope": {"about:thread:3"}, "how": {"all"}},
	} {
		if res := sesame.Post(path, form); res.Status != http.StatusSeeOther {
			t.Fatalf("%s: got %d, want 303\n%s", path, res.Status, res.Body)
		}
	}
	if res := alice.Post("/contacts", url.Values{"user": {"Sesame"}, "do": {"add"}}); res.Status != http.StatusSeeOther {
		t.Fatalf("contacts: got %d, want 303\n%s", res.Status, res.Body)
	}
	sesame.Stream("topic=site&topic=thread:1&topic=edit:1:1&topic=rules").Join("sesame")
	alice.Stream("topic=site&topic=thread:1").Join("alice")
	forumtest.Await(t, "Alice’s notification", func() bool {
		return strings.Contains(alice.Get("/presence/feed?topic=inbox").Body, "Sesame")
	})
	for path, want := range map[string]string{ // else nothing below means anything
		"/threads/1": "a sesame edit", "/": "Sesame", "/notifications": "Sesame", "/contacts": "sesame", "/presence/roster?topic=site": `"sesame"`,
		"/presence/roster?topic=edit:1:1": `"sesame"`, "/presence/feed?topic=feed:thread:1": "a sesame reply", "/presence/users?id=sesame": `"busy"`,
	} {
		forumtest.Await(t, path+" of acme with "+want, func() bool { return strings.Contains(alice.Get(path).Body, want) })
	}
	return alice
}

// send sends a request, and again where that was too often.
func send(v *forumtest.Visitor, method, path, contentType, body string) (res forumtest.Response) {
	v.T.Helper()
	forumtest.Await(v.T, "leave to send to "+path, func() bool {
		res = v.Do(method, path, contentType, body)
		return res.Status != http.StatusTooManyRequests
	})
	return res
}

func post(v *forumtest.Visitor, path string, form url.Values) forumtest.Response {
	v.T.Helper()
	return send(v, http.MethodPost, path, "application/x-www-form-urlencoded", form.Encode())
}

func editOf(n int) string { return fmt.Sprintf("/threads/1/posts/%d/edit", n) }

// reads are the pages and endpoints that a member can read.
var reads = []string{
	"/", "/threads/1", "/threads/2", "/online", "/online/places", "/rules", "/settings", "/contacts", "/sessions", "/notifications", "/people/alice",
	"/people/sesame", editOf(1), editOf(4),
	"/presence/roster?topic=site", "/presence/roster?topic=thread:1", "/presence/roster?topic=edit:1:1", "/presence/users?id=alice&id=sesame",
	"/presence/recent?topic=site&within=24h", "/presence/counts?topic=site&topic=thread:1&topic=rules&topic=edit:1:1", "/presence/where",
	"/presence/people?id=alice&id=sesame", "/presence/feed?topic=inbox", "/presence/feed?topic=feed:thread:1", "/presence/mutes", "/presence/settings",
	"/presence/sessions", "/presence/widget?topic=site", "/presence/widget?topic=thread:1", "/presence/poll?topic=site&topic=thread:1&topic=inbox&topic=people&list=contacts&wait=1",
}

// seesNothing holds that no page of a member of another tenant, of its staff and of a guest has
// anything of acme's, and that figures count the tenant's own.
func seesNothing(t *testing.T, f *forumtest.Forum, eve *forumtest.Visitor) {
	t.Helper()
	for path, want := range map[string]string{
		"/presence/counts?topic=thread:1":                  `"thread:1":{"total":1,"guests":0}`,
		"/presence/counts?topic=edit:1:1":                  `"edit:1:1":{"total":1,"guests":0}`,
		"/presence/feed?topic=inbox":                       `"unread":0`,
		"/presence/feed?topic=feed:thread:1":               `"items":[]`,
		"/presence/roster?topic=edit:1:1":                  `"total":1`,
		"/presence/users?id=sesame":                        `"sesame":{"online":false}`,
		"/presence/people?id=sesame":                       `"sesame":{"online":false}`,
		"/presence/poll?topic=people&list=contacts&wait=1": `"total":0`,
	} {
		if res := eve.Get(path); !strings.Contains(res.Body, want) {
			t.Errorf("%s: got %d and %.500s, want %s", path, res.Status, res.Body, want)
		}
	}
	zoe, guest := at(t, f, eve.Host, "Zoe"), f.Visitor(t).As(eve.Host)
	for _, path := range append(slices.Clone(reads), "/staff", "/staff/?topic=site", "/staff/?topic=thread:1") {
		for who, v := range map[string]*forumtest.Visitor{"alice": eve, "staff": zoe, "guest": guest} {
			res := v.Get(path)
			if body := strings.ReplaceAll(strings.ToLower(res.Body), "/people/sesame", ""); res.Status >= 500 || strings.Contains(without(body, path), "sesame") {
				t.Errorf("%s of %s: got %d, want nothing of acme’s\n%.4000s", path, who, res.Status, res.Body)
			}
		}
	}
}

// without returns a body without what the reader asked for by name.
func without(body, path string) string {
	if !strings.Contains(path, "sesame") {
		return body
	}
	for _, asked := range []string{`"sesame":{`, "<title>sesame ", "<bdi>sesame</bdi>", `data-person="sesame"`, `value="sesame"`, `data-presence-dot="sesame"`, ">sesame<"} {
		body = strings.ReplaceAll(body, asked, "")
	}
	return body
}

// crossesNothing holds that what acme gave to Alice is good for nothing elsewhere: cookies,
// cursors, tokens, ETags.
func crossesNothing(t *testing.T, f *forumtest.Forum, alice, eve *forumtest.Visitor) {
	t.Helper()
	thief := f.Visitor(t).As(eve.Host)
	var cookies []string
	for _, c := range alice.Client.Jar.Cookies(&url.URL{Scheme: "http", Host: acme}) {
		cookies = append(cookies, c.Name+"="+c.Value)
	}
	if thief.Header = (http.Header{"Cookie": {strings.Join(cookies, "; ")}}); len(cookies) < 3 {
		t.Errorf("got the cookies %q, want those of a name, a session and presence", cookies)
	}
	if page := thief.Get("/").Body; !strings.Contains(page, `action="/login"`) {
		t.Errorf("the cookies of acme sign somebody in\n%.3000s", page)
	}
	for _, path := range []string{"/presence/feed?topic=inbox", "/presence/settings", "/presence/sessions", "/notifications", editOf(1)} {
		if res := thief.Get(path); res.Status != http.StatusUnauthorized {
			t.Errorf("%s with the cookies of acme: got %d, want 401", path, res.Status)
		}
	}

	stream := alice.Stream("topic=site")
	cursor := stream.Until("a state", func(e forumtest.Event) bool { return e.Type == "state" }).Cursor
	own := eve.Get("/presence/poll?topic=site&wait=1&cursor=" + url.QueryEscape(cursor))
	if !strings.Contains(own.Body, `"event":"state"`) || strings.Contains(own.Body, "sesame") {
		t.Errorf("a cursor of acme: got %d and %s, want a state", own.Status, own.Body)
	}
	var page struct{ Cursor string }
	_ = json.Unmarshal([]byte(alice.Get("/presence/feed?topic=inbox").Body), &page)
	if res := eve.Get("/presence/feed?topic=inbox&cursor=" + url.QueryEscape(page.Cursor)); page.Cursor == "" || res.Status >= 500 || strings.Contains(res.Body, "esame") {
		t.Errorf("a cursor of acme’s inbox: got %d and %s, want nothing of acme’s", res.Status, res.Body)
	}

	for _, verb := range []string{"beat", "leave"} {
		body := fmt.Sprintf(`{"connection":%q}`, stream.Connection)
		if res := eve.Do("POST", "/presence/"+verb, "application/json", body); res.Status != http.StatusGone {
			t.Errorf("%s with a token of acme: got %d, want 410\n%s", verb, res.Status, res.Body)
		}
	}
	for _, path := range reads {
		tag := alice.Get(path).Header.Get("ETag")
		if tag == "" {
			continue
		}
		eve := *eve
		eve.Header = http.Header{"If-None-Match": {tag}}
		if res := eve.Get(path); res.Status == http.StatusNotModified {
			t.Errorf("%s with the ETag of acme: got 304, want the tenant’s own", path)
		}
	}

	// Who is invisible, ends sessions and signs out here stays as she is at acme.
	var known struct{ Sessions []struct{ ID string } }
	forumtest.Await(t, "Alice’s sessions at acme", func() bool {
		_ = json.Unmarshal([]byte(alice.Get("/presence/sessions").Body), &known)
		return len(known.Sessions) > 0
	})
	other := at(t, f, eve.Host, "Alice")
	for _, s := range known.Sessions {
		send(other, "DELETE", "/presence/sessions/"+s.ID, "", "")
	}
	if res := send(other, "PUT", "/presence/status", "application/json", `{"status":"invisible"}`); res.Status != http.StatusNoContent {
		t.Errorf("status: got %d, want 204", res.Status)
	}
	if got := alice.Get("/presence/settings").Body; !strings.Contains(got, `"status":"online"`) {
		t.Errorf("got the settings %s at acme, want those of before", got)
	}
	if res := send(other, "PUT", "/presence/status", "application/json", `{"status":"online"}`); res.Status != http.StatusNoContent {
		t.Errorf("status: got %d, want 204", res.Status)
	}
	other.Post("/logout", nil)
	if page := alice.Get("/").Body; strings.Contains(page, `action="/login"`) || !strings.Contains(alice.Get("/presence/roster?topic=site").Body, `"alice"`) {
		t.Errorf("Alice of acme went with the one of another tenant\n%.3000s", page)
	}
}

// namesNothing holds that no parameter names a tenant or something of one.
func namesNothing(t *testing.T, eve *forumtest.Visitor) {
	t.Helper()
	for _, topic := range []string{"acme/site", "acme/thread:1", "/site", "acme%2Finbox", "feed:acme/thread:1", "acme/feed:thread:1", "acme%1Dsite", "acme%1Finbox:alice", "inbox:alice", "acme%1Dinbox:alice", "feed:acme%1Dthread:1"} {
		for _, path := range []string{"roster?topic=", "recent?topic=", "poll?wait=1&topic=", "events?topic=", "widget?topic=", "feed?topic="} {
			if res := eve.Get("/presence/" + path + topic); res.Status != http.StatusBadRequest && res.Status != http.StatusForbidden && res.Status != http.StatusNotFound || strings.Contains(res.Body, "esame") {
				t.Errorf("%s%s: got %d, want 400 or 403\n%.500s", path, topic, res.Status, res.Body)
			}
		}
		if res := eve.Get("/presence/counts?topic=" + topic); strings.Contains(res.Body, `"total":`) {
			t.Errorf("counts of %s: got %s, want none", topic, res.Body)
		}
		name, _ := url.QueryUnescape(topic)
		for path, body := range map[string]map[string]any{
			"signal": {"topic": name, "type": "typing", "for": 6}, "feed/mark": {"topic": name, "as": "seen"},
		} {
			text, _ := json.Marshal(body)
			if res := send(eve, "POST", "/presence/"+path, "application/json", string(text)); res.Status < 400 || res.Status >= 500 {
				t.Errorf("%s of %s: got %d, want one of 400\n%s", path, topic, res.Status, res.Body)
			}
		}
	}
	for _, id := range []string{"acme\x1dalice", "acme\x1fsesame", "acme/sesame", "acme\x1esesame"} {
		q := url.QueryEscape(id)
		for _, path := range []string{"/presence/users?id=" + q, "/presence/people?id=" + q, "/people/" + url.PathEscape(id), "/presence/poll?wait=1&topic=people&person=" + q} {
			if res := eve.Get(path); res.Status >= 500 || strings.Contains(res.Body, `"online":true`) || strings.Contains(res.Body, "a sesame text") {
				t.Errorf("%s: got %d, want nobody\n%.500s", path, res.Status, res.Body)
			}
		}
		for _, do := range []string{"add", "block"} {
			if res := post(eve, "/contacts", url.Values{"user": {id}, "do": {do}}); !strings.Contains(id, "/") && res.Status != http.StatusBadRequest {
				t.Errorf("%s of %q: got %d, want 400", do, id, res.Status)
			}
		}
		if res := post(eve, "/login", url.Values{"name": {id}}); res.Status != http.StatusBadRequest {
			t.Errorf("sign in as %q: got %d, want 400", id, res.Status)
		}
		if res := send(eve, "DELETE", "/presence/sessions/"+url.PathEscape(id), "", ""); res.Status >= 500 {
			t.Errorf("end session %q: got %d", id, res.Status)
		}
	}
}

// signalsPart holds that signals, replies and edits of equal names reach their own tenant.
func signalsPart(t *testing.T, alice, eve *forumtest.Visitor) {
	t.Helper()
	here := eve.Stream("topic=thread:1&topic=edit:1:1&topic=feed:thread:1")
	here.Join("alice")
	for n, text := range []string{"one", "two", "three"} { // acme has 7 replies before
		for _, v := range []*forumtest.Visitor{alice, eve} {
			if res := post(v, "/threads/1/replies", url.Values{"text": {text}}); res.Status != http.StatusSeeOther {
				t.Fatalf("got %d, want 303\n%s", res.Status, res.Body)
			}
		}
		e := here.Until("a signal", func(e forumtest.Event) bool { return e.Type == "signal" })
		if got, want := fmt.Sprint(e.Signals), fmt.Sprintf("[{replies   0 map[n:%d]}]", 5+n); got != want || e.Topic != "thread:1" {
			t.Errorf("got the signals %s of %s, want %s", got, e.Topic, want)
		}
	}
	post(alice, editOf(1), url.Values{"text": {"again"}, "revision": {"2"}})
	post(eve, editOf(1), url.Values{"text": {"not again"}, "revision": {"1"}})
	e := here.Until("saved", func(e forumtest.Event) bool { return e.Type == "signal" && e.Topic == "edit:1:1" })
	if got := fmt.Sprint(e.Signals); got != "[{saved   0 map[name:Alice revision:2]}]" {
		t.Errorf("got the signals %s, want those of the own edit", got)
	}
	post(alice, editOf(5), url.Values{"text": {"a sesame five"}, "revision": {"1"}}) // both have a post of that number
	const room = "/presence/feed?topic=feed:thread:1"
	if own, other := alice.Get(room).Body, eve.Get(room).Body; !strings.Contains(own, "a sesame five") || !strings.Contains(other, `"one"`) || strings.Contains(other, "sesame") {
		t.Errorf("got the rooms %s and %s, want acme’s edit in the first alone", own, other)
	}
	if page := eve.Get("/threads/1").Body; !strings.Contains(page, "not again") {
		t.Errorf("want the own edit\n%s", page)
	}
	if page := alice.Get("/threads/1").Body; strings.Contains(page, "not again") || !strings.Contains(page, "again") {
		t.Errorf("want acme’s edit\n%s", page)
	}
}

// TestTenantHosts: a host that is no tenant's has no forum, also for beats. Whoever watches the
// process may ask at each.
func TestTenantHosts(t *testing.T) {
	t.Parallel()
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer receiver.Close()
	f := forumtest.Start(t, "-tenants", "acme,globex", "-webhook", receiver.URL)
	for host, want := range map[string]int{
		"acme.localhost": 200, "GLOBEX.example.org:80": 200, "acme": 200, "localhost:80": 421, "127.0.0.1": 421, "[::1]:80": 421, "made-up.localhost": 421,
		"a_b.localhost": 421, "averylonglabelofthirtythreelettersx.localhost": 421,
	} {
		v := f.Visitor(t).As(host)
		if res := v.Get("/"); res.Status != want {
			t.Errorf("%s: got %d, want %d", host, res.Status, want)
		}
		for _, path := range []string{"/healthz", "/metrics"} {
			if res := v.Get(path); res.Status != http.StatusOK {
				t.Errorf("%s%s: got %d, want 200", host, path, res.Status)
			}
		}
		if res := v.Do(http.MethodPost, "/presence/beat", "application/json", `{"connection":"x"}`); want == 421 && res.Status != want {
			t.Errorf("%s: a beat: got %d, want %d", host, res.Status, want)
		}
	}
	acme := at(t, f, acme, "Alice")
	acme.Stream("topic=site").Join("alice")
	if text := acme.Get("/metrics").Body; strings.Contains(text, "acme") {
		t.Errorf("want metrics without tenants\n%s", text)
	}
	without := forumtest.Start(t) // there each host is the forum's
	at(t, without, "acme.localhost", "Alice").Stream("topic=site").Join("alice")
	if got := without.Visitor(t).As("a_b.localhost").Get("/presence/roster?topic=site").Body; !strings.Contains(got, `"alice"`) {
		t.Errorf("got %s, want Alice at each host", got)
	}
}
