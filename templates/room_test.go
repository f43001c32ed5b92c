package templates_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/rollcall-go/rollcall/presence/feed"
	"github.com/rollcall-go/rollcall/templates"
)

func TestRoom(t *testing.T) {
	bubble(t, templates.Config{}, func(s *site) {
		widgets := s.views(`{{room "thread:1" . "list" "posts" "template" "new-post"}}`)
		widgets.FeedsFrom(&someFeeds{})
		render := func(data any, r *http.Request) string {
			var b strings.Builder
			if err := widgets.Execute(&b, "page", data, r); err != nil {
				s.Fatal(err)
			}
			return b.String()
		}
		head := feed.Head{Rev: 4, Pos: 16}
		got := render(head, alices)
		golden(t, "room", got)
		shows(s.T, got, ` data-pos="16"`, ` cursor="`+string((&someFeeds{}).Cursor("thread:1", head)))
		if pointed := render(&head, alices); pointed != got {
			s.Errorf("got of a pointer\n%s\nwant\n%s", pointed, got)
		}
		shows(s.T, render(head, requestOf(guest)), `data-feed="feed:thread:1"`, ` me=""`)
		shows(s.T, render(feed.Head{}, alices), ` data-pos="0"`, "cursor=") // it has not begun
		for _, unknown := range []any{nil, (*feed.Head)(nil)} {
			hides(s.T, render(unknown, alices), "cursor=", "data-pos")
		}
		shows(s.T, string(widgets.Page(alices).Room("thread:2", nil, "template", `"><b>`, "about", "post:2")), `data-template="&#34;&gt;&lt;b&gt;"`, `><div class="presence-room-items"></div><button`, ` data-about="post:2"`)
		for _, wrong := range []string{`{{room "inbox:bob" . "template" "t"}}`, `{{room "thread" . "template" "t"}}`, `{{room "thread:1" . }}`, `{{room "thread:1" "cursor" "template" "t"}}`, `{{room "thread:1" . "template" "t" "label" "x"}}`, `{{room "thread:1" . "template" 1}}`} {
			views := s.views(wrong)
			views.FeedsFrom(&someFeeds{})
			if err := views.Execute(new(strings.Builder), "page", nil, alices); err == nil {
				s.Errorf("%s: got no error", wrong)
			}
		}
		if got := s.page(`a{{room "thread:1" . "template" "t"}}b`, user("alice")); got != "ab" {
			s.Errorf("without feeds: got %q, want nothing", got)
		}
	})
}
