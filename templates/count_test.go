package templates_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
	"github.com/rollcall-go/rollcall/templates"
)

// A list of fifty threads on a slow store comes at once, and says of none that nobody
// is there.
func TestCountsOfASlowStore(t *testing.T) {
	bubble(t, templates.Config{}, func(s *site) {
		topics := make([]string, 50)
		for i := range topics {
			topics[i] = fmt.Sprintf("thread:%d", i)
			s.tracker.Seen(presence.Topic(topics[i]), user("alice"), presence.Device{})
		}
		time.Sleep(time.Second)
		s.store.Break(presencetest.Fault{Delay: 40 * time.Millisecond}, presencetest.CallSnapshot)
		views := s.views(`{{range .}}{{onlineTotal .}} {{end}}`)
		for i, want := range []string{"1 " + strings.Repeat("– ", 49), strings.Repeat("1 ", 50)} {
			began := time.Now()
			var b strings.Builder
			noError(t, views.Execute(&b, "page", topics, requestOf(guest)))
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
			noError(t, s.views(view).Execute(&b, "page", topic, requestOf(guest)))
			if got := b.String(); got != want {
				t.Errorf("%s: got %q, want %q", topic, got, want)
			}
		}
	})
	if got := []string{templates.Unknown.String(), templates.Count(1234).String()}; got[0] != "–" || got[1] != "1234" {
		t.Errorf("got %q, want – and 1234", got)
	}
}

// threads are topics of which n have a user, as many as their number is even.
func (s *site) threads(n int) []string {
	s.Helper()
	topics := make([]string, n)
	for i := range topics {
		topics[i] = fmt.Sprintf("thread:%d", i)
		if i%2 == 0 {
			s.tracker.Seen(presence.Topic(topics[i]), user("alice"), presence.Device{})
		}
	}
	time.Sleep(time.Second)
	return topics
}

// A list of a hundred threads costs one round trip, on the first page after a start too, and
// loads no roster.
func TestCountsOfAList(t *testing.T) {
	const list = `{{range .}}{{onlineCount .}}{{end}}`
	const totals = `{{prefetchCounts .}}{{range .}}{{if gt (onlineTotal .) 0}}{{onlineCount .}}{{end}}{{end}}`
	for _, view := range []string{list, totals} {
		bubble(t, templates.Config{}, func(s *site) {
			topics := s.threads(100)
			first := track.Config{Logger: s.tracker.Config().Logger}
			tracker, err := track.New(s.store, first) // a node that has just started
			noError(t, err)
			defer tracker.Close(context.Background())
			time.Sleep(1200 * time.Millisecond) // between two rounds of housekeeping
			calls := func(of ...presencetest.Call) (n int) {
				for _, call := range of {
					n += s.store.Calls(call)
				}
				return n
			}
			counted, loaded := calls(presencetest.CallCounts), calls(presencetest.CallSnapshot, presencetest.CallWatch, presencetest.CallLog)
			var b strings.Builder
			noError(t, newWidgets(t, parse(view), tracker, s.cfg).Execute(&b, "page", topics, requestOf(guest)))
			if n := calls(presencetest.CallCounts) - counted; n != 1 {
				t.Errorf("%s: got %d round trips for figures, want 1", view, n)
			}
			if n := calls(presencetest.CallSnapshot, presencetest.CallWatch, presencetest.CallLog) - loaded; n != 0 {
				t.Errorf("%s: got %d calls for rosters, want none", view, n)
			}
			page := strings.Replace(b.String(), ` me=""`, "", 1)
			for i, topic := range topics {
				want := fmt.Sprintf(`topic="%s" value="%d" src="/presence">%[2]d</online-count>`, topic, 1-i%2)
				if there := strings.Contains(page, want); there != (view == list || i%2 == 0) {
					t.Errorf("%s: %s is there: %v, in\n%s", view, want, there, page)
				}
			}
		})
	}
}

// Everywhere on a page a topic has one number: beside a widget of the same topic a count is
// that of the widget. The site's own count has the visitor.
func TestCountsAgree(t *testing.T) {
	bubble(t, templates.Config{}, func(s *site) {
		s.see("thread:1", members...)
		page := s.page(`{{onlineCount "thread:1"}}{{whosOnline "thread:1"}}{{onlineCount "thread:1"}}`, guest)
		if n := strings.Count(page, fmt.Sprintf(`value="%d" src="/presence"`, len(members))); n != 2 {
			t.Errorf("got\n%s\nwant the count twice", page)
		}
		if got, want := s.page(`{{onlineCount "site"}}`, me), `topic="site" value="1" me="`+string(me.ID)+`">1</online-count>`; !strings.HasSuffix(got, want) {
			t.Errorf("got %s, want it to end with %s", got, want)
		}
	})
}

// A Page asks for the topics of a list at once, if it is told of them before.
func TestPrefetchCounts(t *testing.T) {
	bubble(t, templates.Config{}, func(s *site) {
		topics := s.threads(10)
		page := newWidgets(t, nil, s.tracker, s.cfg).Page(requestOf(guest))
		asked := s.store.Calls(presencetest.CallCounts)
		page.PrefetchCounts(topics[:5], presence.Topic("thread:5"), topics[6:], "site")
		for i, topic := range topics {
			if got, want := page.Total(topic), templates.Count(1-i%2); got != want {
				t.Errorf("%s: got %v, want %v", topic, got, want)
			}
		}
		if n := s.store.Calls(presencetest.CallCounts) - asked; n > 1 {
			t.Errorf("got %d round trips, want 1", n)
		}
	})
}

// Counts that the store does not tell in time are unknown, and the page comes.
func TestUnknownCounts(t *testing.T) {
	bubble(t, templates.Config{}, func(s *site) {
		s.store.Break(presencetest.Fault{Delay: time.Hour}, presencetest.CallCounts)
		began := time.Now()
		page := s.page(`{{onlineCount "thread:1"}}{{prefetchCounts "thread:2"}}{{onlineTotal "thread:2"}}`, guest)
		if took := time.Since(began); took > 60*time.Millisecond {
			t.Errorf("the page took %v", took)
		}
		if want := `topic="thread:1" value="" src="/presence" me="">–</online-count>–`; !strings.HasSuffix(page, want) {
			t.Errorf("got %s, want it to end with %s", page, want)
		}
	})
}
