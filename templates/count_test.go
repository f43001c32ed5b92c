package templates_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/templates"
)

// A list of fifty threads on a slow store comes at once, and says of none that nobody
// is there.
func TestCountsOfASlowStore(t *testing.T) {
	bubble(t, templates.Config{}, func(s *site) {
		topics := make([]string, 50)
		for i := range topics {
			topics[i] = fmt.Sprintf("thread:%d", i)
			s.tracker.Seen(presence.Topic(topics[i]), user("alice"))
		}
		time.Sleep(time.Second)
		s.store.Break(presencetest.Fault{Delay: 40 * time.Millisecond}, presencetest.CallSnapshot)
		views := s.views(`{{range .}}{{onlineTotal .}} {{end}}`)
		for i, want := range []string{"1 " + strings.Repeat("– ", 49), strings.Repeat("1 ", 50)} {
			began := time.Now()
			var b strings.Builder
			if err := views.Execute(&b, "page", topics, requestOf(guest)); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(began); b.String() != want || took > 50*time.Millisecond {
				t.Errorf("page %d: got %q after %v, want %q within 50ms", i, b.String(), took, want)
			}
			time.Sleep(100 * time.Millisecond) // the topics are loaded behind the page's back
		}
	})
}

// A total is compared like any number, and unknown is no number.
func TestTotal(t *testing.T) {
	const view = `{{with onlineTotal .}}{{if .Known}}{{.}} here{{else}}unknown, shown as {{.}}{{end}}{{else}}nobody{{end}}` +
		`|{{if gt (onlineTotal .) 1}}many{{end}}|{{if eq (onlineTotal .) 0}}none{{end}}|{{printf "%d" (onlineTotal .)}}|<a title="{{onlineTotal .}}">`
	bubble(t, templates.Config{}, func(s *site) {
		s.see(presence.Site, members...)
		s.see("thread:1", members[0])
		s.see("thread:2")
		s.store.Break(presencetest.Fault{Err: errOut})
		for topic, want := range map[string]string{
			"site":     `3 here|many||3|<a title="3">`,
			"thread:1": `1 here|||1|<a title="1">`,
			"thread:2": `nobody||none|0|<a title="0">`,
			"thread:3": `unknown, shown as –|||-1|<a title="–">`,
		} {
			var b strings.Builder
			if err := s.views(view).Execute(&b, "page", topic, requestOf(guest)); err != nil {
				t.Fatal(err)
			}
			if got := b.String(); got != want {
				t.Errorf("%s: got %q, want %q", topic, got, want)
			}
		}
	})
	if got := []string{templates.Unknown.String(), templates.Count(1234).String()}; got[0] != "–" || got[1] != "1234" {
		t.Errorf("got %q, want – and 1234", got)
	}
}
