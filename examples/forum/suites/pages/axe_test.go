package pages_test

import (
	"context"
	"os"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/rollcall-go/rollcall/examples/forum/internal/forumtest"
	"github.com/rollcall-go/rollcall/examples/forum/suites/internal/forumtab"
	"github.com/rollcall-go/rollcall/internal/need"
)

// axeScript returns axe-core, which looks for what keeps people out of a page:
// https://github.com/dequelabs/axe-core.
func axeScript(t *testing.T) string {
	t.Helper()
	script, err := os.ReadFile(need.Package(t, "axe-core/axe.min.js"))
	if err != nil {
		t.Fatal(err)
	}
	return string(script)
}

// hasNoFault fails the test for each fault that axe finds in the page.
func hasNoFault(t *testing.T, tb *forumtab.Tab, axe, page string) {
	t.Helper()
	tb.Do("load axe", chromedp.Evaluate[chromedp.Void](axe))
	ctx, cancel := context.WithTimeout(tb.Ctx, forumtest.Patience)
	defer cancel()
	faults, err := chromedp.Run(ctx, chromedp.Evaluate[[]string](`axe.run(document).then(({ passes, violations }) => [
		...(passes.length < 10 ? ["axe held only " + passes.length + " rules against it"] : []),
		...violations.flatMap(({ id, help, nodes }) => nodes.map(({ html, failureSummary }) => [id, help, html, failureSummary].join("\n"))),
	])`, chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range faults {
		t.Errorf("%s: %s", page, fault)
	}
}
