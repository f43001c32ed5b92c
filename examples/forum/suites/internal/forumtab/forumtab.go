// Package forumtab drives tabs of Chromium in tests of the forum.
package forumtab

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/rollcall-go/rollcall/examples/forum/internal/forumtest"
	"github.com/rollcall-go/rollcall/internal/browse"
)

// A Browser is a running Chromium.
type Browser struct {
	t   *testing.T
	Ctx context.Context // of chromedp
}

// New returns the package's Chromium.
func New(t *testing.T) *Browser {
	t.Helper()
	return &Browser{t, browse.Shared(t)}
}

// NewOwn starts a Chromium that the test may kill.
func NewOwn(t *testing.T) *Browser {
	t.Helper()
	return &Browser{t, browse.Start(t)}
}

// NewWindowed starts a Chromium that keeps pages for the back button.
func NewWindowed(t *testing.T) *Browser {
	t.Helper()
	return &Browser{t, browse.StartWindowed(t)}
}

// A Tab is an open tab at a forum. At the end of the test it must have had no fault: no script error, and
// nothing that the content policy refused.
type Tab struct {
	t     *testing.T
	Ctx   context.Context    // of chromedp
	Close context.CancelFunc // closes the tab
	url   string

	mu     sync.Mutex
	faults []string
	sent   []string // requests of its pages to the presence endpoints, without the files
	at     []time.Time
	broken bool     // the network fails on purpose, so errors in the console are expected
	joined bool     // one late join is excused already: see joinsLate
	barred []string // the reasons why its pages could not be kept for the back button
}

// Profile opens a tab in a new profile, which shares no cookies with others.
func (b *Browser) Profile(f *forumtest.Forum) *Tab {
	b.t.Helper()
	return NewTab(b.t, b.Ctx, f.URL, chromedp.WithNewBrowserContext())
}

// Another opens another tab in the same profile.
func (tb *Tab) Another() *Tab {
	tb.t.Helper()
	return NewTab(tb.t, tb.Ctx, tb.url)
}

// NewTab opens a tab at a forum, or at a proxy before it.
func NewTab(t *testing.T, parent context.Context, url string, options ...chromedp.ContextOption) *Tab {
	t.Helper()
	tb := &Tab{t: t, url: url}
	tb.Ctx, tb.Close = chromedp.NewContext(parent, options...)
	if err := chromedp.Listen(tb.Ctx, tb.listen); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		tb.Close()
		tb.mu.Lock()
		defer tb.mu.Unlock()
		for _, fault := range tb.faults {
			t.Errorf("in the browser: %s", fault)
		}
	})
	return tb
}

// Of returns a Tab for an open tab. Faults in it do not fail the test.
func Of(t *testing.T, ctx context.Context, url string) *Tab {
	return &Tab{t: t, Ctx: ctx, url: url}
}

// listen records an event of the tab.
func (tb *Tab) listen(e any) {
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
		if fault := browse.Fault(e); !tb.broken && !tb.joinsLate(fault) {
			tb.faults = append(tb.faults, fault)
		}
	}
}

// joinsLate reports whether a fault is the first answer 410 to a tab that joined another tab's stream. On a
// busy machine that stream may have been replaced by a new one in the meantime. The tab then joins again. Only
// a second 410 is a fault.
func (tb *Tab) joinsLate(fault string) bool {
	late := !tb.joined && strings.Contains(fault, "410 (Gone)") && strings.HasSuffix(fault, "/presence/beat?joined=1")
	tb.joined = tb.joined || late
	return late
}

// Requests returns the requests of the tab's pages to the presence endpoints so far.
func (tb *Tab) Requests() []string {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	return slices.Clone(tb.sent)
}

// Asked returns how many of these requests begin with the given text.
func (tb *Tab) Asked(what string) (n int) {
	for _, sent := range tb.Requests() {
		if strings.HasPrefix(sent, what) {
			n++
		}
	}
	return n
}

// Asks waits until so many requests begin with the given text.
func (tb *Tab) Asks(what string, times int) {
	tb.t.Helper()
	for deadline := time.Now().Add(forumtest.Patience); tb.Asked(what) < times; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			tb.t.Fatalf("asked %d times for %s, want %d; all: %q", tb.Asked(what), what, times, tb.Requests())
		}
	}
}

// Breaks announces that the network will fail the tab.
func (tb *Tab) Breaks() {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	tb.broken = true
}

// Do runs actions. Each of them must succeed within the patience.
func (tb *Tab) Do(what string, actions ...chromedp.Action[chromedp.Void]) {
	tb.t.Helper()
	ctx, cancel := context.WithTimeout(tb.Ctx, forumtest.Patience)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		tb.t.Fatalf("%s: %v\n%s\nit asked for %q", what, err, tb.Shows(), tb.Requests())
	}
}

// Shows returns the text of the widgets on the page, if the page still answers.
func (tb *Tab) Shows() string {
	ctx, cancel := context.WithTimeout(tb.Ctx, 5*time.Second)
	defer cancel()
	html, err := chromedp.Run(ctx, chromedp.Evaluate[string](`location.pathname + "\n" + [...document.querySelectorAll("whos-online")].map((w) => w.outerHTML).join("\n")`))
	if err != nil {
		return err.Error()
	}
	return html
}

// Open goes to a page.
func (tb *Tab) Open(path string) {
	tb.t.Helper()
	tb.Do("open "+path, chromedp.Navigate(tb.url+path))
}

// Click clicks an element that leads to another page, and waits for that page.
func (tb *Tab) Click(selector string) {
	tb.t.Helper()
	tb.Do("click "+selector, chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := chromedp.WaitEvent(cdppage.LoadEventFired, nil, chromedp.Click(chromedp.CSS(selector)))(ctx, target)
		return err
	}))
}

// SignIn signs in on the page that is open.
func (tb *Tab) SignIn(name string) {
	tb.t.Helper()
	tb.Do("type the name", chromedp.SendKeys(chromedp.CSS("input[name=name]"), name))
	tb.Click("form[action='/login'] button")
}

// Sees waits until the page has an element.
func (tb *Tab) Sees(selector string) {
	tb.t.Helper()
	tb.Do("see "+selector, chromedp.WaitVisible(chromedp.CSS(selector)))
}

// Misses waits until the page no longer has an element.
func (tb *Tab) Misses(selector string) {
	tb.t.Helper()
	tb.Do("miss "+selector, chromedp.WaitNotPresent(chromedp.CSS(selector)))
}

// IsLive waits until the page's stream is open.
func (tb *Tab) IsLive() {
	tb.t.Helper()
	tb.Sees(`whos-online[data-live="on"]`)
}

// Eval returns the value of an expression on the page.
func Eval[T any](tb *Tab, expression string) T {
	tb.t.Helper()
	ctx, cancel := context.WithTimeout(tb.Ctx, forumtest.Patience)
	defer cancel()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		tb.t.Fatalf("evaluate %s: %v", expression, err)
	}
	return value
}

// Note makes the page record the joins and leaves that its elements announce.
func (tb *Tab) Note() {
	tb.t.Helper()
	Eval[[]string](tb, `noted = [], ["join", "leave"].forEach((type) => document.addEventListener("presence:" + type,
		(e) => noted.push(type + " " + e.detail.topic + " " + e.detail.id))), noted`)
}

// Noted returns the records of Note.
func (tb *Tab) Noted() []string {
	tb.t.Helper()
	return Eval[[]string](tb, "noted")
}

// User is the selector of a user in the list of a topic.
func User(topic, id string) string {
	quoted, _ := json.Marshal(id)
	return fmt.Sprintf("whos-online[topic=%q] [data-user=%s]", topic, quoted)
}

// Scripts turns the scripts of the tab's next pages on or off.
func (tb *Tab) Scripts(on bool) {
	tb.t.Helper()
	tb.Do("turn scripts on or off", chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !on})
		return err
	}))
}

// ComesAbout waits until an expression has a value. It uses only expressions, because chromedp has no nodes of
// a page that the browser had kept for the back button.
func (tb *Tab) ComesAbout(expression, want string) {
	tb.t.Helper()
	var got string
	var err error // an error between two pages is ignored
	for deadline := time.Now().Add(forumtest.Patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if got, err = chromedp.Run(tb.Ctx, chromedp.Evaluate[string]("String("+expression+")")); err == nil && got == want {
			return
		}
	}
	tb.t.Fatalf("%s: got %q and error %v, want %q", expression, got, err, want)
}

// AskedSince returns when, after a time, the tab's pages last sent a request to the presence endpoints that
// begins with the given text; zero: not since then.
func (tb *Tab) AskedSince(what string, since time.Time) (at time.Time) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	for i, asked := range tb.at {
		if strings.HasPrefix(tb.sent[i], what) && asked.After(since) {
			at = asked
		}
	}
	return at
}

// Barred returns the reasons why the tab's pages could not be kept for the back button.
func (tb *Tab) Barred() []string {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	return slices.Clone(tb.barred)
}
