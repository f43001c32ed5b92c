// Package browse drives a Chromium in tests.
package browse

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/rollcall-go/rollcall/internal/need"
)

// patience is how long a test waits for something that should happen at once. Machines may be busy.
const patience = time.Minute

// lookAgain is the pause between two looks at a page. Without it, a wait takes all of a core.
const lookAgain = 10 * time.Millisecond

// Start returns the first tab of a Chromium of its own, which ends with the test.
func Start(t *testing.T) context.Context {
	t.Helper()
	return start(t, need.Chromium)
}

// StartWindowed is Start with a Chromium that keeps pages for the back button.
func StartWindowed(t *testing.T) context.Context {
	t.Helper()
	return start(t, need.WindowedChromium)
}

func start(t *testing.T, program func(testing.TB) string) context.Context {
	t.Helper()
	need.Slow(t, "it drives a browser")
	ctx, end := launch(program(t))
	t.Cleanup(end)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal("start Chromium: ", err)
	}
	return ctx
}

// userAgent is that of a person's Chromium. By default it says that it is headless, and counts as a crawler.
const userAgent = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36"

// launch returns the first tab of a new Chromium, and a function that ends Chromium.
func launch(program string) (tab context.Context, end func()) {
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program),
		chromedp.NoSandbox, // it does not run as root
		chromedp.UserAgent(userAgent),
		chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-quic", true),
		chromedp.Flag("host-resolver-rules", "MAP *.test 127.0.0.1"), // for sites that are not at localhost
	)
	ctx, stop := chromedp.NewExecAllocator(context.Background(), options...)
	tab, _ = chromedp.NewContext(ctx)
	return tab, func() {
		chromedp.Cancel(tab) // lets Chromium remove its files
		stop()
	}
}

// Fault returns what an event of a tab says is wrong with its page, such as an
// error of a script or a breach of the page's policy, or "".
func Fault(event any) string {
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		d := e.ExceptionDetails
		what := d.Text
		if d.Exception != nil {
			what += " " + d.Exception.Description
		}
		return fmt.Sprintf("%s %s:%d:%d", what, d.URL, d.LineNumber, d.ColumnNumber)
	case *log.EventEntryAdded:
		return fmt.Sprintf("%s %s: %s %s", e.Entry.Source, e.Entry.Level, e.Entry.Text, e.Entry.URL)
	}
	return ""
}

// A Tab is one of a browser. It belongs to one test.
type Tab struct {
	t   *testing.T
	ctx context.Context

	mu       sync.Mutex
	faults   []string
	expected []string // parts of faults that do not fail the test
}

// New opens a tab with a profile of its own in the package's Chromium. The test fails
// when there is a [Fault] in it.
func New(t *testing.T) *Tab {
	t.Helper()
	ctx, end := chromedp.NewContext(Shared(t), chromedp.WithNewBrowserContext())
	t.Cleanup(end)
	tab := &Tab{t: t, ctx: ctx}
	if err := chromedp.Listen(tab.ctx, tab.listen); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		tab.mu.Lock()
		defer tab.mu.Unlock()
		for _, fault := range tab.faults {
			if !slices.ContainsFunc(tab.expected, func(part string) bool { return strings.Contains(fault, part) }) {
				t.Error("in the browser: ", fault)
			}
		}
	})
	return tab
}

func (tab *Tab) listen(event any) {
	tab.mu.Lock()
	defer tab.mu.Unlock()
	if fault := Fault(event); fault != "" {
		tab.faults = append(tab.faults, fault)
	}
}

// Expect names a part of the text of a [Fault] that the test provokes.
func (tab *Tab) Expect(part string) {
	tab.mu.Lock()
	defer tab.mu.Unlock()
	tab.expected = append(tab.expected, part)
}

// SignIn makes the tab send a name by HTTP's basic authentication.
func (tab *Tab) SignIn(name string) {
	tab.t.Helper()
	header := "Basic " + base64.StdEncoding.EncodeToString([]byte(name+":x"))
	params := network.SetExtraHTTPHeadersParams{Headers: network.Headers{"Authorization": header}}
	if _, err := chromedp.Call(tab.ctx, network.SetExtraHTTPHeaders, params); err != nil {
		tab.t.Fatal(err)
	}
}

// Open goes to a page.
func (tab *Tab) Open(url string) {
	tab.t.Helper()
	ctx, cancel := context.WithTimeout(tab.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, chromedp.Navigate(url)); err != nil {
		tab.t.Fatalf("open %s: %v", url, err)
	}
}

// Until waits for an expression to have a value.
func (tab *Tab) Until(expression, want string) {
	tab.t.Helper()
	ctx, cancel := context.WithTimeout(tab.ctx, patience)
	defer cancel()
	var got string
	for ctx.Err() == nil && got != want {
		if s, err := chromedp.Run(ctx, chromedp.Evaluate[string]("String("+expression+")")); err == nil {
			got = s
		}
		if got != want {
			time.Sleep(lookAgain)
		}
	}
	if got != want {
		tab.t.Fatalf("%s: got %q, want %q", expression, got, want)
	}
}
