// Package signintest tests the smallest examples that have a form to sign in.
package signintest

import (
	"context"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/rollcall-go/rollcall"
	"github.com/rollcall-go/rollcall/internal/browse"
)

// Run fails the test unless Alice's open page shows Bob, who signs in and out.
func Run(t *testing.T, newSite func() (*rollcall.Site, http.Handler)) {
	t.Helper()
	site, handler := newSite()
	mux := http.NewServeMux()
	mux.Handle("/", handler)
	mux.HandleFunc("/favicon.ico", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	server := httptest.NewServer(mux)
	t.Cleanup(func() { // after the browser, which would log errors
		if err := site.Close(context.Background()); err != nil {
			t.Error(err)
		}
		server.CloseClientConnections()
		server.Close()
	})
	bob := newClient(t, server)
	if page := bob.get(); !strings.Contains(page, "<whos-online") || strings.Contains(page, `data-user="`) {
		t.Errorf("got the page %s, want one with an empty list", page)
	}
	if page := bob.signIn("bob"); !strings.Contains(page, `data-user="bob"`) {
		t.Errorf("got the page %s, want Bob on his own page", page)
	}
	if page := bob.signIn(""); strings.Contains(page, `data-user="`) {
		t.Errorf("got the page %s, want an empty list after a sign-out", page)
	}

	alice := browse.New(t)
	const shown = `[...document.querySelectorAll("whos-online [data-user]")].map((li) => li.dataset.user).sort()`
	alice.Open(server.URL)
	alice.Until(`document.cookie = "name=alice"`, "name=alice")
	alice.Open(server.URL)
	alice.Until(shown, "alice")
	alice.Until(`document.querySelector("whos-online").dataset.live`, "on")
	bob.signIn("bob")
	alice.Until(shown, "alice,bob")
	bob.signIn("")
	alice.Until(shown, "alice")
}

// A client is a browser without script.
type client struct {
	t    *testing.T
	http *http.Client
	url  string
}

func newClient(t *testing.T, server *httptest.Server) *client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &client{t, &http.Client{Transport: server.Client().Transport, Jar: jar}, server.URL}
}

func (c *client) get() string {
	c.t.Helper()
	return c.page(c.http.Get(c.url))
}

// signIn signs in, or out if the name is empty, and returns the page that follows.
func (c *client) signIn(name string) string {
	c.t.Helper()
	return c.page(c.http.PostForm(c.url, url.Values{"name": {name}}))
}

func (c *client) page(res *http.Response, err error) string {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		c.t.Fatalf("got %d, %v and the page %s, want 200", res.StatusCode, err, body)
	}
	return string(body)
}
