// Package webhook posts joins and leaves to a URL of the site's choice, the receiver. Posts
// are signed as Standard Webhooks describes (https://www.standardwebhooks.com).
//
//	sender, err := webhook.New(webhook.Config{URL: "https://example.org/hook", Secret: "whsec_…"})
//	go sender.Run(ctx, tracker, "webhook", presence.Site) // on every node
//
// Each event is one POST of JSON:
//
//	{"type":"presence.leave","timestamp":"2026-11-21T07:02:12Z","data":{"topic":"site",
//	 "user":{"id":"alice","name":"Alice"},"since":"2026-11-21T06:57:00Z",
//	 "last_seen":"2026-11-21T07:02:12Z","seconds":312}}
//
// with the headers webhook-id, webhook-timestamp and webhook-signature. A presence.join has no last_seen and
// no seconds. The same holds for the presence.leave of a user who hides last seen, and for one after a gap, if
// nobody knows when the user was last seen. A presence.gap has only a topic. A receiver verifies the signature
// with a library of Standard Webhooks, ignores an id that it has seen, and takes a join as "is there".
//
// An event is posted again, with the same id and body, until the answer is 2xx: after 5 s at first, about once
// a minute in the first quarter of an hour, then less often, and for a day at most. A Retry-After in the
// answer can lengthen each wait, to an hour at most. Later events of the same user and topic wait meanwhile,
// and all others go on.
//
// The guarantees across nodes are those of [deliver.Consumers.Run].
//
// [deliver.Consumers.Run]: https://pkg.go.dev/github.com/rollcall-go/rollcall/presence/deliver#Consumers.Run
package webhook
