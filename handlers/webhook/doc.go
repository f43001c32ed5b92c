// Package webhook posts joins and leaves to a receiver of the site's, signed by the
// convention of Standard Webhooks (https://www.standardwebhooks.com).
//
//	sender, err := webhook.New(webhook.Config{URL: "https://example.org/hook", Secret: "whsec_…"})
//	go sender.Run(ctx, tracker, "webhook", presence.Site)
//
// Each event is one POST of JSON:
//
//	{"type":"presence.leave","timestamp":"2026-11-21T07:02:12Z","data":{"topic":"site",
//	 "user":{"id":"alice","name":"Alice"},"since":"2026-11-21T06:57:00Z",
//	 "last_seen":"2026-11-21T07:02:12Z","seconds":312}}
//
// with the headers webhook-id, webhook-timestamp and webhook-signature. A join has no
// last_seen and no seconds; presence.gap has a topic alone. A receiver verifies the
// signature with a library of Standard Webhooks, and ignores an id that it has seen.
//
// An event is posted again until the answer is 2xx, with the same id and body, after 5 s
// at first, at least once a minute in the first quarter of an hour, then less often, and
// for a day at most. Events of one user and topic keep their order meanwhile, and those of
// others go on. [Tracker.Deliver] says what holds across nodes.
//
// [Tracker.Deliver]: https://pkg.go.dev/github.com/rollcall-go/rollcall/presence#Tracker.Deliver
package webhook
