package templates_test

import (
	"html"
	"html/template"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/templates"
)

// dangerous is a text that ends strings, attributes and scripts, unless it is escaped.
const dangerous = "il y a 1 ' \" ` ${x} \\ </script> --> > = minute"

// Whatever the context, a page shows the same text when the store had to be asked as when
// the answer was in memory.
func TestLastSeenInEveryContext(t *testing.T) {
	cfg := templates.Config{Texts: templates.Texts{JustNow: dangerous}}
	const quoted = "'\"`\\<>={}$"
	for _, tt := range []struct {
		view, start, end string
		never            string // characters that the text must not have there
	}{
		{`<p>{{lastSeen .}}</p>`, `me="">`, "</last-seen></p>", "<>"},
		{`<p>{{lastSeen . | printf "%s"}}</p>`, `&#34;&gt;`, "&lt;/last-seen&gt;</p>", quoted},
		{`<p title="{{lastSeen .}}">`, `<p title="`, `">`, quoted},
		{`<p title='{{lastSeen .}}'>`, `<p title='`, `'>`, quoted},
		{`<p title={{lastSeen .}}>`, `<p title=`, `>`, quoted + " "},
		{`<p title="{{lastSeen .}}"></last-seen>`, `<p title="`, `"></last-seen>`, quoted},
		{"<script>x = {{lastSeen .}}\n</script>", `\"\u003e`, "\\u003c/last-seen\\u003e\"\n</script>", quoted},
		{"<script>x = '{{lastSeen .}}'\n</script>", `\u0022\u003e`, "\\u003c\\/last-seen\\u003e'\n</script>", quoted},
		{`<p onclick="x({{lastSeen .}})">`, `\&#34;\u003e`, "\\u003c/last-seen\\u003e&#34;)\">", quoted},
		{`<title>{{lastSeen .}}</title>`, `&#34;&gt;`, "&lt;/last-seen&gt;</title>", quoted},
		{`<textarea>{{lastSeen .}}</textarea>`, `&#34;&gt;`, "&lt;/last-seen&gt;</textarea>", quoted},
		{`<a href=/{{lastSeen .}}>`, `%22%3e`, `%3c/last-seen%3e>`, quoted + " "},
		{`<a href="/?q={{lastSeen .}}">`, `%22%3e`, `%3c%2flast-seen%3e">`, quoted},
	} {
		bubble(t, cfg, func(s *site) {
			s.absent(1)
			views := s.views(tt.view)
			asked := s.store.Calls(presencetest.CallSightings)
			for range 2 { // from the store, and from memory
				var b strings.Builder
				noError(t, views.Execute(&b, "page", names(1)[0], requestOf(guest)))
				_, text, ok := strings.Cut(b.String(), tt.start)
				text, found := strings.CutSuffix(text, tt.end)
				if !ok || !found {
					t.Errorf("%s: got\n%s\nwant %q before the text and %q after it", tt.view, b.String(), tt.start, tt.end)
				}
				if s.store.Calls(presencetest.CallSightings) == asked+1 {
					if got := html.UnescapeString(text); got != dangerous {
						t.Errorf("%s: got %q, want %q", tt.view, got, dangerous)
					}
					if strings.Contains(tt.never, " ") && strings.Contains(b.String()[3:], " ") {
						t.Errorf("%s: got %s, want no space after its name", tt.view, b.String())
					}
					if strings.ContainsAny(text, tt.never) {
						t.Errorf("%s: got %q, want none of %s in it", tt.view, text, tt.never)
					}
				}
				asked--
			}
		})
	}
}

// A user cannot write a marker: each page has its own, and a text that looks like the
// marker of an earlier page stays what it is.
func TestUsersCannotWriteMarkers(t *testing.T) {
	bubble(t, templates.Config{}, func(s *site) {
		s.store.Break(presencetest.Fault{Err: errOut}, presencetest.CallSightings)
		var seen []string
		spy := func(html template.HTML) string {
			seen = append(seen, string(html))
			return ""
		}
		views := template.Must(template.New("page").Funcs(templates.Funcs()).Funcs(template.FuncMap{"spy": spy}).
			Parse(`{{spy (lastSeen "a")}}<p>{{.}}</p>{{lastSeen "b"}}`))
		widgets := newWidgets(s, views, s.tracker, s.cfg)
		marker := regexp.MustCompile(`">(\w+)</last-seen>`)
		text := "first"
		for range 3 {
			var b strings.Builder
			noError(t, widgets.Execute(&b, "page", text, requestOf(guest)))
			has(t, b.String(), "<p>"+text+"</p>", `data-presence-seen="b" datetime="" title="" me=""></last-seen>`)
			found := marker.FindStringSubmatch(seen[len(seen)-1])
			if found == nil || len(found[1]) < 26 {
				t.Fatalf("got %q, want a marker of 128 bits", seen)
			}
			if found[1] == text {
				t.Errorf("got the marker %q on two pages", text)
			}
			text = found[1]
			time.Sleep(2 * time.Second) // until the store is asked again
		}
	})
}

// A template that cuts a marker off harms nothing else.
func TestMarkersThatAreCutOff(t *testing.T) {
	bubble(t, templates.Config{}, func(s *site) {
		s.absent(1)
		views := template.Must(template.New("page").Funcs(templates.Funcs()).Funcs(template.FuncMap{
			"cut": func(n int, html template.HTML) template.HTML { return html[:len(html)-n] },
		}).Parse(`{{range $i, $ := .}}{{cut $i (lastSeen "user-0000")}}|{{end}}{{lastSeen "user-0000"}}`))
		var b strings.Builder
		noError(t, newWidgets(s, views, s.tracker, s.cfg).Execute(&b, "page", make([]int, 45), requestOf(guest)))
		if !strings.HasSuffix(b.String(), ">just now</last-seen>") {
			t.Errorf("got %q, want it to end as ever", b.String())
		}
	})
}
