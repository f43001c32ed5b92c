package templates_test

import (
	"bytes"
	"context"
	"html/template"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed"
	"github.com/rollcall-go/rollcall/presence/feed/feedtest"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
	"github.com/rollcall-go/rollcall/templates"
)

// everything is a page that shows all there is.
const everything = `{{presenceHead}}{{whosOnline "site" "about" true}}{{whosOnline "thread:1" "form" "compact"}}{{onlineDot "bob"}}{{lastSeen "bob"}}` +
	`{{lastSeen "gone"}}{{if isOnline "bob"}}bob is online{{end}}{{onlineCount "site"}}{{onlineCount "thread:1"}}{{onlineTotal "thread:1"}}` +
	`{{recentlyActive "site"}}{{mostOnline "site"}}{{where}}{{contacts}}{{person "bob"}}{{sessions}}{{settings}}{{bell}}{{notifications}}` +
	`{{room "thread:1" nil "template" "post"}}`

// T3, T4: a page has what is of its visitor's tenant alone, by the names that the site knows.
func TestPagesOfTenants(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		directory, feeds := presencetest.NewMemoryDirectory(), feedtest.NewMemory()
		tracker, err := track.New(memstore.New(), track.Config{
			Directory: directory, Kinds: map[string]presence.Kind{"site": {Recent: 10, Peak: true}},
		})
		noError(t, err)
		keeper, err := feed.New(feeds, tracker, feed.Config{})
		noError(t, err)
		defer func() {
			tracker.Close(context.Background())
			keeper.Close(context.Background())
		}()
		local := func(what string, name string) {
			if strings.ContainsAny(name, "/\x1d") {
				t.Errorf("T4: %s got %q, want the name that the site knows", what, name)
			}
		}
		asked := make(map[string]bool)
		widgets := newWidgets(t, template.Must(template.New("page").Funcs(templates.Funcs()).Parse(everything)), tracker, templates.Config{
			Authorize: func(_ *http.Request, v presence.Visitor, topic presence.Topic) bool {
				local("Authorize", string(v.User.ID))
				local("Authorize", string(topic))
				asked[v.Tenant+" "+string(topic)] = true
				return true
			},
			Title: func(_ context.Context, topic presence.Topic) string {
				local("Title", string(topic))
				return "The thread " + string(topic)
			},
			Link: func(_ context.Context, topic presence.Topic) string {
				local("Link", string(topic))
				return "?topic=" + string(topic)
			},
			Users: func(_ context.Context, ids []presence.UserID) ([]presence.User, error) {
				users := make([]presence.User, len(ids))
				for i, id := range ids {
					local("Users", string(id))
					users[i] = presence.User{ID: id, Name: "the user " + string(id)}
				}
				return users, nil
			},
			Feeds: keeper,
		})
		tenants := []string{"", "acme", "globex"}
		for _, tenant := range tenants {
			bob := presence.User{ID: presence.UserID("bob").In(tenant), Name: "bob<of " + tenant + ">"}
			for _, topic := range []presence.Topic{"site", "thread:1"} {
				tracker.Seen(topic.In(tenant), bob, presence.Device{ID: "phone"})
			}
			tracker.Seen(presence.Site.In(tenant), presence.User{ID: presence.UserID("nameless").In(tenant)}, presence.Device{ID: "phone"})
			directory.Befriend(presence.UserID("alice").In(tenant), bob.ID, presence.UserID("dora").In(tenant))
			noError(t, keeper.Send(t.Context(), feed.Message{Tenant: tenant, To: []presence.UserID{"alice"}, From: "bob", Type: "reply", Text: "hello<of " + tenant + ">"}))
		}
		time.Sleep(2 * time.Second)
		handler := widgets.Handler()
		for range 2 { // from the caches too
			for _, tenant := range tenants {
				visitor := presence.Visitor{Tenant: tenant, User: presence.User{ID: "alice", Name: "alice<of " + tenant + ">"}, Device: presence.Device{ID: "laptop"}}
				request := func(path string) *http.Request {
					r := httptest.NewRequest(http.MethodGet, path, nil)
					return r.WithContext(presence.ContextWithVisitor(r.Context(), visitor))
				}
				var page bytes.Buffer
				noError(t, widgets.Execute(&page, "page", nil, request("/")))
				for _, path := range []string{"/widget", "/widget?topic=thread:1&form=compact", "/widget?part=where&topic=site", "/widget?part=recent&topic=site", "/widget?part=peak&topic=site", "/widget?part=about&topic=site"} {
					w := httptest.NewRecorder()
					handler.ServeHTTP(w, request(path))
					if w.Code != http.StatusOK {
						t.Errorf("%q: %s: got status %d (%s), want 200", tenant, path, w.Code, w.Body)
					}
					page.Write(w.Body.Bytes())
				}
				for _, inside := range []string{"\x1d", `\u001d`, "%1D", "acme/", "globex/", "acme%2F", "globex%2F"} {
					if at := strings.Index(page.String(), inside); at >= 0 {
						t.Errorf("%q: the page has the name of inside %q: …%q…", tenant, inside, page.String()[max(at-100, 0):min(at+50, page.Len())])
					}
				}
				for _, other := range tenants {
					if strings.Contains(page.String(), "&lt;of "+other+"&gt;") != (other == tenant) {
						t.Errorf("T3: the page of %q has somebody of %q: %v", tenant, other, other != tenant)
					}
				}
				shows(t, page.String(), "bob is online", `data-presence-dot="bob" data-status="online"`, `data-person="bob" data-status="online"`, `me="alice"`,
					`data-place="thread:1"`, `>nameless<`, "the user dora", `href="?topic=thread:1"`, `data-feed="inbox"`, `data-unread="1"`, `data-feed="feed:thread:1"`)
				if !asked[tenant+" thread:1"] {
					t.Errorf("T4: the site was not asked about thread:1 of %q", tenant)
				}
			}
		}
	})
}
