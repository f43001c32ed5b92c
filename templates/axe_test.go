package templates_test

import (
	"context"
	"os"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/rollcall-go/rollcall/internal/need"
)

// axeScript returns axe-core, which looks for what keeps people out of a page:
// https://github.com/dequelabs/axe-core.
func axeScript(t *testing.T) string {
	t.Helper()
	script, err := os.ReadFile(need.Package(t, "axe-core/axe.min.js"))
	noError(t, err)
	return string(script)
}

// check fails the test for each fault that axe finds in the page, by all of its
// rules, and where it looked at nothing.
func (b *browser) check(axe, of string) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	type result struct {
		Passes     int
		Violations []string
	}
	b.do(chromedp.Evaluate[chromedp.Void](axe))
	got, err := chromedp.Run(ctx, chromedp.Evaluate[result](`axe.run(document).then(({ passes, violations }) => ({
		Passes: passes.length,
		Violations: violations.flatMap(({ id, help, nodes }) => nodes.map(({ html, failureSummary }) => [id, help, html, failureSummary].join("\n"))),
	}))`, chromedp.EvalAwaitPromise))
	noError(b, err)
	if got.Passes < 10 {
		b.Errorf("%s: got %d rules that axe could hold against the page, want more", of, got.Passes)
	}
	for _, v := range got.Violations {
		b.Errorf("%s: axe says %s", of, v)
	}
}
