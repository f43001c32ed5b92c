package browsertest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/rollcall-go/rollcall/examples/forum/internal/forumtest"
	"github.com/rollcall-go/rollcall/internal/browse"
)

// A browser is a running Chromium.
type browser struct {
	t   *testing.T
	ctx context.Context
}

// newBrowser returns the package's Chromium.
func newBrowser(t *testing.T) *browser {
	t.Helper()
	return &browser{t, browse.Shared(t)}
}

// newOwnBrowser starts a Chromium that the test may kill.
func newOwnBrowser(t *testing.T) *browser {
	t.Helper()
	ctx := browse.Start(t)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal("start Chromium: ", err)
	}
	return &browser{t, ctx}
}

// A tab is one that is open at a forum. At the end of the test there may have been
// no fault in it: no script error, nothing that the content policy refused.
type tab struct {
	t     *testing.T
	ctx   context.Context
	close context.CancelFunc
	url   string

	mu     sync.Mutex
	faults []string
	sent   []string // what its pages asked the presence endpoints for, without the files
	at     []time.Time
	broken bool     // the network, on purpose: the console may say so
	barred []string // why its pages could not be kept for the back button
}

// profile opens a tab in a profile of its own: it shares no cookie with another.
func (b *browser) profile(f *forumtest.Forum) *tab {
	b.t.Helper()
	return newTab(b.t, b.ctx, f.URL, chromedp.WithNewBrowserContext())
}

// another opens another tab in the same profile.
func (tb *tab) another() *tab {
	tb.t.Helper()
	return newTab(tb.t, tb.ctx, tb.url)
}

func newTab(t *testing.T, parent context.Context, url string, options ...chromedp.ContextOption) *tab {
	t.Helper()
	tb := &tab{t: t, url: url}
	tb.ctx, tb.close = chromedp.NewContext(parent, options...)
	if err := chromedp.Listen(tb.ctx, tb.listen); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		tb.close()
		tb.mu.Lock()
		defer tb.mu.Unlock()
		for _, fault := range tb.faults {
			t.Errorf("in the browser: %s", fault)
		}
	})
	return tb
}

// listen notes what happens in the tab.
func (tb *tab) listen(e any) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	switch e := e.(type) {
	case *network.EventRequestWillBeSent:
		if _, what, ok := strings.Cut(e.Request.URL, "/presence/"); ok && !strings.HasPrefix(what, "assets/") {
			tb.sent = append(tb.sent, e.Request.Method+" "+what)
			tb.at = append(tb.at, time.UnixMicro(int64(e.WallTime*1e6)))
		}
	case *cdppage.EventBackForwardCacheNotUsed:
		for _, why := range e.NotRestoredExplanations {
			tb.barred = append(tb.barred, fmt.Sprintf("%s %s %s", why.Type, why.Reason, why.Context))
		}
	case *runtime.EventExceptionThrown:
		tb.faults = append(tb.faults, browse.Fault(e))
	case *log.EventEntryAdded:
		if !tb.broken {
			tb.faults = append(tb.faults, browse.Fault(e))
		}
	}
}

// requests returns for what the tab's pages asked the presence endpoints so far.
func (tb *tab) requests() []string {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	return slices.Clone(tb.sent)
}

// asked returns how often the tab's pages asked for what begins so.
func (tb *tab) asked(what string) (n int) {
	for _, sent := range tb.requests() {
		if strings.HasPrefix(sent, what) {
			n++
		}
	}
	return n
}

// asks waits until the tab's pages have asked so often for what begins so.
func (tb *tab) asks(what string, times int) {
	tb.t.Helper()
	for deadline := time.Now().Add(forumtest.Patience); tb.asked(what) < times; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			tb.t.Fatalf("asked %d times for %s, want %d; all: %q", tb.asked(what), what, times, tb.requests())
		}
	}
}

// breaks says that the network will not do what the tab wants.
func (tb *tab) breaks() {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	tb.broken = true
}

// do runs actions, each of which has to succeed while patience lasts.
func (tb *tab) do(what string, actions ...chromedp.Action[chromedp.Void]) {
	tb.t.Helper()
	ctx, cancel := context.WithTimeout(tb.ctx, forumtest.Patience)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		tb.t.Fatalf("%s: %v\n%s\nit asked for %q", what, err, tb.shows(), tb.requests())
	}
}

// shows returns the widgets on the page, as far as it still says.
func (tb *tab) shows() string {
	ctx, cancel := context.WithTimeout(tb.ctx, 5*time.Second)
	defer cancel()
	html, err := chromedp.Run(ctx, chromedp.Evaluate[string](`location.pathname + "\n" + [...document.querySelectorAll("whos-online")].map((w) => w.outerHTML).join("\n")`))
	if err != nil {
		return err.Error()
	}
	return html
}

func (tb *tab) open(path string) {
	tb.t.Helper()
	tb.do("open "+path, chromedp.Navigate(tb.url+path))
}

// click clicks what leads to another page, and waits for that.
func (tb *tab) click(selector string) {
	tb.t.Helper()
	tb.do("click "+selector, chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := chromedp.WaitEvent(cdppage.LoadEventFired, nil, chromedp.Click(chromedp.CSS(selector)))(ctx, target)
		return err
	}))
}

// signIn signs in on the page that is open.
func (tb *tab) signIn(name string) {
	tb.t.Helper()
	tb.do("type the name", chromedp.SendKeys(chromedp.CSS("input[name=name]"), name))
	tb.click("form[action='/login'] button")
}

// sees waits until something is on the page.
func (tb *tab) sees(selector string) {
	tb.t.Helper()
	tb.do("see "+selector, chromedp.WaitVisible(chromedp.CSS(selector)))
}

// misses waits until something is no longer on the page.
func (tb *tab) misses(selector string) {
	tb.t.Helper()
	tb.do("miss "+selector, chromedp.WaitNotPresent(chromedp.CSS(selector)))
}

// isLive waits until the page's stream is open.
func (tb *tab) isLive() {
	tb.t.Helper()
	tb.sees(`whos-online[data-live="on"]`)
}

// eval returns the value of an expression on the page.
func eval[T any](tb *tab, expression string) T {
	tb.t.Helper()
	ctx, cancel := context.WithTimeout(tb.ctx, forumtest.Patience)
	defer cancel()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		tb.t.Fatalf("evaluate %s: %v", expression, err)
	}
	return value
}

// note makes the page note the comings and goings of which its elements tell.
func (tb *tab) note() {
	tb.t.Helper()
	eval[[]string](tb, `noted = [], ["join", "leave"].forEach((type) => document.addEventListener("presence:" + type,
		(e) => noted.push(type + " " + e.detail.topic + " " + e.detail.id))), noted`)
}

func (tb *tab) noted() []string {
	tb.t.Helper()
	return eval[[]string](tb, "noted")
}

// user is the selector of a user in the list of a topic.
func user(topic, id string) string {
	quoted, _ := json.Marshal(id)
	return fmt.Sprintf("whos-online[topic=%q] [data-user=%s]", topic, quoted)
}
