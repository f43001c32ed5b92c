// Turbo is a site that has Turbo already, and needs no other script to show who is
// online: the stream brings the widget as Turbo Streams, which morph the one on the
// page.
//
//	npm ci --prefix .ci/clients    # gets Turbo, once
//	go run ./examples/turbo
//
// Sign in with any name and any password, then again from another browser.
package main

import "github.com/rollcall-go/rollcall/examples/internal/onepage"

// home has a source of Turbo Streams. They find the widgets of their topic by
// themselves, wherever they stand on the page.
const home = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Who’s online, by Turbo</title>
<meta name="csp-nonce" content="{{.}}">
{{presenceStyle}}
<script type="module" src="/scripts/@hotwired/turbo/dist/turbo.es2017-esm.js"></script>
</head>
<body>
<main>
<h1>Who’s online</h1>
{{whosOnline "site"}}
</main>
<turbo-stream-source src="/presence/events?as=turbo"></turbo-stream-source>
</body>
</html>
`

// site allows its page what it serves itself, and the style of Turbo's progress bar,
// which has the nonce that the page tells it.
func site() onepage.Site {
	return onepage.Site{
		Package: "@hotwired/turbo",
		Page:    home,
		Policy:  "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-NONCE'; img-src 'self'; connect-src 'self'",
	}
}

func main() { site().Main() }
