// Htmx shows who is online on a site that has htmx. It needs no other script: the stream
// sends the widget as HTML, and htmx puts it into the page.
//
//	npm ci --ignore-scripts --prefix .ci/clients    # downloads htmx, once
//	go run ./examples/htmx
//
// Sign in with any name and any password, then with another name in another browser.
package main

import "github.com/rollcall-go/rollcall/examples/internal/onepage"

// home is a page for htmx 4. pauseOnBackground is off: otherwise the stream of a hidden tab
// would end, and its user would go offline. innerMorph keeps elements that did not change,
// and the focus in them. The scripts have no defer: htmx 4 looks at the page as soon as it has
// run, and would miss an extension that comes a moment later.
//
// For htmx 2 with htmx-ext-sse, the element is
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
<script src="/scripts/htmx.org/dist/htmx.min.js"></script>
<script src="/scripts/htmx.org/dist/ext/hx-sse.min.js"></script>
</head>
<body>
<main>
<h1>Who’s online</h1>
<div hx-sse:connect="/presence/events?as=html" hx-swap="innerMorph">{{whosOnline "site"}}</div>
</main>
</body>
</html>
`

// site allows scripts, styles and pictures of its own only.
func site(page string) onepage.Site {
	return onepage.Site{
		Package: "htmx.org",
		Page:    page,
		Policy:  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'",
	}
}

func main() { site(home).Main() }
