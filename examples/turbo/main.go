// Turbo shows who is online on a site that has Turbo. It needs no other script: the stream
// sends the widget as Turbo Streams, which morph the widget on the page.
//
//	npm ci --ignore-scripts --prefix .ci/clients    # downloads Turbo, once
//	go run ./examples/turbo
//
// Sign in with any name and any password, then with another name in another browser.
package main

import "github.com/rollcall-go/rollcall/examples/internal/onepage"

// home has a source of Turbo Streams. Each stream finds the widgets of its topic, anywhere
// on the page.
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

// site allows scripts, styles and pictures of its own, and the style of Turbo's progress
// bar, which has the page's nonce.
func site() onepage.Site {
	return onepage.Site{
		Package: "@hotwired/turbo",
		Page:    home,
		Policy:  "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-NONCE'; img-src 'self'; connect-src 'self'",
	}
}

func main() { site().Main() }
