// Package browse drives a Chromium in the tests of small examples.
package browse

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// patience is how long a test waits for what should come at once.
const patience = 10 * time.Second

// Packages returns where npm has put the packages that others wrote. Without them
// the test is skipped, or fails where PRESENCE_REQUIRE lists npm.
func Packages(t *testing.T) string {
	t.Helper()
	const dir = "../../.ci/clients/node_modules"
	if _, err := os.Stat(dir); err != nil {
		missing(t, "npm", "the npm packages are missing: .ci/test gets them")
	}
	return dir
}

// missing skips the test, or fails it where what it needs is required.
func missing(t *testing.T, need, why string) {
	t.Helper()
	if slices.Contains(strings.Split(os.Getenv("PRESENCE_REQUIRE"), ","), need) {
		t.Fatal(why)
	}
	t.Skip(why)
}

// A Tab is one of a browser. It belongs to one test.
type Tab struct {
	t   *testing.T
	ctx context.Context

	mu     sync.Mutex
	faults []string
}

// New starts a browser with one tab. The test fails when its pages throw, or the
// browser has something to complain of, such as a breach of their policy.
func New(t *testing.T) *Tab {
	t.Helper()
	var program string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			program = path
			break
		}
	}
	if program == "" {
		missing(t, "chromium", "chromium is missing")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.NoSandbox,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true))
	ctx, stop := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(stop)
	ctx, _ = chromedp.NewContext(ctx)
	t.Cleanup(func() { chromedp.Cancel(ctx) })
	tab := &Tab{t: t, ctx: ctx}
	if err := chromedp.Listen(ctx, tab.listen); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		tab.mu.Lock()
		defer tab.mu.Unlock()
		for _, fault := range tab.faults {
			t.Error("in the browser: ", fault)
		}
	})
	return tab
}

func (tab *Tab) listen(e any) {
	tab.mu.Lock()
	defer tab.mu.Unlock()
	switch e := e.(type) {
	case *runtime.EventExceptionThrown:
		tab.faults = append(tab.faults, fmt.Sprintf("%s %s:%d", e.ExceptionDetails.Text, e.ExceptionDetails.URL, e.ExceptionDetails.LineNumber))
	case *log.EventEntryAdded:
		tab.faults = append(tab.faults, fmt.Sprintf("%s: %s %s", e.Entry.Level, e.Entry.Text, e.Entry.URL))
	}
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
	}
	if got != want {
		tab.t.Fatalf("%s: got %q, want %q", expression, got, want)
	}
}
