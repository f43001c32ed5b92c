package templates_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
	"github.com/rollcall-go/rollcall/presence/track/tracktest"
	"github.com/rollcall-go/rollcall/templates"
)

// keeps is a site that keeps all that there is of its topic.
var keeps = track.Config{Kinds: map[string]presence.Kind{
	"site":  {Peak: true, Bots: true, Active: true, Recent: 1000},
	"rules": {CountOnly: true},
}}

// inner returns the content of the first part on a page.
func inner(page string) string {
	_, rest, _ := strings.Cut(page, "<presence-part ")
	_, rest, _ = strings.Cut(rest, ">")
	content, _, _ := strings.Cut(rest, "</presence-part>")
	return content
}

// The recently active have their names, the latest first, and when that was. Who is online
// is said to be.
func TestRecentlyActive(t *testing.T) {
	bubbleOf(t, keeps, templates.Config{}, func(s *site) {
		s.see(presence.Site, presence.User{ID: "bob", Name: "B<b>ob", URL: "/people/bob", Group: "staff"})
		s.see(presence.Site, presence.User{ID: "carol", URL: "javascript:alert(1)"}, presence.User{ID: "eve", Status: presence.Invisible})
		time.Sleep(6 * time.Minute) // page views hold for five
		if _, err := s.tracker.Sweep(context.Background()); err != nil {
			s.Fatal(err)
		}
		time.Sleep(time.Second)
		s.see(presence.Site, user("dora"))
		page := s.page(`{{recentlyActive "site"}}`, guest)
		if want := `<presence-part class="presence-part presence-recent" src="/presence/widget?max=50&amp;part=recent&amp;topic=site">`; !strings.HasPrefix(page, want) {
			t.Errorf("got\n%s\nwant it to begin with\n%s", page, want)
		}
		want := `<ul class="presence-names" role="list">` +
			`<li data-recent="dora"><span class="presence-link"><bdi>dora</bdi></span>, <span class="presence-now">online now</span></li>` +
			`<li data-recent="carol"><span class="presence-link"><bdi>carol</bdi></span>, <time datetime="2000-01-01T00:00:01Z" title="2000-01-01 00:00 UTC">6 minutes ago</time></li>` +
			`<li data-recent="bob" data-group="staff"><a class="presence-link" href="/people/bob"><bdi>B&lt;b&gt;ob</bdi></a>, <time datetime="2000-01-01T00:00:00Z" title="2000-01-01 00:00 UTC">6 minutes ago</time></li></ul>`
		if got := inner(page); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	})
}

// A part names as many users as it is told, and counts the rest.
func TestRecentlyActiveIsBounded(t *testing.T) {
	bubbleOf(t, keeps, templates.Config{}, func(s *site) {
		s.see(presence.Site, crowd(60)...)
		for view, want := range map[string][2]int{
			`{{recentlyActive "site"}}`:                         {50, 10},
			`{{recentlyActive "site" "max" 3}}`:                 {3, 57},
			`{{recentlyActive "site" "max" 60 "within" "24h"}}`: {60, 0},
			`{{recentlyActive "site" "max" 0}}`:                 {0, 60},
		} {
			got := s.page(view, guest)
			rest := fmt.Sprintf(`<p class="presence-more">and %d more</p>`, want[1])
			if n := strings.Count(got, "data-recent="); n != want[0] || strings.Contains(got, "presence-more") != (want[1] > 0) || want[1] > 0 && !strings.Contains(got, rest) {
				t.Errorf("%s: got %d names and\n%s\nwant %d and %d more", view, n, got, want[0], want[1])
			}
		}
	})
}

// A day is longer than a period of page views.
func TestRecentlyActiveWithinADay(t *testing.T) {
	bubbleOf(t, keeps, templates.Config{}, func(s *site) {
		s.see(presence.Site, user("bob"))
		for _, d := range []time.Duration{10 * time.Minute, 9*time.Hour + 40*time.Minute, 10 * time.Minute} {
			s.restartAfter(d)
			time.Sleep(8 * time.Second) // a node that has just begun leaves alone what others may renew
			s.tracker.Sweep(context.Background())
			s.tracker.Age(context.Background())
		}
		if got, want := inner(s.page(`{{recentlyActive "site"}}`, guest)), `<p class="presence-empty">Nobody.</p>`; got != want {
			t.Errorf("of late: got\n%s\nwant\n%s", got, want)
		}
		if got, want := inner(s.page(`{{recentlyActive "site" "within" "24h"}}`, guest)), "10 hours ago"; !strings.Contains(got, want) || !strings.Contains(got, "bob") {
			t.Errorf("within a day: got\n%s\nwant bob, %s", got, want)
		}
	})
}

// Who is online stands before who is not, also when another viewed a page later and left.
func TestRecentlyActiveOnlineFirst(t *testing.T) {
	bubbleOf(t, keeps, templates.Config{}, func(s *site) {
		tracktest.Stream(s, s.tracker, user("alice"))
		time.Sleep(time.Second)
		s.see(presence.Site, user("bob"))
		time.Sleep(time.Second)
		s.see(presence.Site, user("carol"))
		time.Sleep(time.Minute)
		s.see(presence.Site, user("dora"))
		s.leave("dora")
		page := s.page(`{{recentlyActive "site" "within" "24h"}}`, guest)
		var names []string
		for _, item := range strings.Split(page, `data-recent="`)[1:] {
			name, _, _ := strings.Cut(item, `"`)
			names = append(names, name)
		}
		if got, want := strings.Join(names, " "), "carol bob alice dora"; got != want {
			t.Errorf("got %s, want %s\n%s", got, want, page)
		}
	})
}

// Mistakes in a template are errors that name them.
func TestPartsRefuseMistakes(t *testing.T) {
	for view, want := range map[string]string{
		`{{recentlyActive "a b"}}`:                     presence.ErrInvalidTopic.Error(),
		`{{recentlyActive "site" "max"}}`:              "in pairs",
		`{{recentlyActive "site" "max" "3"}}`:          "must be an int",
		`{{recentlyActive "site" "within" "2h"}}`:      "must be age or 24h",
		`{{recentlyActive "site" "more" "/x"}}`:        "no option more",
		`{{where "within" "24h"}}`:                     "no option within",
		`{{mostOnline "a b"}}`:                         presence.ErrInvalidTopic.Error(),
		`{{prefetchCounts "a b"}}`:                     presence.ErrInvalidTopic.Error(),
		`{{onlineCount "a b"}}`:                        presence.ErrInvalidTopic.Error(),
		`{{whosOnline "site" "about" true "nope" 1 }}`: "no option nope",
	} {
		bubble(t, templates.Config{}, func(s *site) {
			if _, err := s.render(view, guest); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got the error %v, want %q in it", view, err, want)
			}
		})
	}
}

// While the store is out from the start, parts say that they do not know, and the page comes.
func TestPartsOfAStoreThatIsOut(t *testing.T) {
	bubbleOf(t, keeps, templates.Config{Authorize: everybody}, func(s *site) {
		s.store.Break(presencetest.Fault{Err: errors.New("out")})
		began := time.Now()
		page := s.page(`{{recentlyActive "site"}}{{mostOnline "site"}}{{where}}{{whosOnline "site" "about" true}}{{onlineCount "thread:1"}}`, guest)
		if n, took := strings.Count(page, `<p class="presence-unknown">Not known right now.</p>`), time.Since(began); n < 2 || took > 50*time.Millisecond {
			t.Errorf("got after %v\n%s\nwant two parts that do not know", took, page)
		}
		if want := `topic="thread:1" value="" src="/presence">–</online-count>`; !strings.Contains(page, want) {
			t.Errorf("got\n%s\nwant %s in it", page, want)
		}
	})
}

// The record is a sentence with a number and a time in the page's language.
func TestMostOnline(t *testing.T) {
	bubbleOf(t, keeps, templates.Config{}, func(s *site) {
		s.restartAfter(6*time.Hour + 57*time.Minute)
		s.see(presence.Site, members...)
		time.Sleep(time.Hour)
		s.leave(members[0].ID)
		time.Sleep(2 * time.Second)
		want := fmt.Sprintf(`<p>Most users ever online: <data value="%d">%d</data>, <time datetime="2000-01-01T06:57:00Z" title="2000-01-01 06:57 UTC">1 January 2000, 06:57 UTC</time></p>`, len(members), len(members))
		if got := inner(s.page(`{{mostOnline "site"}}`, guest)); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
		if got := inner(s.page(`{{mostOnline "thread:1"}}`, guest)); got != "" {
			t.Errorf("of a topic that keeps none: got %q", got)
		}
		s.cfg.Texts = templates.Texts{Lang: "de", Record: "Rekord: {n} am {time}", Moment: "{day}. {month} {year}", Months: [12]string{"Januar"}}
		if got, want := inner(s.page(`{{mostOnline "site"}}`, guest)), `>1. Januar 2000</time>`; !strings.Contains(got, want) {
			t.Errorf("got\n%s\nwant %s in it", got, want)
		}
	})
}

// Bots stand in the widget of a topic whose kind counts them, by name and number.
func TestBots(t *testing.T) {
	bubbleOf(t, keeps, templates.Config{}, func(s *site) {
		page := s.page(`{{whosOnline "site"}}{{whosOnline "thread:1"}}`, guest)
		if n := strings.Count(page, "part=bots"); n != 1 || inner(page) != "" {
			t.Errorf("without bots: got\n%s\nwant one part without content", page)
		}
		for id, name := range map[string]string{"1": "Googlebot", "2": "Googlebot", "3": "Bingbot", "4": "A<b>"} {
			s.tracker.SeenBot(presence.Site, name, id)
		}
		time.Sleep(6 * time.Second)
		want := `<p>Bots: <span>Googlebot (2)</span>, <span>A&lt;b&gt; (1)</span>, <span>Bingbot (1)</span></p>`
		if got := inner(s.page(`{{whosOnline "site"}}`, guest)); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	})
}

// Of a count-only topic the widget shows figures, whatever the template asks for.
func TestCountOnlyTopic(t *testing.T) {
	bubbleOf(t, keeps, templates.Config{}, func(s *site) {
		s.see("rules", members...)
		for _, view := range []string{`{{whosOnline "rules"}}`, `{{whosOnline "rules" "max" 50 "about" true}}`, `{{whosOnline "rules" "form" "compact"}}`} {
			page := s.page(view, guest)
			for _, want := range []string{` max="0"`, fmt.Sprintf(`<data value="%d" data-count="online">`, len(members))} {
				if !strings.Contains(page, want) {
					t.Errorf("%s: got\n%s\nwant %s in it", view, page, want)
				}
			}
			if strings.Contains(page, "data-user") || strings.Contains(page, "presence-users") {
				t.Errorf("%s: got names\n%s", view, page)
			}
		}
	})
}
