package templates_test

import (
	"html/template"
	"regexp"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed"
	"github.com/rollcall-go/rollcall/templates"
)

func TestNotifications(t *testing.T) {
	bubble(t, templates.Config{NotificationsURL: "/me/inbox?tab=all", MarkURL: "/me/inbox?tab=all"}, func(s *site) {
		from := &someFeeds{head: feed.Head{Rev: 7, Pos: 41, Unread: 2, Unseen: 1}, items: items()}
		golden(t, "notifications", s.feedOf(from, `{{notifications}}`, alices))

		few := s.feedOf(from, `{{notifications "max" 2 "label" "Inbox" "mute" true "error" "Try <again>."}}`, alices)
		shows(s.T, few, `<section class="presence not-prose" aria-label="Inbox"><p class="presence-error" role="alert">Try &lt;again&gt;.</p>`,
			`<a href="/me/inbox?before=30&amp;tab=all">Older</a>`, `name="scope" value="about:thread:1" data-slot="scope"><input type="hidden" name="how" value="all"><button name="do" value="mute">Mute<`,
			`value="type:welcome"`)
		hides(s.T, few, `data-pos="22"`, ">Newest<", "data-before")

		older := s.feedOf(from, `{{notifications}}`, requestFor("/me/inbox?before=30", user("alice")))
		shows(s.T, older, `data-before="30"`, `data-pos="22"`, `name="upto" value="22"`, `<a href="/me/inbox?tab=all">Newest</a>`)
		hides(s.T, older, `data-pos="30"`, ">Older<")
		shows(s.T, s.feedOf(from, `{{notifications}}`, requestFor("/?before=-1", user("alice"))), `data-pos="41"`)

		if got := s.feedOf(from, `a{{notifications}}b`, requestOf(guest)); got != "ab" {
			s.Errorf("a guest's: got %q, want nothing", got)
		}
	})
}

// A list says that it is empty, or that it is not known.
func TestNotificationsWithoutItems(t *testing.T) {
	bubble(t, templates.Config{}, func(s *site) {
		empty := s.feedOf(&someFeeds{head: feed.Head{}}, `{{notifications}}`, alices)
		shows(s.T, empty, `<p class="presence-empty">There is nothing here yet.</p><p class="presence-unknown" hidden>`, ` data-unread="0"`,
			`<input type="hidden" name="upto" value="0"><button name="do" value="read" disabled>`)
		out := s.feedOf(&someFeeds{err: feed.ErrOut, head: feed.Head{Rev: 3, Unread: 3}}, `{{notifications}}`, alices)
		shows(s.T, out, `<p class="presence-empty" hidden>`, `<p class="presence-unknown">Not known right now.</p>`, `<data value="" data-count="unread"></data>`, ` disabled>Mark all as read`)
		hides(s.T, out, "data-unread", "cursor=")
	})
	bubble(t, templates.Config{}, func(s *site) {
		began := time.Now()
		s.feedOf(&someFeeds{wait: time.Hour}, `{{notifications}}{{notifications}}`, alices)
		if got, want := time.Since(began), 500*time.Millisecond; got != want {
			s.Errorf("a page about notifications took %v while the database hung, want %v", got, want)
		}
	})
}

// Without script the forms say all that the site needs, and what the site puts into them.
func TestFormsOfNotifications(t *testing.T) {
	bubble(t, templates.Config{}, func(s *site) {
		widgets := s.views(`unused`)
		widgets.FeedsFrom(&someFeeds{head: feed.Head{Rev: 7, Unread: 2}, items: items()})
		got := string(widgets.Page(alices).Notifications("fields", template.HTML(`<input type="hidden" name="csrf" value="x">`)))
		forms := regexp.MustCompile(`(?s)<form .*?</form>`).FindAllString(got, -1)
		if len(forms) != 5 { // of all, of three items, and of the script's
			t.Fatalf("got %d forms, want 5", len(forms))
		}
		for _, form := range forms {
			shows(s.T, form, ` method="post" action="/presence/form/notifications">`, `name="csrf" value="x"`, `name="me" value="alice"`)
		}
		shows(s.T, forms[0], `name="upto" value="41"`, `<button name="do" value="read">Mark all as read</button>`)
		shows(s.T, forms[1], `name="pos" value="41"`, `<button name="do" value="read" data-when="unread">Mark as read<span class="presence-said">: <span data-slot="text">Bob and 3 others replied in “Cats”</span></span></button>`,
			`<button name="do" value="unread" data-when="read" hidden>`, `<button name="do" value="archive">Archive<`)
		shows(s.T, forms[2], `name="pos" value="30"`, `value="read" data-when="unread" hidden>`, `value="unread" data-when="read">`)
		hides(s.T, got, `value="mute"`)
	})
}

// Whatever an item holds, it stays a text, and an address by javascript: is none.
func TestHostileItems(t *testing.T) {
	for _, url := range []string{"javascript:alert(1)", " javascript:alert(1)", "JavaScript:alert(1)", "java\nscript:alert(1)", "data:text/html,x", "vbscript:x", "\x01javascript:x"} {
		evil := `"><script>x</script>&'{actors}`
		item := feed.Item{ID: evil, Pos: 1, Type: evil, About: evil, Text: evil, URL: url, Actors: []feed.Actor{{ID: "x", Name: "<img src=x>{n}{name}"}}, Others: 2}
		bubble(t, templates.Config{}, func(s *site) {
			got := s.feedOf(&someFeeds{head: feed.Head{Unread: 1}, items: []feed.Item{item}}, `{{notifications "mute" true}}`, requestOf(presence.User{ID: `a"<b>`}))
			hides(s.T, got, "<script", "<img", "<b>\"", "href=", `name="me" value="a"`)
			shows(s.T, got, `<a class="presence-text" data-slot="text link" dir="auto">&#34;&gt;&lt;script&gt;x&lt;/script&gt;&amp;&#39;&lt;img src=x&gt;{n}{name} and 2 others</a>`)
		})
	}
	bubble(t, templates.Config{}, func(s *site) { // what does not end is cut by the style
		got := s.feedOf(&someFeeds{items: []feed.Item{{Pos: 1, URL: `/x"onclick="x`, Text: "ok"}}}, `{{notifications}}`, alices)
		shows(s.T, got, ` href="/x&#34;onclick=&#34;x"`)
	})
}
