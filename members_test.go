package rollcall_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rollcall-go/rollcall"
	"github.com/rollcall-go/rollcall/internal/browse"
	"github.com/rollcall-go/rollcall/internal/syncbuf"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/track"
)

// everything is a page with all elements that a guest might see.
const everything = `{{presenceHead}}<main>{{whosOnline "site"}}{{onlineDot "alice"}}{{lastSeen "alice"}}{{onlineCount "site"}}{{recentlyActive "site"}}` +
	`{{mostOnline "site"}}{{where}}{{person "alice"}}{{typing "site"}}{{editors "thread:1"}}{{bell}}{{notifications}}{{settings}}{{contacts}}{{room "thread:1" . "template" "post"}}` +
	`{{if isOnline "alice"}}yes{{end}}{{with onlineTotal "site"}}{{.}}{{end}}</main>`

func TestMembersOnly(t *testing.T) {
	store, _ := newSQL(t)
	site, _ := newSite(t, rollcall.Config{Members: true, SQL: store, Views: parse(everything), Parts: rollcall.Parts{
		Track: track.Config{Kinds: map[string]presence.Kind{"site": {Peak: true, Recent: 10, Bots: true}}},
	}})
	h := site.Wrap(pages(site))
	until(t, "Alice is online", func() bool { return strings.Contains(get(t, h, "/", "alice").Body.String(), `data-user="alice"`) })
	if page := get(t, h, "/", "alice").Body.String(); !strings.Contains(page, `figure" hidden><data value="0" data-count="guests"`) {
		t.Errorf("got the page %s, want no number of guests", page)
	}
	for range 2 { // the second has what the first got
		guest := get(t, h, "/", "")
		_, body, _ := strings.Cut(guest.Body.String(), "<main>")
		if body != "–</main>" || strings.Contains(guest.Body.String(), "alice") || !strings.Contains(guest.Body.String(), `cursor&#34;:&#34;&#34;`) {
			t.Errorf("a guest got the page %s, want nothing of presence", guest.Body)
		}
		if cookies := guest.Header()["Set-Cookie"]; cookies != nil {
			t.Errorf("a guest got the cookies %q, want none", cookies)
		}
	}
	for _, path := range []string{"roster?topic=site", "users?topic=site&id=alice", "recent?topic=site", "widget?topic=site", "events?topic=site", "poll?topic=site"} {
		if got := get(t, h, "/presence/"+path, ""); got.Code != http.StatusForbidden && got.Code != http.StatusUnauthorized || strings.Contains(got.Body.String(), "alice") {
			t.Errorf("%s: a guest got %d %s, want 403", path, got.Code, got.Body)
		}
	}
	if got := get(t, h, "/presence/counts?topic=site", ""); strings.TrimSpace(got.Body.String()) != `{"topics":{}}` {
		t.Errorf("a guest got the counts %s, want none", got.Body)
	}
	if got := get(t, h, "/presence/roster?topic=thread:1", "alice"); got.Code != http.StatusForbidden {
		t.Errorf("got %d for a topic that Authorize does not name, want 403", got.Code)
	}
}

// What the site's own Authorize says holds for users, and is not asked about guests.
func TestMembersOnlyWithAuthorize(t *testing.T) {
	site, _ := newSite(t, rollcall.Config{Members: true, Authorize: func(_ *http.Request, v presence.Visitor, topic presence.Topic) bool {
		if !v.SignedIn() {
			t.Error("Authorize was asked about a guest")
		}
		return topic == "thread:1"
	}})
	h := site.Wrap(http.NotFoundHandler())
	for user, want := range map[string]int{"alice": http.StatusOK, "": http.StatusForbidden} {
		if got := get(t, h, "/presence/roster?topic=thread:1", user); got.Code != want {
			t.Errorf("user %q: got %d, want %d", user, got.Code, want)
		}
	}
}

// A user has two tabs and signs out in one. The other says so. Where a login wall stands before the presence
// endpoints, the page cannot know why it is redirected, so it says that the connection is lost, and asks again.
func TestSignOutInAnotherTab(t *testing.T) {
	for name, walled := range map[string]bool{"no wall": false, "login wall before Wrap": true} {
		t.Run(name, func(t *testing.T) {
			log := new(syncbuf.Buffer)
			site, err := rollcall.New(identifyByCookie, rollcall.Config{Members: true, Logger: newLogger(log), Views: parse(
				`<!doctype html><html lang="en"><title>t</title>{{presenceHead}}{{whosOnline "site"}}{{onlineDot "alice"}}`)})
			if err != nil {
				t.Fatal(err)
			}
			mux := http.NewServeMux()
			mux.Handle("/", pages(site))
			mux.HandleFunc("POST /logout", func(w http.ResponseWriter, r *http.Request) {
				http.SetCookie(w, &http.Cookie{Name: "name", MaxAge: -1})
				if err := site.SignOff(r); err != nil {
					t.Error(err)
				}
			})
			h := site.Wrap(mux)
			server := httptest.NewUnstartedServer(nil)
			server.Config = site.Server("", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if _, ok := identifyByCookie(r); !ok && walled && r.URL.Path != "/login" {
					http.Redirect(w, r, "/login", http.StatusFound)
					return
				}
				h.ServeHTTP(w, r)
			}))
			server.Start()
			t.Cleanup(server.Close)
			t.Cleanup(func() { _ = site.Close(t.Context()) })
			tab := browse.New(t)
			tab.Open(server.URL + "/login")
			tab.Until(`document.cookie = "name=alice"`, "name=alice")
			tab.Open(server.URL)
			tab.Until(`document.querySelector("whos-online").dataset.live`, "on")
			tab.Expect("status of 401")                               // which ends the stream
			tab.Expect(server.URL + "/login")                         // in place of a script
			tab.Expect("Unexpected response code: 302")               // in place of a socket
			tab.Until(`(fetch("/logout", {method: "POST"}), 1)`, "1") // as another tab would
			if walled {
				tab.Until(`document.querySelector(".presence-lost").textContent.split(",")[0]`, "Connection lost")
				tab.Until(`(document.cookie = "name=alice", document.querySelector("whos-online").dataset.live)`, "on") // signed in again
			} else {
				tab.Until(`document.querySelector(".presence-lost").textContent`, "You have signed out. Reload the page to go on.")
				tab.Until(`document.querySelector("whos-online").dataset.live`, "off")
			}
			if got := strings.Contains(log.String(), "finding=login-wall"); got != walled {
				t.Errorf("the log names a login wall: %v, want %v:\n%s", got, walled, log)
			}
		})
	}
}

// identifyByCookie is the site's own, for browsers.
func identifyByCookie(r *http.Request) (user presence.User, ok bool) {
	if name, err := r.Cookie("name"); err == nil {
		user.ID = presence.UserID(name.Value)
	}
	return user, user.ID != ""
}
