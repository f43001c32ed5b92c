package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/labstack/echo/v4"

	"github.com/rollcall-go/rollcall/examples/forum/internal/forumtest"
)

// TestFirstLabel: the first label of the host names the tenant.
func TestFirstLabel(t *testing.T) {
	for host, want := range map[string]string{
		"acme.localhost:8080": "acme", "ACME.LocalHost.": "acme", "acme.forum.example.org": "acme", "acme": "acme", "acme:80": "acme",
		"xn--bcher-kva.example": "xn--bcher-kva", "localhost:8080": "localhost", "[::1]:8080": "[", "[::1]": "[", "": "", ".acme": "", "acme\x1d.localhost": "acme\x1d",
	} {
		if got := firstLabel(host); got != want {
			t.Errorf("%q: got %q, want %q", host, got, want)
		}
	}
}

// TestParseTenants: a list has each tenant once, and spaces do not matter.
func TestParseTenants(t *testing.T) {
	if got, err := parseTenants(" acme,globex ,,acme"); err != nil || !slices.Equal(got, []string{"acme", "globex"}) {
		t.Errorf("got %q and %v, want acme and globex", got, err)
	}
	if _, err := parseTenants(strings.Repeat("a", 33)); err == nil {
		t.Error("a name of 33 letters: got no error")
	}
	var many []string
	for i := range maxListed + 1 {
		many = append(many, fmt.Sprint(i))
	}
	if got, err := parseTenants(strings.Join(many[:maxListed], ",")); err != nil || len(got) != maxListed {
		t.Errorf("got %d and %v, want %d tenants", len(got), err, maxListed)
	}
	if _, err := parseTenants(strings.Join(many, ",")); err == nil {
		t.Errorf("%d tenants: got no error", len(many))
	}
}

// TestTenantBase: mails of a tenant lead to its own host.
func TestTenantBase(t *testing.T) {
	for _, tt := range [][3]string{
		{"http://127.0.0.1:8080", "acme", "http://acme.localhost:8080"},
		{"http://127.0.0.1:8080", "", "http://127.0.0.1:8080"},
		{"http://forum.example:80", "acme", "http://acme.forum.example:80"},
	} {
		if got := tenantBase(tt[0], tt[1]); got != tt[2] {
			t.Errorf("%q of %q: got %q, want %q", tt[1], tt[0], got, tt[2])
		}
	}
}

// TestCookieOfTenant: the login cookie of a tenant signs nobody in elsewhere.
func TestCookieOfTenant(t *testing.T) {
	of := func(cookie, tenant string) string {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.AddCookie(&http.Cookie{Name: cookieName, Value: cookie})
		user, _ := identify(echo.New().NewContext(r, nil), tenant)
		return string(user.ID)
	}
	for _, tt := range [][3]string{
		{"Alice", "", "alice"}, {"acme%2FAlice", "acme", "alice"},
		{"Alice", "acme", ""}, {"acme%2FAlice", "", ""}, {"acme%2FAlice", "globex", ""}, {"acme%2Fglobex%2FAlice", "globex", ""}, {"%2FAlice", "", ""},
	} {
		if got := of(tt[0], tt[1]); got != tt[2] {
			t.Errorf("the cookie %q at %q: got %q, want %q", tt[0], tt[1], got, tt[2])
		}
	}
}

// TestMailsOfTenants: two users of one name in two tenants get a mail each, which leads to the
// own tenant.
func TestMailsOfTenants(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := forumtest.Start(t, "-tenants", "acme,globex", "-mail", dir, "-mail-after", "200ms")
	for _, host := range []string{"acme.localhost", "globex.localhost"} {
		bob := f.Visitor(t).As(host)
		bob.SignIn("Bob")
		if res := bob.Post("/threads/2/replies", url.Values{"text": {"Rye."}}); res.Status != http.StatusSeeOther {
			t.Fatalf("got %d, want 303\n%s", res.Status, res.Body)
		}
	}
	forumtest.Await(t, "mails of both tenants", func() bool {
		found := map[string]int{}
		files, _ := filepath.Glob(filepath.Join(dir, "alice-*.txt"))
		for _, file := range files {
			text, _ := os.ReadFile(file)
			for _, tenant := range []string{"acme", "globex"} {
				if strings.Contains(string(text), "http://"+tenant+".localhost:") && strings.HasPrefix(string(text), "To: alice\nSubject: Bob replied in") {
					found[tenant]++
				}
			}
		}
		return found["acme"] == 1 && found["globex"] == 1 && len(files) == 2
	})
}

// TestRosterOfTenants: a long roster leads to its next page, in the tenant that it is of and in no other.
func TestRosterOfTenants(t *testing.T) {
	t.Parallel()
	f := forumtest.Start(t, "-tenants", "acme,globex")
	for i := range rosterPage + 5 {
		member := f.Visitor(t).As("acme.localhost")
		member.SignIn(fmt.Sprint("acmes-", i))
		member.Get("/")
	}
	acme, globex := f.Visitor(t).As("acme.localhost"), f.Visitor(t).As("globex.localhost")
	older := ""
	forumtest.Await(t, "a page of those who came earlier", func() bool {
		_, link, ok := strings.Cut(acme.Get("/online").Body, `href="/online?after=`)
		older, _, _ = strings.Cut(link, `"`)
		return ok
	})
	older = "/online?after=" + strings.ReplaceAll(older, "&amp;", "&")
	if body := acme.Get(older).Body; !strings.Contains(body, "acmes-0<") {
		t.Errorf("got %s, want the member who came first", body)
	}
	for _, path := range []string{"/online", older} {
		if body := globex.Get(path).Body; strings.Contains(body, "acmes-") {
			t.Errorf("%s: got members of the other tenant: %s", path, body)
		}
	}
}

// TestWebhooksOfTenants: joins of each tenant are posted with its name, each once. Hosts that a
// client made up take no tenant's place.
func TestWebhooksOfTenants(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	posted := make(map[string]int)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var m struct {
			Type string
			Data struct {
				Tenant, Topic string
				User          struct{ ID string }
			}
		}
		if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		posted[strings.Join([]string{m.Type, m.Data.Tenant, m.Data.Topic, m.Data.User.ID}, " ")]++
	}))
	defer receiver.Close()
	f := forumtest.Start(t, "-tenants", "acme,globex", "-webhook", receiver.URL)
	for i := range 150 {
		eve := f.Visitor(t).As(fmt.Sprintf("made-up-%d.localhost", i))
		if res := eve.Post("/login", url.Values{"name": {"Eve"}}); res.Status != http.StatusMisdirectedRequest {
			t.Fatalf("a host that was made up: got %d, want 421", res.Status)
		}
	}
	for _, host := range []string{"acme.localhost", "globex.localhost"} {
		alice := f.Visitor(t).As(host)
		alice.SignIn("Alice")
		alice.Stream("topic=site&topic=thread:1").Join("alice")
	}
	for _, want := range []string{"acme site", "globex site", "acme thread:1", "globex thread:1"} {
		forumtest.Await(t, want, func() bool {
			mu.Lock()
			defer mu.Unlock()
			return posted["presence.join "+want+" alice"] == 1 && len(posted) <= 4
		})
	}
}
