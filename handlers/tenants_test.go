package handlers_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed"
	"github.com/rollcall-go/rollcall/presence/feed/feedtest"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
)

// The tenants of the tests. Everybody exists in each of them: alice, bob, thread:1.
var everyTenant = []string{"", "acme", "globex"}

// A tenantSite is two nodes of one fleet with all that there is, and what they have said.
type tenantSite struct {
	nodes     [2]*site
	directory *presencetest.MemoryDirectory
	keeper    *feed.Keeper
	asked     map[string]bool // what the site's functions were given: tenant, user, topic
	ended     []string        // sessions
}

// mark is in the name of every user of a tenant, and in no other name.
func mark(tenant string) string { return "<of " + tenant + ">" }

// asTenant is the test's login with the tenant of the header X-Tenant.
func asTenant(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, tenant := r.Header.Get("X-User"), r.Header.Get("X-Tenant")
		v := presence.Visitor{
			Tenant: tenant, Guest: r.Header.Get("X-Guest"),
			User: presence.User{ID: presence.UserID(id), Name: id + mark(tenant)},
		}
		if v.SignedIn() {
			v.Device = presence.Device{ID: "laptop", Kind: presence.Desktop, Label: "Firefox on Linux"}
		}
		next.ServeHTTP(w, r.WithContext(presence.ContextWithVisitor(r.Context(), v)))
	})
}

func newTenantSite(t *testing.T) *tenantSite {
	s := &tenantSite{directory: presencetest.NewMemoryDirectory(), asked: make(map[string]bool)}
	store, feeds := memstore.New(), feedtest.NewMemory()
	answers := make(chan string, 1000) // of Authorize, which runs concurrently
	for i := range s.nodes {
		o := setup{store: store, strange: true, wrap: asTenant, presence: track.Config{
			Directory: s.directory, Kinds: map[string]presence.Kind{"site": {Recent: 100, Peak: true}},
		}}
		o.handlers.Authorize = func(_ *http.Request, v presence.Visitor, topic presence.Topic) bool {
			select {
			case answers <- v.Tenant + " " + string(v.User.ID) + " " + string(topic):
			default:
			}
			return !strings.HasPrefix(string(topic), "secret")
		}
		o.handlers.EndSession = func(ctx context.Context, user presence.UserID, device presence.DeviceID) error {
			s.ended = append(s.ended, presence.VisitorFromContext(ctx).Tenant+" "+string(user)+" "+string(device))
			return nil
		}
		o.handlers.MaxRate = -1
		o.handlers.Whispers = typingIn
		o.handlers.Widget = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			v := presence.VisitorFromContext(r.Context())
			fmt.Fprintf(w, "<p>%s %s</p>", mark(v.Tenant), r.URL.Query().Get("topic"))
		})
		o.feeds = func(tracker *track.Tracker) *feed.Keeper {
			keeper, err := feed.New(feeds, tracker, feed.Config{})
			noError(t, err)
			t.Cleanup(func() { keeper.Close(context.Background()) })
			s.keeper = keeper
			return keeper
		}
		s.nodes[i] = newSite(t, o)
	}
	t.Cleanup(func() {
		for len(answers) > 0 {
			s.asked[<-answers] = true
		}
		for asked := range s.asked {
			if strings.ContainsAny(asked, "/\x1d") {
				t.Errorf("T4: the site was asked about %q, want the names that it knows", asked)
			}
		}
	})
	return s
}

// of returns a request of a tenant's visitor.
func (r request) of(tenant string) request {
	header := map[string]string{"X-Tenant": tenant}
	for k, v := range r.header {
		header[k] = v
	}
	r.header = header
	return r
}

// own fails if a text has a name of inside, or anything of another tenant.
func own(t *testing.T, tenant, what, text string) {
	t.Helper()
	for _, inside := range []string{"\x1d", `\u001d`, "%1D", "acme/", "globex/", "acme%2F", "globex%2F"} {
		if strings.Contains(text, inside) {
			t.Errorf("%q %s has the name of inside %q: %s", tenant, what, inside, text)
		}
	}
	plain := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(text)
	for _, other := range everyTenant {
		if other != tenant && strings.Contains(plain, mark(other)) {
			t.Errorf("T3: %q %s has somebody of %q: %s", tenant, what, other, text)
		}
	}
}

// populate lets alice and bob be at each tenant's site and thread:1: alice by a stream of the
// first node, bob by page views at the second.
func (s *tenantSite) populate(t *testing.T) (streams map[string]*listener) {
	streams = make(map[string]*listener)
	for _, tenant := range everyTenant {
		bob := presence.User{ID: presence.UserID("bob").In(tenant), Name: "bob" + mark(tenant)}
		for _, topic := range []presence.Topic{"site", "thread:1"} {
			s.nodes[1].tracker.Seen(topic.In(tenant), bob, presence.Device{ID: "phone", Kind: presence.Mobile})
		}
		s.nodes[1].tracker.SeenGuest(presence.Site.In(tenant), string(presence.UserID("guest-0000000001").In(tenant)))
		alice := presence.UserID("alice").In(tenant)
		s.directory.Befriend(alice, "bob\x1d", presence.UserID("bob").In("globex"), presence.UserID("bob").In(tenant))
		streams[tenant] = s.nodes[0].listen(request{path: "events?topic=site&topic=thread:1&topic=people&topic=inbox&list=contacts&person=bob&me=alice", user: "alice"}.of(tenant))
		message := feed.Message{Tenant: tenant, To: []presence.UserID{"alice"}, From: "bob", Type: "reply", About: "thread:1", Text: "Hello " + mark(tenant)}
		room := feed.Message{Tenant: tenant, Feed: "thread:1", From: "bob", Text: "News " + mark(tenant)}
		noError(t, s.keeper.Send(t.Context(), message))
		noError(t, s.keeper.Send(t.Context(), room))
	}
	time.Sleep(3 * time.Second)
	return streams
}

// T3: equal names of two tenants never meet, in any answer or stream.
func TestTenantsNeverMeet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTenantSite(t)
		streams := s.populate(t)
		said := make(map[string]<-chan event)
		for tenant, l := range streams {
			said[tenant] = l.feed()
		}
		paths := []string{
			"roster", "roster?topic=thread:1&limit=1", "users?id=alice&id=bob&id=carol", "recent?limit=1", "counts?topic=site&topic=thread:1", "where",
			"people?id=bob&id=carol", "people?id=bob&id=carol&detail=1", "settings", "sessions", "feed?topic=inbox", "feed?topic=feed:thread:1", "mutes", "widget",
			"poll?topic=site&topic=people&person=bob&topic=inbox", "poll?topic=secret:1&topic=site&partial=1",
		}
		tags := make(map[string]string) // entity tags, by path
		for _, tenant := range everyTenant {
			for _, path := range paths {
				for n, node := range s.nodes {
					resp, body := node.fetch(request{path: path, user: "alice"}.of(tenant))
					if resp.StatusCode != http.StatusOK {
						t.Fatalf("%s: got status %d (%s), want 200", path, resp.StatusCode, body)
					}
					own(t, tenant, path, body)
					key := fmt.Sprint(path, " ", n)
					if tag := resp.Header.Get("ETag"); tag != "" {
						if before, ok := tags[key]; ok {
							again, _ := node.fetch(request{path: path, user: "alice", header: map[string]string{"If-None-Match": before}}.of(tenant))
							if again.StatusCode == http.StatusNotModified {
								t.Errorf("T3: %s: the entity tag of another tenant is good for 304", path)
							}
						}
						tags[key] = tag
					}
				}
			}
			if got := s.nodes[1].fetchText(request{path: "where", user: "alice"}.of(tenant)); !strings.Contains(got, `"topic":"thread:1","total":2,`) || strings.Count(got, `"topic"`) != 2 {
				t.Errorf("%q: got where %s, want site and thread:1 with two users each", tenant, got)
			}
			if got := s.nodes[0].fetchText(request{path: "counts", user: "alice"}.of(tenant)); got != `{"topics":{"site":{"total":2,"guests":1}}}` {
				t.Errorf("%q: got counts %s, want two users and one guest", tenant, got)
			}
			if got := s.nodes[0].fetchText(request{path: "people?id=bob", user: "alice"}.of(tenant)); !strings.Contains(got, `"bob":{"online":true`) {
				t.Errorf("%q: got people %s, want bob online", tenant, got)
			}
		}

		// What one of a tenant does concerns nobody of another one.
		acme := func(r request) request { return r.of("acme") }
		s.nodes[0].wantStatus(acme(put("status", "alice", `{"status":"busy"}`)), http.StatusNoContent)
		s.nodes[0].wantStatus(acme(put("settings", "bob", `{"online":"nobody"}`)), http.StatusNoContent)
		s.nodes[0].wantStatus(acme(sent("alice", `{"topic":"thread:1","type":"typing","for":6}`)), http.StatusNoContent)
		s.nodes[0].wantStatus(acme(request{method: http.MethodPost, path: "feed/mark", user: "alice", body: `{"as":"seen"}`}), http.StatusOK)
		time.Sleep(3 * time.Second)
		for _, tenant := range everyTenant {
			roster := s.nodes[1].fetchText(request{path: "roster?topic=thread:1", user: "eve"}.of(tenant))
			mine := tenant == "acme"
			if strings.Contains(roster, `"status":"busy"`) != mine || strings.Contains(roster, `"bob"`) == mine {
				t.Errorf("T3: %q: got %s, want alice busy and bob hidden: %v", tenant, roster, mine)
			}
			if inbox := s.nodes[0].fetchText(request{path: "feed?topic=inbox", user: "alice"}.of(tenant)); strings.Contains(inbox, `"unseen":0`) != mine {
				t.Errorf("T3: %q: got %s, want it seen: %v", tenant, inbox, mine)
			}
		}
		noError(t, s.nodes[1].tracker.SignOut(t.Context(), presence.UserID("alice").In("acme")))
		time.Sleep(time.Second)
		for _, tenant := range everyTenant {
			got := s.nodes[1].fetchText(request{path: "users?id=alice", user: "eve"}.of(tenant))
			if online := strings.Contains(got, `"online":true`); online == (tenant == "acme") {
				t.Errorf("T3: acme's alice has signed out: of %q got %s", tenant, got)
			}
			if tenant != "acme" {
				streams[tenant].close()
			}
			var text strings.Builder
			typing := false
			for e := range said[tenant] {
				data, _ := json.Marshal(e.data)
				fmt.Fprintf(&text, "%s %s %s %s\n", e.typ, e.id, data, e.says())
				typing = typing || strings.HasPrefix(e.says(), "alice typing")
			}
			own(t, tenant, "stream", text.String())
			if !strings.Contains(text.String(), "Hello") || !strings.Contains(text.String(), `"on":["mobile"]`) || typing != (tenant == "acme") {
				t.Errorf("%q: the stream says %s", tenant, text.String())
			}
		}
	})
}

// fetchText returns the body of an answer.
func (s *site) fetchText(r request) string {
	_, body := s.fetch(r)
	return body
}

// T1: no place that a client can write takes the name of another tenant's, in any spelling.
func TestNobodyNamesATenant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTenantSite(t)
		streams := s.populate(t)
		for _, l := range streams {
			l.drain()
		}
		topics := []string{"acme/site", "/site", "//site", "globex/thread:1", "@people", "acme/@people", "acme/people", "acme/inbox", "acme\x1dsite"}
		ids := []string{"acme\x1dalice", "\x1dalice", "globex\x1dbob", "acme\x1falice", "bob\x1ephone", "acme\x1dbob\x1ephone"}
		for _, tenant := range everyTenant {
			ask := func(r request, statuses ...int) {
				t.Helper()
				r.user = "alice"
				resp, body := s.nodes[0].fetch(r.of(tenant))
				if !slices.Contains(statuses, resp.StatusCode) {
					t.Errorf("T1: %q %s %s %q: got status %d (%s), want %d", tenant, r.method, r.path, r.body, resp.StatusCode, body, statuses)
				}
				if resp.StatusCode == http.StatusOK { // a problem shows what was sent
					own(t, tenant, r.path, body)
				}
			}
			l := s.nodes[1].talk(request{path: "ws?topic=site&topic=people&person=bob", user: "alice"}.of(tenant))
			l.started(2)
			for _, topic := range topics {
				q := url.QueryEscape(topic)
				for _, path := range []string{"roster?topic=", "users?id=bob&topic=", "recent?topic=", "counts?topic=", "widget?topic=", "events?topic=", "events?stream=", "poll?topic=", "feed?topic=", "feed?topic=feed:"} {
					ask(request{path: path + q}, http.StatusBadRequest)
					ask(request{path: path + strings.ReplaceAll(q, "%", "%25")}, http.StatusBadRequest)
				}
				text, _ := json.Marshal(topic)
				ask(request{method: http.MethodPost, path: "signal", body: `{"topic":` + string(text) + `,"type":"typing"}`}, http.StatusBadRequest)
				ask(request{method: http.MethodPost, path: "feed/mark", body: `{"as":"read","topic":` + string(text) + `}`}, http.StatusBadRequest)
				ask(request{method: http.MethodPost, path: "feed/mark", body: `{"as":"read","upto":1,"about":` + string(text) + `}`}, http.StatusBadRequest)
				place, _ := json.Marshal(map[string]any{"Topic": topic, "Total": 100})
				ask(request{path: "where?after=" + base64.RawURLEncoding.EncodeToString(place)}, http.StatusOK)
				for _, typ := range []string{"subscribe", "unsubscribe", "snapshot", "signal"} {
					l.say(`{"type":"` + typ + `","signal":"typing","topic":` + string(text) + `}`)
					if e := l.want("error"); strings.Contains(e.data.Detail, "acme/") {
						t.Errorf("T1: %s of %s: got %s", typ, text, e.data.Detail)
					}
				}
			}
			for _, id := range ids {
				q := url.QueryEscape(id)
				for _, path := range []string{"users?id=", "people?id=", "events?topic=people&person=", "poll?topic=people&person="} {
					ask(request{path: path + q}, http.StatusBadRequest)
				}
				ask(form("people", "", "id="+q), http.StatusBadRequest)
				ask(form("events?topic=people", "", "person="+q), http.StatusBadRequest)
				ask(request{path: "events?me=" + q}, http.StatusUnauthorized)
				after := "0." + base64.RawURLEncoding.EncodeToString([]byte(id))
				ask(request{path: "roster?after=" + after}, http.StatusOK)
				text, _ := json.Marshal([]string{id})
				l.say(`{"type":"watch","users":` + string(text) + `}`)
				l.want("error")
				time.Sleep(time.Second) // lists have a rate
			}
			l.close()
		}
	})
}

// T2: a cursor, a token or the name of a page of another tenant is as good as none.
func TestCursorsAndTokensOfAnotherTenant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTenantSite(t)
		for _, tenant := range everyTenant {
			s.nodes[0].tracker.Seen(presence.Site.In(tenant), presence.User{ID: presence.UserID("carol").In(tenant)}, presence.Device{})
		}
		streams := s.populate(t)
		tokens, cursors, pages := make(map[string]string), make(map[string]string), make(map[string]string)
		for tenant, l := range streams {
			tokens[tenant] = l.want("welcome").data.Connection
			for range 4 {
				l.next()
			}
			time.Sleep(time.Second)
			cursors[tenant] = l.last
			l.drain()
			var page struct{ Next string }
			json.Unmarshal([]byte(s.nodes[0].fetchText(request{path: "recent?limit=1", user: "alice"}.of(tenant))), &page)
			if pages[tenant] = page.Next; page.Next == "" {
				t.Fatalf("%q: there is no second page", tenant)
			}
			own(t, tenant, "token", tokens[tenant])
		}
		guests := make(map[string]string)
		for _, tenant := range everyTenant {
			l := s.nodes[0].listen(request{path: "events"}.of(tenant))
			guests[tenant] = l.want("welcome").data.Connection
			l.drain()
		}
		for _, tenant := range everyTenant {
			for _, from := range everyTenant {
				status, page := http.StatusNoContent, http.StatusOK
				if tenant != from {
					status, page = http.StatusGone, http.StatusBadRequest
				}
				for _, node := range s.nodes {
					for token, user := range map[string]string{tokens[from]: "alice", guests[from]: ""} {
						resp, body := node.fetch(says("beat", user, token).of(tenant))
						if resp.StatusCode != status {
							t.Errorf("T2: the token of %q in %q: got status %d (%s), want %d", from, tenant, resp.StatusCode, body, status)
						}
						if tenant != from {
							node.wantStatus(says("leave", user, token).of(tenant), http.StatusGone)
						}
					}
				}
				if resp, body := s.nodes[1].fetch(request{path: "recent?limit=1&after=" + pages[from], user: "alice"}.of(tenant)); resp.StatusCode != page {
					t.Errorf("T2: the next page of %q in %q: got status %d (%s), want %d", from, tenant, resp.StatusCode, body, page)
				}
				var answer struct{ Events []struct{ Event string } }
				r := request{path: "poll?observe=1&wait=1&topic=thread:1&topic=people&person=bob&list=contacts&topic=inbox&cursor=" + cursors[from], user: "alice"}
				json.Unmarshal([]byte(s.nodes[0].fetchText(r.of(tenant))), &answer)
				states := 0
				for _, e := range answer.Events {
					if e.Event == "state" {
						states++
					}
				}
				if want := 3; tenant != from && states != want || tenant == from && states == want {
					t.Errorf("T2: the cursor of %q in %q: got %d states of %d", from, tenant, states, want)
				}
			}
		}
		s.nodes[0].wantStatus(request{method: http.MethodDelete, path: "sessions/laptop", user: "alice"}.of("acme"), http.StatusNoContent)
		time.Sleep(time.Second)
		if len(s.ended) != 1 || s.ended[0] != "acme alice laptop" {
			t.Errorf("T4: the site ended %q, want acme's session of alice alone", s.ended)
		}
		for _, tenant := range everyTenant {
			got := s.nodes[1].fetchText(request{path: "users?id=alice", user: "eve"}.of(tenant))
			if online := strings.Contains(got, `"online":true`); online == (tenant == "acme") {
				t.Errorf("T3: acme's alice has ended her session: of %q got %s", tenant, got)
			}
		}
	})
}

// A visitor whose tenant is not valid sees nothing: neither the empty tenant's nor any other's.
func TestNoTenant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTenantSite(t)
		for _, l := range s.populate(t) {
			l.drain()
		}
		for _, tenant := range []string{presence.NoTenant, "ACME", "acme.", strings.Repeat("a", 33)} {
			for _, path := range []string{"roster", "events", "poll", "where", "counts", "recent", "users?id=bob"} {
				resp, body := s.nodes[0].fetch(request{path: path, user: "alice"}.of(tenant))
				if resp.StatusCode != http.StatusForbidden {
					t.Errorf("%q: %s: got status %d (%s), want 403", tenant, path, resp.StatusCode, body)
				}
				own(t, tenant, path, body)
			}
		}
	})
}

// T3: what the visitors of one tenant send uses up nothing of those of another one.
func TestRatesOfTenants(t *testing.T) {
	onSite(t, setup{strange: true, wrap: asTenant, handlers: handlers.Config{MaxRate: 2, MaxConnectionsPerAddress: 1}}, func(t *testing.T, s *site) {
		for _, user := range []string{"alice", ""} {
			refused := false
			for range 100 {
				resp, _ := s.fetch(request{path: "roster", user: user}.of("acme"))
				refused = refused || resp.StatusCode == http.StatusTooManyRequests
			}
			if !refused {
				t.Fatalf("%q: a hundred requests were answered", user)
			}
			for _, tenant := range []string{"", "globex"} {
				s.wantStatus(request{path: "roster", user: user}.of(tenant), http.StatusOK)
			}
		}
		time.Sleep(time.Minute)
		s.listen(request{path: "events"}.of("acme")).drain()
		s.wantStatus(request{path: "events"}.of("acme"), http.StatusTooManyRequests)
		s.listen(request{path: "events"}.of("globex")).drain()
	})
}
