package main

import (
	"bufio"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rollcall-go/rollcall/examples/internal/browse"
)

// homeOf2 is the page for htmx 2, as home says it. Its own styles would breach
// the policy, and so would the eval that it has for some attributes.
var homeOf2 = strings.NewReplacer(
	`<div hx-sse:connect="/presence/events?as=html" hx-swap="innerMorph">`, `<div hx-ext="sse" sse-connect="/presence/events?as=html" sse-swap="message">`,
	`{"includeIndicatorCSS":false,"sse":{"pauseOnBackground":false}}`, `{"includeIndicatorStyles":false,"allowEval":false}`,
	`/scripts/htmx.org/dist/htmx.min.js`, `/scripts/htmx2/dist/htmx.min.js`,
	`/scripts/htmx.org/dist/ext/hx-sse.min.js`, `/scripts/htmx-ext-sse/dist/sse.min.js`,
).Replace(home)

const (
	shown = `[...document.querySelectorAll("main whos-online [data-user]")].map((li) => li.dataset.user).sort()`
	count = `document.querySelector("[data-count=online]").textContent`
)

// TestPage: htmx alone keeps the widget live, under a strict policy.
func TestPage(t *testing.T) {
	for name, page := range map[string]string{"htmx 4": home, "htmx 2": homeOf2} {
		t.Run(name, func(t *testing.T) {
			site, end, err := newSite(page, browse.Packages(t))
			if err != nil {
				t.Fatal(err)
			}
			server := httptest.NewServer(site)
			t.Cleanup(func() { // after the browser, which would complain
				server.CloseClientConnections()
				server.Close()
				end()
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
			alice.Until(`document.querySelector("whos-online").constructor.name`, "HTMLElement") // no script of ours
		})
	}
}

// stream lets a user be online until the test ends.
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
