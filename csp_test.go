package rollcall_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/rollcall-go/rollcall"
	"github.com/rollcall-go/rollcall/internal/browse"
	"github.com/rollcall-go/rollcall/presence"
)

// A site whose policy allows nothing but what has the nonce, and no text that becomes markup,
// shows the widget with its style, live. A violation is an error in the console, which fails the
// test.
func TestStrictPolicy(t *testing.T) {
	site, _ := newSite(t, rollcall.Config{Views: parse(`<!doctype html><html lang="en"><title>t</title>{{presenceHead .}}{{whosOnline "site"}}{{onlineDot "bob"}} {{lastSeen "bob"}}`)})
	const nonce = "n0nce"
	h := site.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", "default-src 'none'; img-src 'self' data:; connect-src 'self'; require-trusted-types-for 'script'; "+
			"script-src 'nonce-"+nonce+"' 'strict-dynamic'; style-src 'nonce-"+nonce+"'")
		site.Render(w, r, "page", nonce)
	}))
	server := httptest.NewServer(signedInAs("alice", h))
	tab := browse.New(t)
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	tab.Open(server.URL)
	tab.Until(`document.querySelector("whos-online").dataset.live`, "on")
	tab.Until(`getComputedStyle(document.querySelector(".presence-users")).listStyleType`, "none") // the style is there
	conn := connect(t, site, "bob")
	tab.Until(`document.querySelectorAll("whos-online [data-user]").length`, "2")
	tab.Until(`document.querySelector("online-dot").dataset.status`, "online")
	conn.Close()
}

// signedInAs makes all requests those of a user.
func signedInAs(id presence.UserID, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Set("User", string(id))
		next.ServeHTTP(w, r)
	})
}
