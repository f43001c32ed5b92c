package templates_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed"
	"github.com/rollcall-go/rollcall/templates"
)

// someFeeds is a source of feeds that a test makes up.
type someFeeds struct {
	head  feed.Head
	items []feed.Item // the newest first
	err   error
	wait  time.Duration
	texts templates.Texts
	asked []string
}

func (s *someFeeds) ask(ctx context.Context, what string) error {
	s.asked = append(s.asked, what)
	select {
	case <-time.After(s.wait):
		return s.err
	case <-ctx.Done():
		return feed.ErrOut
	}
}

func (s *someFeeds) Head(ctx context.Context, n feed.Name) (feed.Head, error) {
	return s.head, s.ask(ctx, "head of "+string(n))
}

func (s *someFeeds) Page(ctx context.Context, n feed.Name, before int64, limit int) (feed.Page, error) {
	items := s.items
	if i := slices.IndexFunc(items, func(i feed.Item) bool { return before == 0 || i.Pos < before }); i >= 0 {
		items = items[i:]
	} else {
		items = nil
	}
	return feed.Page{Head: s.head, Items: items[:min(limit, len(items))], More: len(items) > limit}, s.ask(ctx, "page of "+string(n))
}

func (s *someFeeds) Cursor(n feed.Name, h feed.Head) presence.Cursor {
	return presence.NewCursor(n.Topic(), presence.DiffID("e-"+string(rune('0'+h.Rev%10))))
}

func (s *someFeeds) Text(i feed.Item) string {
	var names []string
	for _, actor := range i.Actors {
		names = append(names, actor.Name)
	}
	return strings.ReplaceAll(i.Text, "{actors}", s.texts.Actors(names, i.Others))
}

// feedOf returns a view as a visitor gets it, with feeds of a source.
func (s *site) feedOf(from templates.FeedSource, view string, r *http.Request) string {
	s.Helper()
	widgets := s.views(view)
	widgets.FeedsFrom(from)
	var b strings.Builder
	if err := widgets.Execute(&b, "page", nil, r); err != nil {
		s.Fatal(err)
	}
	return b.String()
}

func items() []feed.Item {
	return []feed.Item{
		{ID: "m7", Pos: 41, Type: "reply", At: at(2 * time.Hour), Actors: []feed.Actor{{ID: "bob", Name: "Bob"}}, Others: 3, Count: 5, About: "thread:1", Text: "{actors} replied in “Cats”", URL: "/threads/1#post-17"},
		{ID: "m5", Pos: 30, Type: "welcome", At: at(30 * time.Second), Text: "Welcome!", State: feed.Read},
		{ID: "m1", Pos: 22, Type: "reply", At: at(72 * time.Hour), Actors: []feed.Actor{{ID: "bob", Name: "Bob"}, {ID: "eve", Name: "Eve"}}, About: "thread:2", Text: "{actors} replied in “Dogs”", URL: "https://dogs.example/"},
	}
}

var alices = requestOf(user("alice"))

func requestFor(url string, u presence.User) *http.Request {
	return httptest.NewRequest(http.MethodGet, url, nil).WithContext(requestOf(u).Context())
}

// Only a site with feeds has the rules for them in its style sheet, and says to the script that
// elements of feeds may come.
func TestHeadOfASiteWithFeeds(t *testing.T) {
	bubble(t, templates.Config{}, func(s *site) {
		const rule = "\n.presence-bell {"
		if strings.Contains(s.style(), rule) {
			t.Error("a site without feeds has the rules for feeds")
		}
		shows(s.T, s.page(`{{presenceHead}}`, guest), `&#34;people&#34;:&#34;online-dot,last-seen,[data-feed]&#34;`) // of signals
		widgets := s.views(`{{presenceHead}}`)
		widgets.FeedsFrom(&someFeeds{})
		var b strings.Builder
		if err := widgets.Execute(&b, "page", nil, requestOf(guest)); err != nil {
			s.Fatal(err)
		}
		shows(s.T, b.String(), `&#34;people&#34;:&#34;online-dot,last-seen,[data-feed]&#34;`)
		w := httptest.NewRecorder()
		path := regexp.MustCompile(`/assets/presence\.\w+\.css`).FindString(b.String())
		widgets.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if !strings.Contains(w.Body.String(), rule) {
			t.Errorf("%s has not the rules for feeds", path)
		}
	})
	withPeople(t, templates.Config{}, func(s *site) {
		shows(s.T, s.feedOf(&someFeeds{}, `{{presenceHead}}`, alices), `&#34;people&#34;:&#34;[data-people],online-dot,last-seen,[data-feed]&#34;`)
	})
}

func TestOptionsOfFeeds(t *testing.T) {
	for _, view := range []string{`{{bell "max" 3}}`, `{{bell "label"}}`, `{{bell "popover" 1}}`, `{{notifications "max" "5"}}`, `{{notifications "fields" "text"}}`, `{{notifications "popover" true}}`, `{{notifications "mute" "yes"}}`} {
		bubble(t, templates.Config{}, func(s *site) {
			if _, err := s.render(view, user("alice")); err == nil {
				s.Errorf("%s: got no error", view)
			}
		})
	}
	bubble(t, templates.Config{}, func(s *site) {
		if _, err := templates.New(nil, s.tracker, templates.Config{NotificationsURL: "javascript:x"}); err == nil {
			s.Error("got no error for a NotificationsURL by javascript:")
		}
	})
}
