package main

import (
	"html"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/text/unicode/norm"

	"github.com/rollcall-go/rollcall/examples/forum/internal/forumtest"
)

func TestLogin(t *testing.T) {
	t.Parallel()
	f := forumtest.Start(t)
	f.Ready(t)
	for _, tt := range []struct{ name, id string }{
		{"alice", "alice"},
		{"Alice", "alice"},
		{" Bob ", "bob"},
		{"__proto__", "__proto__"},
		{"constructor", "constructor"},
		{"-", "-"},
		{"X", "x"},
		{"Zoë", "zoë"},
		{"ЖАННА", "жанна"},
		{"李小龍", "李小龍"},
		{"r2-D2_" + strings.Repeat("x", 26), "r2-d2_" + strings.Repeat("x", 26)},
		{strings.Repeat("𐐀", 32), strings.Repeat("𐐨", 32)}, // 128 bytes
		{"María José", "maría-josé"},
		{"  Mary   Ann  ", "mary-ann"},
		{"O'Neill", "o'neill"},
		{"J. R.", "j.-r."},
		{"a.b", "a.b"},
		{"Mari\u0301a", "maría"}, // as a Mac may type it
		{strings.Repeat("e\u0301", 32), strings.Repeat("é", 32)},
		{"Nguyễn Văn Á", "nguyễn-văn-á"},
		{"हिन्दी", "हिन्दी"}, // marks that no character holds
		{"ก้อง", "ก้อง"},
		{"สุดาคำ", "สุดาค\u0e4d\u0e32"},
		{"ΝΙΚΟΣ", "νικοσ"},
		{"Νικος Παπάς", "νικοσ-παπάσ"},
		{"Strauß", "strauss"},
		{"Isı İnan", "isı-i̇nan"},
		{"O’Neill", "o'neill"},
		{"علی\u200cرضا", "علی\u200cرضا"},       // Persian
		{"क्\u200dष", "क्\u200dष"},             // Hindi
		{"ශ්\u200dරී ලංකා", "ශ්\u200dරී-ලංකා"}, // Sinhala
		{"李小龍Bruce", "李小龍bruce"},
		{"ひらがなカタカナ漢字", "ひらがなカタカナ漢字"},
		{"김철수", "김철수"},
		{"ㅋㅋ철수", "ㅋㅋ철수"},
		{"МакДональд-Smith", "макдональд-smith"},
	} {
		user := f.User(t, tt.name)
		page := user.Get("/online")
		if want := `data-user="` + html.EscapeString(tt.id) + `"`; !strings.Contains(page.Body, want) {
			t.Errorf("%q: want %s on the page\n%s", tt.name, want, page.Body)
		}
		shown := norm.NFC.String(strings.Join(strings.Fields(tt.name), " "))
		if want := "<b>" + html.EscapeString(shown) + "</b>"; !strings.Contains(page.Body, want) {
			t.Errorf("%q: want %s on the page\n%s", tt.name, want, page.Body)
		}
	}
	for _, name := range []string{
		"", " ", strings.Repeat("x", 33), "alice;", "a\x00b", "\xff", "<script>alert(1)</script>",
		strings.Repeat("😀", 128), "\u0301a", "1\u0301", "a\u0301\u0302\u0303\u0304\u0305\u0306", "al\u200bice", "a/b", "a\nb", "a\u00a0b",
		"\u3164", "\uffa0", "\u115f", "Alice\u3164", "a\u034fb", "a\ufe0f", "a\U000e0100", "ᠠ\u180b", "a\u00adb", "ក\u17b4", "a\u202eb", "a\u2060b", // nothing to see
		"a\u200db", "al\u200cice", "\u200dа", "علی\u200c", "a\U000e0061", "\U0010ffff", "\ue000", "\U000e0fff", "a\u2d7f", // joiners elsewhere, no characters
		"Ａlice", "𝐀lice", "ﬁona", "ªlice", "Аlice", "Αlice", "alicе", "жannа", // looks like another name
		strings.Repeat("नि", 32), // more bytes than an id has
	} {
		guest := f.Visitor(t)
		res := guest.Post("/login", url.Values{"name": {name}})
		if res.Status != http.StatusBadRequest || !strings.Contains(res.Body, "1 to 32 characters") || strings.Contains(res.Body, "<script>alert") {
			t.Errorf("%q: got %d, want 400 and a page that says what is allowed\n%s", name, res.Status, res.Body)
		}
		for _, c := range res.Header.Values("Set-Cookie") {
			if strings.HasPrefix(c, cookieName+"=") {
				t.Errorf("%q: got a cookie %s, want none", name, c)
			}
		}
	}
}

func TestLoginCookie(t *testing.T) {
	t.Parallel()
	res := forumtest.Start(t).Visitor(t).Post("/login", url.Values{"name": {"Zoë"}})
	var got string
	for _, c := range res.Header.Values("Set-Cookie") {
		if strings.HasPrefix(c, cookieName+"=") {
			got = c
		}
	}
	if want := cookieName + "=Zo%C3%AB; Path=/; HttpOnly; SameSite=Lax"; got != want {
		t.Errorf("got cookie %q, want %q", got, want)
	}
}

// TestLoginCookieBehindTLS: a proxy that ends TLS says so in a header.
func TestLoginCookieBehindTLS(t *testing.T) {
	t.Parallel()
	proxied := forumtest.Start(t).Visitor(t)
	proxied.Header = http.Header{"X-Forwarded-Proto": {"https"}}
	res := proxied.Post("/login", url.Values{"name": {"O'Neill"}})
	want := cookieName + "=O%27Neill; Path=/; HttpOnly; Secure; SameSite=Lax"
	if got := res.Header.Values("Set-Cookie"); !slices.Contains(got, want) {
		t.Errorf("got cookies %q, want %q among them", got, want)
	}
}

func TestLoginLeadsBack(t *testing.T) {
	t.Parallel()
	guest := forumtest.Start(t).Visitor(t)
	for next, want := range map[string]string{
		"":                        "/",
		"/threads/2":              "/threads/2",
		"/online?x=1#y":           "/online",
		"//elsewhere.example/x":   "/x",
		`/\elsewhere.example`:     "/%5Celsewhere.example",
		"https://elsewhere.test/": "/",
		"javascript:alert(1)":     "/",
		"../..":                   "/",
		"/a\r\nb":                 "/",
		"%":                       "/",
	} {
		res := guest.Post("/login", url.Values{"name": {"alice"}, "next": {next}})
		if got := res.Header.Get("Location"); res.Status != http.StatusSeeOther || got != want {
			t.Errorf("next %q: got %d to %q, want 303 to %q", next, res.Status, got, want)
		}
	}
}

func TestForgedForms(t *testing.T) {
	t.Parallel()
	f := forumtest.Start(t)
	for _, path := range []string{"/login", "/logout"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, f.URL+path, strings.NewReader("name=mallory"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Origin", "https://elsewhere.example")
		req.Header.Set("Sec-Fetch-Site", "cross-site")
		res, err := f.Visitor(t).Client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != http.StatusForbidden {
			t.Errorf("POST %s from another site: got %d, want 403", path, res.StatusCode)
		}
	}
}

func TestLoginTooLarge(t *testing.T) {
	t.Parallel()
	guest := forumtest.Start(t).Visitor(t)
	if res := guest.Post("/login", url.Values{"name": {strings.Repeat("x", 1<<20)}}); res.Status != http.StatusRequestEntityTooLarge {
		t.Errorf("1 MiB: got %d, want 413", res.Status)
	}
}

// TestLoginEncodings: a form may come in either of the encodings of HTML.
func TestLoginEncodings(t *testing.T) {
	t.Parallel()
	guest := forumtest.Start(t).Visitor(t)
	for _, tt := range []struct {
		contentType, body string
		want              int
	}{
		{"application/x-www-form-urlencoded", "name=alice", 303},
		{"multipart/form-data; boundary=x", "--x\r\nContent-Disposition: form-data; name=name\r\n\r\nalice\r\n--x--\r\n", 303},
		{"multipart/form-data; boundary=x", "--x\r\nContent-Disposition: form-data; name=name\r\n\r\n" + strings.Repeat("x", 1<<20), 413},
		{"application/x-www-form-urlencoded", "name=%zz", 400},
		{"multipart/form-data; boundary=x", "name=alice", 400},
		{"multipart/form-data", "name=alice", 400},
		{"application/json", `{"name":"alice"}`, 400},
		{"", "", 400},
	} {
		if res := guest.Do(http.MethodPost, "/login", tt.contentType, tt.body); res.Status != tt.want {
			t.Errorf("%q, %.40q: got %d, want %d", tt.contentType, tt.body, res.Status, tt.want)
		}
	}
}

// TestLogout: whatever held the user ends, long before any of it would lapse.
func TestLogout(t *testing.T) {
	t.Parallel()
	const grace = 30 * time.Second
	f := forumtest.Start(t, "-grace", grace.String())
	watcher := f.Visitor(t).Stream("topic=site&topic=thread:1")
	alice := f.User(t, "Alice")
	alice.Get("/")
	first, second := alice.Stream("topic=site"), alice.Stream("topic=site&topic=thread:1")
	watcher.Join("alice")
	begin := time.Now()
	res := alice.Post("/logout", nil)
	if res.Status != http.StatusSeeOther || res.Header.Get("Location") != "/" {
		t.Errorf("got %d to %q, want 303 to /", res.Status, res.Header.Get("Location"))
	}
	topics := map[string]bool{}
	for len(topics) < 2 {
		topics[watcher.Leave("alice").Topic] = true
	}
	if took := time.Since(begin); took >= grace {
		t.Errorf("the leave came after %v, want it at once and not after the grace of %v", took, grace)
	}
	for _, s := range []*forumtest.Stream{first, second} {
		s.Drain()
	}
	if page := alice.Get("/online"); strings.Contains(page.Body, `data-user="alice"`) || !strings.Contains(page.Body, `action="/login"`) {
		t.Errorf("after the logout: want a guest's page without alice\n%s", page.Body)
	}
}

// TestLogoutOfOneBrowser: nobody sees the user leave while another browser of the
// user streams, and that browser's session goes on.
func TestLogoutOfOneBrowser(t *testing.T) {
	t.Parallel()
	f := forumtest.Start(t, "-grace", "30s")
	watcher := f.Visitor(t).Stream("topic=site")
	laptop, phone := f.User(t, "Alice"), f.User(t, "Alice")
	laptop.Get("/")
	phone.Get("/")
	ended := laptop.Stream("topic=site")
	phone.Stream("topic=site")
	watcher.Join("alice")
	laptop.Post("/logout", nil)
	ended.Drain()
	if page := phone.Get("/online"); !strings.Contains(page.Body, `data-user="alice"`) || !strings.Contains(page.Body, `action="/logout"`) {
		t.Errorf("after the logout of another browser: want alice's page with alice\n%s", page.Body)
	}
	f.User(t, "Bob").Get("/")
	watcher.Until("bob to come, and alice to stay", func(e forumtest.Event) bool {
		if forumtest.Has(e.Leaves, "alice") {
			t.Error("alice leaves, want her phone to keep her")
		}
		return forumtest.Has(e.Joins, "bob")
	})
	phone.Post("/logout", nil)
	watcher.Leave("alice")
}
