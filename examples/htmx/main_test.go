package main

import (
	"strings"
	"testing"

	"github.com/rollcall-go/rollcall/examples/internal/onepage/onepagetest"
)

// homeOf2 is the page for htmx 2. The policy forbids the styles that htmx would add, and the
// eval that it uses for some attributes.
var homeOf2 = strings.NewReplacer(
	`<div hx-sse:connect="/presence/events?as=html" hx-swap="innerMorph">`, `<div hx-ext="sse" sse-connect="/presence/events?as=html" sse-swap="message">`,
	`{"includeIndicatorCSS":false,"sse":{"pauseOnBackground":false}}`, `{"includeIndicatorStyles":false,"allowEval":false}`,
	`/scripts/htmx.org/dist/htmx.min.js`, `/scripts/htmx2/dist/htmx.min.js`,
	`/scripts/htmx.org/dist/ext/hx-sse.min.js`, `/scripts/htmx-ext-sse/dist/sse.min.js`,
).Replace(home)

// htmx alone keeps the widget live, under a strict policy.
func TestPage(t *testing.T) {
	for name, page := range map[string]string{"htmx 4": home, "htmx 2": homeOf2} {
		t.Run(name, func(t *testing.T) { onepagetest.Run(t, site(page)) })
	}
}
