package core_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/middleware/core"
	"github.com/rollcall-go/rollcall/middleware/nethttp"
	"github.com/rollcall-go/rollcall/presence"
)

// byHost has the tenant of a request in the header X-Tenant.
func byHost(c *nethttp.Config) {
	c.Tenant = func(r *http.Request) string {
		if r.Header.Get("X-Tenant") == "panic" {
			panic("the site's mistake")
		}
		return r.Header.Get("X-Tenant")
	}
}

// at returns a browser at a tenant's host, which has the cookies of another one.
func (s *site) at(tenant, user string, cookies map[string]string) *browser {
	b := s.browser(user)
	b.header.Set("X-Tenant", tenant)
	for name, value := range cookies {
		b.cookies[name] = value
	}
	return b
}

// Page views are recorded by the names of inside, and the page's visitor has those that the
// site knows.
func TestPageViewsOfTenants(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, byHost)
		for _, tenant := range []string{"acme", "", "globex"} {
			b := s.at(tenant, "alice", nil)
			id := presence.UserID("alice").In(tenant)
			b.get("/")
			s.expect(string(id))
			b.get("/")
			s.expect()
			if v := s.visitor; v.User.ID != "alice" || v.Tenant != tenant {
				t.Errorf("%q: got the visitor %+v, want alice of that tenant", tenant, v)
			}
			time.Sleep(time.Second)
			view, err := s.tracker.View(t.Context(), presence.Site.In(tenant))
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := view.Member(id); !ok || view.Total != 1 {
				t.Errorf("%q: the site has %d users, want alice alone", tenant, view.Total)
			}
		}
	})
}

// T2: a cookie of another tenant counts as none: of a user, of a guest, and of a guest who is
// known at each of them.
func TestCookiesOfAnotherTenant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, byHost)
		for _, from := range []string{"acme", ""} {
			for _, to := range []string{"globex", "acme", ""} {
				if from == to {
					continue
				}
				guest := s.at(from, "", nil)
				guest.get("/")
				guest.get("/")
				s.expect("guest")
				known := guest.cookies["presence"]
				copied := s.at(to, "", guest.cookies)
				copied.get("/")
				s.expect()
				if got := copied.cookies["presence"]; got == known || strings.Split(got, ".")[1] == strings.Split(known, ".")[1] {
					t.Errorf("T2: the cookie %q of %q at %q: the browser has %q after a page, want a new one", known, from, to, got)
				}
				copied.get("/")
				s.expect("guest")

				user := s.at(from, "alice", nil)
				user.get("/")
				id := presence.UserID("alice").In(to)
				s.recorded()
				copied = s.at(to, "alice", user.cookies)
				copied.get("/")
				if got := s.recorded(); s.visitor.Browser != "" || len(got) > 0 && got[0] != string(id) {
					t.Errorf("T2: the cookie of %q at %q: got the browser %q and %q recorded, want no browser and alice of %q", from, to, s.visitor.Browser, got, to)
				}
				if strings.Split(copied.cookies["presence"], ".")[1] == strings.Split(user.cookies["presence"], ".")[1] {
					t.Errorf("T2: a user of %q keeps the browser's id of %q", to, from)
				}
				s.recorded()
			}
		}
		// The signature holds where the rest of the cookie is made up.
		guest := s.at("acme", "", nil)
		guest.get("/")
		guest.get("/")
		s.expect("guest")
		id := strings.Split(guest.cookies["presence"], ".")[1]
		globex := s.at("globex", "", nil)
		globex.get("/")
		tag := strings.Split(globex.cookies["presence"], ".")[3]
		forged := s.at("globex", "", map[string]string{"presence": "0." + id + ".-." + tag})
		forged.get("/")
		s.expect()
	})
}

// A tenant that is not valid is nobody's, and never the empty one.
func TestInvalidTenants(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, byHost)
		for _, tenant := range []string{"ACME", "acme/", "a b", "!", strings.Repeat("a", 33), "panic"} {
			for _, user := range []string{"alice", ""} {
				b := s.at(tenant, user, nil)
				b.get("/")
				b.get("/")
				s.expect()
				if want := (presence.Visitor{Tenant: presence.NoTenant}); s.visitor.Tenant != want.Tenant || s.visitor.SignedIn() || s.visitor.Guest != "" || len(b.set) > 0 {
					t.Errorf("%q: got the visitor %+v and %v, want a guest of nowhere and no cookie", tenant, s.visitor, b.set)
				}
			}
		}
		if got := strings.Count(s.logs.String(), "Tenant of the middleware"); got != 2 {
			t.Errorf("got %d lines in the log, want one of each sort: %s", got, s.logs)
		}
	})
}

// Requests that the middleware ignores are of their tenant too.
func TestSkippedRequestsHaveTheirTenant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, func(c *nethttp.Config) {
			byHost(c)
			c.Skipper = func(*http.Request) bool { return true }
		})
		s.at("acme", "alice", nil).get("/")
		s.expect()
		if s.visitor.Tenant != "acme" || s.visitor.SignedIn() {
			t.Errorf("got %+v, want a guest of acme", s.visitor)
		}
	})
}

// A browser remembers for each tenant by itself who chose to be invisible.
func TestStatusCookieOfATenant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, byHost)
		acme := presence.UserID("alice").In("acme")
		hides := map[string]string{"presence_status": core.TagOf(acme)}
		for tenant, hidden := range map[string]bool{"acme": true, "globex": false, "": false} {
			s.at(tenant, "alice", hides).get("/")
			s.recorded()
			if s.visitor.User.Veiled != hidden {
				t.Errorf("%q: alice is hidden: %v, want %v", tenant, s.visitor.User.Veiled, hidden)
			}
		}
	})
}
