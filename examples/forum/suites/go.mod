module github.com/rollcall-go/rollcall/examples/forum/suites

go 1.25.0

replace github.com/rollcall-go/rollcall => ../../..

require (
	github.com/chromedp/cdproto v0.159.0
	github.com/chromedp/chromedp v0.22.1
	github.com/r3labs/sse/v2 v2.10.0
	github.com/redis/go-redis/v9 v9.22.0
	github.com/rollcall-go/rollcall v0.0.0-00010101000000-000000000000
)

require (
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/go-json-experiment/json v0.0.0-20260213210345-44df1a37e875 // indirect
	go.uber.org/atomic v1.11.0 // indirect
	golang.org/x/net v0.58.0 // indirect
	golang.org/x/sys v0.47.0 // indirect
	gopkg.in/cenkalti/backoff.v1 v1.1.0 // indirect
)
