package rollcall_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/rollcall-go/rollcall"
	"github.com/rollcall-go/rollcall/internal/browse"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed"
	"github.com/rollcall-go/rollcall/presence/track"
)

// hurried makes a minute of the page's script a third of a second.
const hurried = `<script nonce="n0nce">const wait = setTimeout; window.setTimeout = (f, ms, ...rest) => wait(f, ms > 40000 ? 300 : ms, ...rest)</script>`

// strictly serves pages under a policy that allows nothing but what has the nonce, and no text
// that becomes markup. A violation is an error in the console, which fails the test.
func strictly(t *testing.T, site *rollcall.Site, user presence.UserID) (url string) {
	t.Helper()
	const nonce = "n0nce"
	h := site.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", "default-src 'none'; img-src 'self' data:; connect-src 'self'; form-action 'self'; require-trusted-types-for 'script'; trusted-types 'none'; "+
			"script-src 'nonce-"+nonce+"' 'strict-dynamic'; style-src 'nonce-"+nonce+"'")
		site.Render(w, r, "page", nonce)
	}))
	server := httptest.NewServer(signedInAs(user, h))
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	return server.URL
}

func TestStrictPolicy(t *testing.T) {
	site, _ := newSite(t, rollcall.Config{Views: parse(`<!doctype html><html lang="en"><title>t</title>{{presenceHead .}}{{whosOnline "site"}}{{onlineDot "bob"}} {{lastSeen "bob"}}`)})
	url := strictly(t, site, "alice")
	tab := browse.New(t)
	tab.Open(url)
	tab.Until(`document.querySelector("whos-online").dataset.live`, "on")
	tab.Until(`getComputedStyle(document.querySelector(".presence-users")).listStyleType`, "none") // the style is there
	conn := connect(t, site, "bob")
	tab.Until(`document.querySelectorAll("whos-online [data-user]").length`, "2")
	tab.Until(`document.querySelector("online-dot").dataset.status`, "online")
	conn.Close()
}

// The same holds for what the script updates once a minute.
func TestStrictPolicyAfterAMinute(t *testing.T) {
	site, _ := newSite(t, rollcall.Config{
		Views: parse(`<!doctype html><html lang="en"><title>t</title>` + hurried +
			`{{presenceHead .}}{{whosOnline "site" "about" true}}{{where}}{{onlineCount "other"}}`),
		Authorize: func(*http.Request, presence.Visitor, presence.Topic) bool { return true },
	})
	tab := browse.New(t)
	tab.Open(strictly(t, site, "alice"))
	tab.Until(`document.querySelector("whos-online").dataset.live`, "on")
	conn, err := site.Tracker().Connect(t.Context(), track.ConnectOptions{Visitor: presence.Visitor{User: presence.User{ID: "bob"}}, Topics: []presence.Topic{"site", "other"}})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	tab.Until(`document.querySelector("online-count").textContent`, "1")
	tab.Until(`!!document.querySelector(".presence-where [data-place=other] [data-person=bob]")`, "true")
	tab.Until(`!!document.querySelector("whos-online [data-user=bob] .presence-about .presence-place")`, "true")
}

// A part whose update fails ends no other: the script goes on with all of them.
func TestPartThatFails(t *testing.T) {
	site, _ := newSite(t, rollcall.Config{
		Views: parse(`<!doctype html><html lang="en"><title>t</title>` + hurried +
			`<script nonce="n0nce">const load = XMLHttpRequest.prototype.send; window.failed = 0; XMLHttpRequest.prototype.send = function () { if (failed++ === 0) throw new Error("planned"); load.call(this) }</script>` +
			`{{presenceHead .}}{{where}}{{onlineCount "other"}}`),
		Authorize: func(*http.Request, presence.Visitor, presence.Topic) bool { return true },
	})
	tab := browse.New(t)
	tab.Open(strictly(t, site, "alice"))
	tab.Expect("planned")
	tab.Until(`failed > 0`, "true")
	site.Tracker().Seen("other", presence.User{ID: "bob"}, presence.Device{})
	tab.Until(`document.querySelector("online-count").textContent`, "1")
	tab.Until(`!!document.querySelector("[data-place=other]")`, "true")
}

// The same holds for the bell, notifications, and the forms, which a site without a line of its own
// for them answers.
func TestStrictPolicyWithPeople(t *testing.T) {
	store, _ := newSQL(t)
	site, _ := newSite(t, rollcall.Config{SQL: store, Views: parse(
		`<!doctype html><html lang="en"><title>t</title>{{presenceHead .}}{{bell "popover" true}}{{notifications}}{{contacts}}{{person "bob"}}{{contact "bob"}}{{settings}}{{typing "site"}}`)})
	url := strictly(t, site, "alice")
	tab := browse.New(t)
	tab.Open(url)
	const live = `[...document.querySelectorAll("[data-live]")].map((part) => part.dataset.live)`
	tab.Until(live+`.includes("on")`, "true")
	if err := site.Send(t.Context(), feed.Message{To: []presence.UserID{"alice"}, Text: "hello", URL: "/"}); err != nil {
		t.Fatal(err)
	}
	tab.Until(`document.querySelectorAll(".presence-items [data-item]").length`, "1")
	tab.Until(`document.querySelector(".presence-badge").textContent`, "1")
	tab.Until(`(document.querySelector(".presence-items [value=read]").click(), 1)`, "1")
	tab.Until(`document.querySelector(".presence-badge").textContent`, "")
	tab.Until(`(document.querySelector("a.presence-bell").click(), 1)`, "1")
	tab.Until(`document.querySelectorAll(".presence-notifications").length > 1`, "true")

	tab.Until(`(document.querySelector(".presence-contact [value=add]").click(), 1)`, "1")
	tab.Until(`!!document.querySelector(".presence-contact [value=remove]")`, "true")
	tab.Until(`document.querySelector(".presence-contacts .presence-name, .presence-contacts bdi")?.textContent`, "bob")
	tab.Until(`(document.querySelector("[name=status][value=busy]").click(), document.querySelector(".presence-settings button").click(), 1)`, "1")
	until(t, "Alice is busy", func() bool {
		s, err := site.Tracker().People().Settings(t.Context(), "alice")
		return err == nil && s.Status == presence.Busy
	})
}

// signedInAs makes all requests those of a user.
func signedInAs(id presence.UserID, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Set("User", string(id))
		next.ServeHTTP(w, r)
	})
}
