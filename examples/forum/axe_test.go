package main

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// axeScript returns axe-core, which looks for what keeps people out of a page:
// https://github.com/dequelabs/axe-core. Without the npm packages the test is
// skipped, or fails where PRESENCE_REQUIRE lists npm.
func axeScript(t *testing.T) string {
	t.Helper()
	script, err := os.ReadFile("../../.ci/clients/node_modules/axe-core/axe.min.js")
	if err != nil {
		if slices.Contains(strings.Split(os.Getenv("PRESENCE_REQUIRE"), ","), "npm") {
			t.Fatal("npm is required, and its packages are missing: ", err)
		}
		t.Skip("the npm packages are missing: .ci/test gets them")
	}
	return string(script)
}

// hasNoFault fails the test for each fault that axe finds in the page.
func (tb *tab) hasNoFault(axe, page string) {
	tb.t.Helper()
	tb.do("load axe", chromedp.Evaluate[chromedp.Void](axe))
	ctx, cancel := context.WithTimeout(tb.ctx, patience)
	defer cancel()
	faults, err := chromedp.Run(ctx, chromedp.Evaluate[[]string](`axe.run(document).then(({ passes, violations }) => [
		...(passes.length < 10 ? ["axe held only " + passes.length + " rules against it"] : []),
		...violations.flatMap(({ id, help, nodes }) => nodes.map(({ html, failureSummary }) => [id, help, html, failureSummary].join("\n"))),
	])`, chromedp.EvalAwaitPromise))
	if err != nil {
		tb.t.Fatal(err)
	}
	for _, fault := range faults {
		tb.t.Errorf("%s: %s", page, fault)
	}
}
