package templates_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// client returns the path of a file of a package that others wrote. Without the
// packages the test is skipped, or fails where PRESENCE_REQUIRE lists npm.
func client(t *testing.T, file string) string {
	t.Helper()
	path := filepath.Join("..", ".ci", "clients", "node_modules", file)
	if _, err := os.Stat(path); err != nil {
		if slices.Contains(strings.Split(os.Getenv("PRESENCE_REQUIRE"), ","), "npm") {
			t.Fatal("npm is required, and its packages are missing: ", err)
		}
		t.Skip("the npm packages are missing: .ci/test gets them")
	}
	return path
}

// axeScript returns axe-core, which looks for what keeps people out of a page:
// https://github.com/dequelabs/axe-core.
func axeScript(t *testing.T) string {
	t.Helper()
	script, err := os.ReadFile(client(t, "axe-core/axe.min.js"))
	if err != nil {
		t.Fatal(err)
	}
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
	if err != nil {
		b.Fatal(err)
	}
	if got.Passes < 10 {
		b.Errorf("%s: got %d rules that axe could hold against the page, want more", of, got.Passes)
	}
	for _, v := range got.Violations {
		b.Errorf("%s: axe says %s", of, v)
	}
}
