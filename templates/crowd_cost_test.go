package templates_test

import (
	"context"
	"flag"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/chromedp"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/track"
)

var crowdFor = flag.Duration("crowd", 0, "how long TestCrowdCost measures a page, such as 10m")

// A pageMeter has what a page's network has said so far.
type pageMeter struct {
	mu  sync.Mutex
	now pageFigures
}

// pageFigures are the counters of a page: what its network and its renderer say.
type pageFigures struct {
	at               time.Time
	requests, chunks int
	bytes            int64   // of all bodies
	cpu              float64 // seconds
	heap             float64 // bytes
}

func (m *pageMeter) listen(event any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		m.now.requests++
	case *network.EventDataReceived:
		m.now.chunks++
		m.now.bytes += e.DataLength
	}
}

// read returns the counters now.
func (m *pageMeter) read(b *browser) pageFigures {
	b.Helper()
	got, err := chromedp.Call(b.ctx, performance.GetMetrics, cdp.Empty{})
	noError(b, err)
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now
	now.at = time.Now()
	for _, metric := range got.Metrics {
		switch metric.Name {
		case "TaskDuration":
			now.cpu = metric.Value
		case "JSHeapUsedSize":
			now.heap = metric.Value
		}
	}
	return now
}

// TestCrowdCost measures what a page costs a phone that shows 20 of 2,000 users and 10 dots, while 32 users come or go
// a second: it is seen for two fifths of the time, then hidden, and then seen again for as long as it was hidden. With
// -crowd=10m it logs a table for bench/windows/README.md; without the flag nothing runs.
func TestCrowdCost(t *testing.T) {
	if *crowdFor == 0 {
		t.Skip("long: it runs with -crowd=10m")
	}
	s := newCrowdedSite(t, track.Config{}, 2000, dotsView())
	b := newBrowser(t)
	meter := new(pageMeter)
	noError(t, chromedp.Listen(b.ctx, meter.listen))
	_, err := chromedp.Call(b.ctx, network.Enable, network.EnableParams{})
	noError(t, err)
	_, err = chromedp.Call(b.ctx, performance.Enable, performance.EnableParams{})
	noError(t, err)
	b.do(chromedp.Navigate(s.URL))
	b.until(live, "on")
	time.Sleep(time.Second)

	var churn sync.WaitGroup
	done := make(chan struct{})
	defer churn.Wait()
	defer close(done)
	churn.Go(func() { s.churn(done) })
	table := "| page | for | bytes a second | chunks a second | requests | CPU | heap |\n|---|---:|---:|---:|---:|---:|---:|\n"
	phase := func(name string, d time.Duration) {
		before := meter.read(b)
		time.Sleep(d)
		after := meter.read(b)
		took := after.at.Sub(before.at).Seconds()
		table += fmt.Sprintf("| %s | %.0f s | %.0f | %.2f | %d | %.1f %% | %.1f MB |\n", name, took, float64(after.bytes-before.bytes)/took,
			float64(after.chunks-before.chunks)/took, after.requests-before.requests, 100*(after.cpu-before.cpu)/took, after.heap/1e6)
	}
	const hide = `Object.defineProperty(document, "hidden", { value: %v, configurable: true }); document.dispatchEvent(new Event("visibilitychange"))`
	phase("seen", *crowdFor*2/5)
	b.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(hide, true)))
	waitFor(t, func() bool { return s.requests("/presence/beat", `"hidden":true`) == 1 })
	phase("hidden", *crowdFor*3/10)
	b.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(hide, false)))
	phase("seen again", *crowdFor*3/10)
	t.Log("\n" + table)
	if n := s.requests("/presence/events?"); n != 1 {
		t.Errorf("the page opened %d streams, want 1", n)
	}
	b.until(live, "on")
}

// churn lets 16 users come and as many go each second, the longest there first, and renews the others. Each five seconds
// one of the users with dots goes or comes.
func (s *crowdedSite) churn(done <-chan struct{}) {
	tick := time.NewTicker(time.Second / 32)
	defer tick.Stop()
	user := func(i int) presence.User {
		return presence.User{ID: presence.UserID(fmt.Sprintf("user-%04d", i)), Name: fmt.Sprintf("User %d", i), URL: "/u"}
	}
	leave := func(i int) { _ = s.tracker.SignOut(context.Background(), user(i).ID) }
	come := func(i int) { s.tracker.Seen(presence.Site, user(i), presence.Device{}) }
	gone := -1 // which of the users with dots
	for i, next := 0, 0; ; i++ {
		select {
		case <-done:
			return
		case <-tick.C:
		}
		switch {
		case i%320 == 160:
			gone = i / 320 % 10
			leave(gone)
		case i%320 == 0 && gone >= 0:
			come(gone)
			gone = -1
		case i%2 == 0:
			come(2000 + i/2)
		default:
			leave(10 + i/2)
		}
		first, last := 11+i/2, 1999+i/2
		for range 4 { // a lease lasts for 45 s, and this takes 16 s
			if next = max(next+1, first); next > last {
				next = first
			}
			come(next)
		}
		if dot := i / 8 % 10; dot != gone {
			come(dot)
		}
	}
}
