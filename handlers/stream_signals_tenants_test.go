package handlers_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/presence"
)

// tenantLogin is the test's login of a fleet of several sites.
func tenantLogin(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.Header.Get("X-User")
		v := presence.Visitor{Tenant: r.Header.Get("X-Tenant"), User: presence.User{ID: presence.UserID(id), Name: strings.ToUpper(id)}}
		next.ServeHTTP(w, r.WithContext(presence.ContextWithVisitor(r.Context(), v)))
	})
}

// T3: two tenants have the same topic and the same user. Nothing that is said in one is heard in
// the other. T4: events and the site's functions have the names that pages know.
func TestSignalsOfTenants(t *testing.T) {
	over(t, allTransports, func(t *testing.T, over transport) {
		s := newTypingSite(t, setup{strange: true, wrap: tenantLogin})
		as := func(tenant, path string) request {
			return request{path: path, user: "bob", header: map[string]string{"X-Tenant": tenant}}
		}
		told := make(map[string]<-chan event)
		for _, tenant := range []string{"acme", "globex", ""} {
			s.listen(as(tenant, "events?"+thread1)).started(1).drain()
			told[tenant] = over.open(s, as(tenant, over.path+"?observe=1&"+thread1), "").started(1).feed()
		}
		time.Sleep(time.Second)
		post := as("acme", "signal?me=bob")
		post.method, post.body = http.MethodPost, `{"topic":"thread:1","type":"typing","for":6}`
		for range 5 {
			s.wantStatus(post, http.StatusNoContent)
		}
		s.wantStatus(post, http.StatusTooManyRequests)
		time.Sleep(time.Second)
		if e := <-told["acme"]; e.says() != "bob typing 6" || e.data.Topic != "thread:1" {
			t.Errorf("acme: got %q of %q, want bob typing 6 of thread:1", e.says(), e.data.Topic)
		}
		for _, tenant := range []string{"globex", ""} {
			if len(told[tenant]) > 0 {
				t.Errorf("%q: got %+v, want nothing", tenant, <-told[tenant])
			}
			post.header = map[string]string{"X-Tenant": tenant}
			s.wantStatus(post, http.StatusNoContent) // another visitor, with a rate of its own
			if e := <-told[tenant]; e.says() != "bob typing 6" {
				t.Errorf("%q: got %q, want its own signal", tenant, e.says())
			}
		}
		for _, topic := range []string{"globex/thread:1", "/thread:1", "thread:1\\u001d"} {
			post.body = fmt.Sprintf(`{"topic":"%s","type":"typing"}`, topic)
			post.header = map[string]string{"X-Tenant": "acme"}
			time.Sleep(time.Second)
			s.wantStatus(post, http.StatusBadRequest)
		}
	})
}

// A widget of who is typing is one tenant's, and so is its rendering.
func TestMarkupOfTypingOfTenants(t *testing.T) {
	over(t, []transport{overSSE}, func(t *testing.T, _ transport) {
		var s *site
		widget := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			v := presence.VisitorFromContext(r.Context())
			topic := presence.Topic(r.URL.Query().Get("topic"))
			fmt.Fprintf(w, "<p>%s %s %d</p>", v.Tenant, topic, len(s.tracker.Standing(topic.In(v.Tenant))))
		})
		s = newTypingSite(t, setup{strange: true, wrap: tenantLogin, handlers: handlers.Config{Widget: widget}})
		const path = "events?topic=thread:1&form=typing&as=turbo"
		for _, tenant := range []string{"acme", "globex"} {
			l := s.do(request{path: path, user: "bob", header: map[string]string{"X-Tenant": tenant}})
			t.Cleanup(func() { l.Body.Close() })
			text := make([]byte, 1000)
			n := 0
			for !strings.Contains(string(text[:n]), "</p>") {
				m, err := l.Body.Read(text[n:])
				if n += m; err != nil {
					t.Fatal(err)
				}
			}
			if got := string(text[:n]); !strings.Contains(got, "<p>"+tenant+" thread:1 0</p>") || !strings.Contains(got, "[data-typing='thread:1']") {
				t.Errorf("%s: got %s, want its own widget", tenant, got)
			}
		}
	})
}
