// Package onepagetest tests the smallest examples in a browser.
package onepagetest

import (
	"bufio"
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/rollcall-go/rollcall/examples/internal/onepage"
	"github.com/rollcall-go/rollcall/internal/browse"
	"github.com/rollcall-go/rollcall/internal/need"
)

const (
	shown = `[...document.querySelectorAll("main whos-online [data-user]")].map((li) => li.dataset.user).sort()`
	count = `document.querySelector("[data-count=online]").textContent`
)

// Run fails the test unless an open page shows users who join, without a script of this
// module.
func Run(t *testing.T, s onepage.Site) {
	t.Helper()
	site, handler, err := s.New(need.Package(t, ""))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(func() { // after the browser, which would log errors
		server.CloseClientConnections()
		server.Close()
		_ = site.Close(context.Background())
	})

	alice := browse.New(t)
	alice.SignIn("alice")
	alice.Open(server.URL)
	alice.Until(shown, "alice")
	stream(t, server.URL, "bob")
	alice.Until(shown, "alice,bob")
	alice.Until(count, "2")
	stream(t, server.URL, "carol")
	alice.Until(shown, "alice,bob,carol")
	alice.Until(`document.querySelectorAll("whos-online").length`, "1")
	alice.Until(`document.querySelector("whos-online").constructor.name`, "HTMLElement") // no script of this module
}

// stream keeps a user online until the test ends.
func stream(t *testing.T, url, user string) {
	t.Helper()
	r, err := http.NewRequest(http.MethodGet, url+"/presence/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.SetBasicAuth(user, "x")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { res.Body.Close() })
	if line, err := bufio.NewReader(res.Body).ReadString('\n'); err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("got %d, %q, %v, want a stream", res.StatusCode, line, err)
	}
}
