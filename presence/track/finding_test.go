package track_test

import (
	"bytes"
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
)

// A finding of every request is one line a minute, and is counted each time.
func TestFindings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var logs bytes.Buffer
		tracker := start(t, memstore.New(), track.Config{Logger: slog.New(slog.NewTextHandler(&logs, nil))})
		if got := tracker.Staff().Diagnose(); got != nil {
			t.Errorf("at the start: got %v, want nothing", got)
		}
		for range 119 {
			tracker.Found(presence.BeatsRefused, "status", 403)
			time.Sleep(time.Second)
		}
		tracker.Found(presence.WrongPrefix)
		if got := strings.Count(logs.String(), "finding=beats-refused status=403"); got != 2 {
			t.Errorf("got %d lines in two minutes, want 2:\n%s", got, &logs)
		}
		got := tracker.Staff().Diagnose()
		want := []presence.Diagnosis{
			{Finding: presence.WrongPrefix, Times: 1, Last: time.Now()},
			{Finding: presence.BeatsRefused, Times: 119, Last: time.Now().Add(-time.Second)},
		}
		if len(got) != 2 || got[0].Finding != want[0].Finding || got[1].Times != want[1].Times || !got[0].Last.Equal(want[0].Last) || !got[1].Last.Equal(want[1].Last) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}

// Each finding has a name for metrics, unlike the others', and a text on one line for logs
// and browsers.
func TestFindingsHaveNamesAndTexts(t *testing.T) {
	names := make(map[string]bool)
	for i, f := range presence.Findings() {
		if f != presence.Finding(i) || names[f.String()] || !regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`).MatchString(f.String()) {
			t.Errorf("finding %d: got the name %q of %d, want one in lower case that no other has", i, f, f)
		}
		names[f.String()] = true
		if text := f.Text(); !regexp.MustCompile(`^[A-Z][ -~]*\. [A-Z][ -~]*\.$`).MatchString(text) {
			t.Errorf("%s: got the text %q, want sentences of one line", f, text)
		}
	}
}
