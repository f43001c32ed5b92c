package sites_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// logged stops a site, and fails the test unless its log has one line a minute for each of
// some texts, in any order, and no other line.
func logged(t *testing.T, p *process, want ...string) {
	t.Helper()
	all := p.stop()
	last := make([]time.Time, len(want)) // when a text was logged
	for line := range strings.Lines(all) {
		i := slices.IndexFunc(want, func(text string) bool { return strings.Contains(line, text) })
		at, err := time.Parse(time.RFC3339, logTime.FindString(line))
		if i < 0 || err != nil || at.Sub(last[i]) < time.Minute {
			t.Errorf("%s: the log has a line that should not be there: %s", p.name, line)
			continue
		}
		last[i] = at
	}
	for i, text := range want {
		if last[i].IsZero() {
			t.Errorf("%s: the log has no line with %q", p.name, text)
		}
	}
}

// logTime finds the time of a line.
var logTime = regexp.MustCompile(`20\d\d-[0-9T:.-]+Z`)
