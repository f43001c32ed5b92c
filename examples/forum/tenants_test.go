package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/labstack/echo/v4"

	"github.com/rollcall-go/rollcall/examples/forum/internal/forumtest"
)

// TestHostTenant: the first label of the host is the tenant.
func TestHostTenant(t *testing.T) {
	for _, tt := range []struct {
		host, want string
		ok         bool
	}{
		{"acme.localhost:8080", "acme", true},
		{"ACME.LocalHost.", "acme", true},
		{"acme.forum.example.org", "acme", true},
		{"xn--bcher-kva.example", "xn--bcher-kva", true},
		{"localhost:8080", "", true},
		{"localhost", "", true},
		{"localhost.:8080", "", true},
		{"127.0.0.1:8080", "", true},
		{"127.0.0.1", "", true},
		{"[::1]:8080", "", true},
		{"[::1]", "", true},
		{"", "", true},
		{"a_b.localhost", "", false},
		{".localhost", "", false},
		{"a/b.localhost", "", false},
		{"bücher.example", "", false},
		{"a\x1db.localhost", "", false},
		{"abcdefghijklmnopqrstuvwxyz-0123456.localhost", "", false},
	} {
		got, ok := hostTenant(tt.host)
		if ok != tt.ok || ok && got != tt.want {
			t.Errorf("%q: got %q and %v, want %q and %v", tt.host, got, ok, tt.want, tt.ok)
		}
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
	f := forumtest.Start(t, "-tenants", "-mail", dir, "-mail-after", "200ms")
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

// TestWebhooksOfTenants: joins of each tenant are posted with its name, each once.
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
	f := forumtest.Start(t, "-tenants", "-webhook", receiver.URL)
	for _, host := range []string{"acme.localhost", "globex.localhost", ""} {
		alice := f.Visitor(t).As(host)
		alice.SignIn("Alice")
		alice.Stream("topic=site&topic=thread:1").Join("alice")
	}
	for _, want := range []string{"acme site", "globex site", " site", "acme thread:1", "globex thread:1", " thread:1"} {
		forumtest.Await(t, want, func() bool {
			mu.Lock()
			defer mu.Unlock()
			return posted["presence.join "+want+" alice"] == 1 && len(posted) <= 6
		})
	}
}
