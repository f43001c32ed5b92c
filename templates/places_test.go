package templates_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/templates"
)

func everybody(*http.Request, presence.Visitor, presence.Topic) bool { return true }

// placesOf is a site with places of each sort: thread:2 is for members alone, and thread:3
// has no title.
func placesOf(s *site) {
	s.cfg = templates.Config{
		Authorize: func(_ *http.Request, v presence.Visitor, topic presence.Topic) bool {
			return topic != "thread:2" || v.SignedIn()
		},
		Title: func(_ context.Context, topic presence.Topic) string {
			return map[presence.Topic]string{"thread:1": "On <b>beans", "thread:2": "On peas", "thread:4": "On leeks"}[topic]
		},
		Link: func(_ context.Context, topic presence.Topic) string {
			return map[presence.Topic]string{"thread:1": "/threads/1", "thread:2": "/threads/2", "thread:3": "/threads/3", "thread:4": "javascript:alert(1)"}[topic]
		},
	}
	see := func(topic presence.Topic, users ...string) {
		for _, id := range users {
			s.see(presence.Site, user(id))
			s.see(topic, presence.User{ID: presence.UserID(id), Name: strings.ToUpper(id), Group: "staff"})
		}
	}
	see("thread:1", "a1", "a2", "a3", "a4")
	see("thread:2", "b1", "b2", "b3")
	see("thread:3", "c1", "c2")
	see("thread:4", "d1")
	time.Sleep(3 * time.Second)
}

// A page shows the places that its visitor may see, the fullest first, with their users. It
// does not show the site's own topic, in which everybody is.
func TestWhere(t *testing.T) {
	bubble(t, templates.Config{}, func(s *site) {
		placesOf(s)
		page := s.page(`{{where}}`, guest)
		if want := `<presence-part class="presence-part presence-where" src="/presence/widget?max=50&amp;part=where&amp;topic=site">`; !strings.HasPrefix(page, want) {
			t.Errorf("got\n%s\nwant it to begin with\n%s", page, want)
		}
		got := inner(page)
		for _, want := range []string{
			`<li data-place="thread:1"><a class="presence-place" href="/threads/1"><bdi>On &lt;b&gt;beans</bdi></a> <span class="presence-there"><span><data value="4">4</data> members here</span></span>`,
			`<li data-person="a4" data-group="staff"><span class="presence-link"><bdi>A4</bdi></span></li>`,
			`<li data-place="thread:3"><span class="presence-place">elsewhere</span> `,
			`<li data-place="thread:4"><bdi class="presence-place">On leeks</bdi> `,
		} {
			if !strings.Contains(got, want) {
				t.Errorf("got\n%s\nwant it to contain\n%s", got, want)
			}
		}
		if strings.Contains(got, "thread:2") || strings.Contains(got, "peas") || strings.Contains(got, "b1") {
			t.Errorf("a guest reads of a place for members:\n%s", got)
		}
		if strings.Contains(got, `data-place="site"`) {
			t.Errorf("the site is a place:\n%s", got)
		}
		if got := s.page(`{{where}}`, me); !strings.Contains(got, "On peas") || strings.Index(got, "thread:1") > strings.Index(got, "thread:2") {
			t.Errorf("a member: got\n%s\nwant On peas after On beans", got)
		}
		if got := s.page(`{{where "max" 1}}`, guest); strings.Count(got, "data-place=") != 1 {
			t.Errorf("of one place: got\n%s", got)
		}
		s.cfg.Authorize = nil
		if got, want := inner(s.page(`{{where}}`, me)), `<p class="presence-empty">Nobody is anywhere in particular.</p>`; got != want {
			t.Errorf("without Authorize: got\n%s\nwant\n%s", got, want)
		}
	})
}

// Of a place with more users than are named the rest is counted.
func TestWhereCountsTheRest(t *testing.T) {
	bubble(t, templates.Config{Authorize: everybody}, func(s *site) {
		s.see("thread:1", crowd(14)...)
		time.Sleep(3 * time.Second)
		got := inner(s.page(`{{where}}`, guest))
		if n := strings.Count(got, "data-person="); n != 10 || !strings.Contains(got, `<li class="presence-more">and 4 more</li>`) || !strings.Contains(got, "<bdi class=\"presence-place\">thread:1</bdi>") {
			t.Errorf("got %d names in\n%s\nwant 10 and 4 more", n, got)
		}
	})
}

// Beside a name the widget says since when the user is there, when the user last viewed a
// page, and where the user is if the visitor may know that. The part of it says the same.
func TestAbout(t *testing.T) {
	bubbleOf(t, keeps, templates.Config{}, func(s *site) {
		placesOf(s)
		time.Sleep(3 * time.Minute)
		const view = `{{whosOnline "site" "about" true}}`
		beside := func(page, id string) string {
			_, rest, _ := strings.Cut(page, `data-user="`+id+`"`)
			_, rest, _ = strings.Cut(rest, `<span class="presence-about">`)
			about, _, _ := strings.Cut(rest, "</span></li>")
			return about
		}
		page := s.page(view, guest)
		for id, want := range map[string]string{
			"a1": `<a class="presence-place" href="/threads/1"><bdi>On &lt;b&gt;beans</bdi></a>`,
			"c1": `<span class="presence-place">elsewhere</span>`,
			"b1": ``,
		} {
			got := beside(page, id)
			for _, want := range []string{`<span>since <time datetime="2000-01-01T00:00:`, `<span>active <time datetime="2000-01-01T00:00:00Z" title="2000-01-01 00:00 UTC">3 minutes ago</time></span>`, want} {
				if !strings.Contains(got, want) {
					t.Errorf("%s: got\n%s\nwant it to contain\n%s", id, got, want)
				}
			}
			if strings.Contains(got, "presence-place") != (want != "") {
				t.Errorf("%s: got\n%s\nwant the place %q", id, got, want)
			}
			part := body(t, s.get("GET", "/widget?part=about&topic=site&max=100"))
			if want := `<span data-about="` + id + `">` + got + "</span>\n"; !strings.Contains(part, want) {
				t.Errorf("%s: got the part\n%s\nwant it to contain\n%s", id, part, want)
			}
		}
		if got := beside(s.page(view, me), "b1"); !strings.Contains(got, "On peas") {
			t.Errorf("a member: got\n%s\nwant On peas", got)
		}
		if got := s.page(`{{whosOnline "site"}}`, guest); strings.Contains(got, "presence-about") || strings.Contains(got, "data-about") {
			t.Errorf("without the option: got\n%s", got)
		}
		if want := `<presence-part data-about src="/presence/widget?max=100&amp;part=about&amp;topic=site" hidden></presence-part>`; !strings.Contains(page, want) {
			t.Errorf("got\n%s\nwant it to contain\n%s", page, want)
		}
	})
}

// A panic of the site's code about one topic hides that topic, and no page fails.
func TestWhereWithMistakesOfTheSite(t *testing.T) {
	bubble(t, templates.Config{}, func(s *site) {
		placesOf(s)
		title := s.cfg.Title
		s.cfg.Title = func(ctx context.Context, topic presence.Topic) string {
			if topic == "thread:1" {
				panic("the site's mistake")
			}
			return title(ctx, topic)
		}
		if got := s.page(`{{where}}`, guest); strings.Contains(got, "thread:1") || !strings.Contains(got, `data-place="thread:4"`) {
			t.Errorf("got\n%s\nwant all places but thread:1", got)
		}
		s.cfg.Authorize = func(*http.Request, presence.Visitor, presence.Topic) bool { panic("the site's mistake") }
		if got := inner(s.page(`{{where}}`, me)); strings.Contains(got, "data-place") {
			t.Errorf("got\n%s\nwant no place", got)
		}
	})
}
