package main

import (
	"context"
	"fmt"
	"sync"
)

// A check looks for one kind of mistake. It judges what the site answered, and is run
// concurrently with the others.
type check struct {
	name string
	see  string // a section of our documents
	run  func(context.Context, *site) verdict
}

// checks returns all checks, in the order in which they are reported. A mistake is named by
// the first check that it concerns; to later ones, what it hides is unknown.
func checks() []check {
	const (
		wiring  = "docs/wiring.md#the-parts"
		streams = "docs/wiring.md#what-must-not-stand-before-the-streams"
		mistake = "docs/troubleshooting.md#findings"
		proxy   = "docs/operations.md#behind-a-proxy"
		cost    = "docs/wiring.md#what-an-open-page-costs-your-site"
		times   = "docs/operations.md#health-times-deploys"
	)
	return []check{
		{"widget", wiring, checkWidget},
		{"endpoints", wiring, checkEndpoints},
		{"script", mistake, checkScript},
		{"middleware", streams, checkMiddleware},
		{"sessions", streams, checkSessions},
		{"origin", proxy, checkOrigin},
		{"topics", "docs/who-is-online.md#topics", checkTopics},
		{"beats", streams, checkBeats},
		{"stream", streams, checkStream},
		{"compression", proxy, checkCompression},
		{"buffering", proxy, checkBuffering},
		{"timeout", proxy, checkTimeout},
		{"websocket", proxy, checkWebSocket},
		{"cookies", proxy, checkCookies},
		{"cache", cost, checkCache},
		{"address", proxy, checkAddress},
		{"http2", wiring, checkConnContext},
		{"tabs", cost, checkTabs},
		{"limits", "docs/reliability.md#bounds", checkLimits},
		{"clock", times, checkClock},
		{"store", "docs/operations.md#on-redis", checkStore},
	}
}

// The states of a verdict.
const (
	isOK      = "ok"
	isWrong   = "wrong"
	isUnknown = "unknown"
)

// A verdict is what a check has found, in one sentence, and how to cure it.
type verdict struct {
	State string `json:"state"`
	Says  string `json:"says"`
	Cure  string `json:"cure,omitempty"`
}

func ok(format string, args ...any) verdict {
	return verdict{State: isOK, Says: fmt.Sprintf(format, args...)}
}

func unknown(format string, args ...any) verdict {
	return verdict{State: isUnknown, Says: fmt.Sprintf(format, args...)}
}

func wrong(cure, format string, args ...any) verdict {
	return verdict{State: isWrong, Says: fmt.Sprintf(format, args...), Cure: cure}
}

// examine runs the checks at the same time, and reports each when those before it are. It
// returns how many found something wrong. The error is that of ctx.
func (s *site) examine(ctx context.Context, all []check, to *report) (found int, err error) {
	verdicts := make([]chan verdict, len(all))
	var running sync.WaitGroup
	defer running.Wait()
	for i, c := range all {
		verdicts[i] = make(chan verdict, 1)
		running.Go(func() { verdicts[i] <- c.run(ctx, s) })
	}
	for i, c := range all {
		v := <-verdicts[i]
		if ctx.Err() != nil {
			return found, ctx.Err()
		}
		to.add(c, v)
		if v.State == isWrong {
			found++
		}
	}
	to.end(found, len(all))
	return found, nil
}
