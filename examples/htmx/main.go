// Htmx is a site that has htmx already, and needs no other script to show who is
// online: the stream brings the widget as HTML, and htmx puts it in its place.
//
//	npm ci --prefix .ci/clients    # gets htmx, once
//	go run ./examples/htmx
//
// Sign in with any name and any password, then again from another browser.
package main

import "github.com/rollcall-go/rollcall/examples/internal/onepage"

// home is a page for htmx 4. Its stream would end in the background, and its user
// be gone; morphing leaves alone what is the same, and the focus in it.
//
// For htmx 2 with htmx-ext-sse, the element says
//
//	<div hx-ext="sse" sse-connect="/presence/events?as=html" sse-swap="message">
const home = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Who’s online, by htmx</title>
<meta name="htmx-config" content='{"includeIndicatorCSS":false,"sse":{"pauseOnBackground":false}}'>
{{presenceStyle}}
<script src="/scripts/htmx.org/dist/htmx.min.js" defer></script>
<script src="/scripts/htmx.org/dist/ext/hx-sse.min.js" defer></script>
</head>
<body>
<main>
<h1>Who’s online</h1>
<div hx-sse:connect="/presence/events?as=html" hx-swap="innerMorph">{{whosOnline "site"}}</div>
</main>
</body>
</html>
`

// site allows its page what it serves itself.
func site(page string) onepage.Site {
	return onepage.Site{
		Package: "htmx.org",
		Page:    page,
		Policy:  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'",
	}
}

func main() { site(home).Main() }
