package browse

import (
	"context"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/rollcall-go/rollcall/internal/need"
)

// chromium is the Chromium of the package whose tests run.
var chromium struct {
	mu  sync.Mutex
	ctx context.Context // of its first tab; nil: not started
	end func()
	err error // why it could not start
	on  bool  // the tests run within Tests, which ends Chromium
}

// Tests are the tests of a package that share one Chromium, because starting one takes more time than most
// tests. TestMain puts its M into the field M.
type Tests struct{ M interface{ Run() int } }

// Run runs the tests, and then ends their Chromium.
func (tests Tests) Run() int {
	chromium.on = true
	code := tests.M.Run()
	if chromium.end != nil {
		chromium.end()
	}
	return code
}

// Shared returns the first tab of the package's Chromium. A test opens tabs and
// profiles of its own from it, and closes them. Outside [Tests] the Chromium is the
// test's alone.
func Shared(t *testing.T) context.Context {
	t.Helper()
	need.Slow(t, "it drives a browser")
	program := need.Chromium(t)
	chromium.mu.Lock()
	defer chromium.mu.Unlock()
	if !chromium.on {
		return Start(t)
	}
	if chromium.ctx == nil {
		chromium.ctx, chromium.end = launch(program)
		chromium.err = chromedp.Do(chromium.ctx)
	}
	if chromium.err != nil {
		t.Fatal("start Chromium: ", chromium.err)
	}
	return chromium.ctx
}
