package templates_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed"
	"github.com/rollcall-go/rollcall/presence/feed/feedtest"
	"github.com/rollcall-go/rollcall/templates"
)

// kept runs fn with a site that has a Keeper, and with its database.
func kept(t *testing.T, fn func(s *site, keeper *feed.Keeper, store *feedtest.Memory)) {
	t.Helper()
	bubble(t, templates.Config{}, func(s *site) {
		store := feedtest.NewMemory()
		keeper, err := feed.New(store, s.tracker, feed.Config{Actors: german.Actors})
		if err != nil {
			s.Fatal(err)
		}
		defer keeper.Close(context.Background())
		s.cfg.Feeds = keeper
		fn(s, keeper, store)
	})
}

func sent(t *testing.T, keeper *feed.Keeper, ms ...feed.Message) {
	t.Helper()
	noError(t, keeper.Send(context.Background(), ms...))
	time.Sleep(time.Second)
	synctest.Wait()
}

// What a Keeper has is what a page shows: of the visitor's own inbox, and of nobody else's
// (rule F13).
func TestF13PageOfAKeeper(t *testing.T) {
	kept(t, func(s *site, keeper *feed.Keeper, _ *feedtest.Memory) {
		for _, from := range []presence.UserID{"bob", "eve", "tom"} {
			sent(s.T, keeper, feed.Message{To: []presence.UserID{"alice"}, From: from, Type: "reply", About: "thread:1", Group: "replies", Text: "{actors} antworteten", URL: "/threads/1"})
		}
		view := `{{bell}}{{notifications}}`
		got := s.page(view, user("alice"))
		shows(s.T, got, `data-unread="1" data-unseen="1"`, ">tom und 2 weitere antworteten</a>", ` data-about="thread:1"`, "</b> <time")
		head, err := keeper.Head(context.Background(), feed.Inbox("alice"))
		if err != nil {
			s.Fatal(err)
		}
		if n := strings.Count(got, `cursor="`+string(keeper.Cursor(feed.Inbox("alice"), head))+`"`); n != 2 {
			s.Errorf("got the cursor of the inbox %d times, want it at the bell and at the list", n)
		}
		shows(s.T, s.page(view, user("bob")), `data-unread="0"`, "There is nothing here yet.")

		if _, err := keeper.Mark(context.Background(), feed.Inbox("alice"), feed.Mark{As: feed.Read, UpTo: head.Pos}); err != nil {
			s.Fatal(err)
		}
		shows(s.T, s.page(view, user("alice")), `data-unread="0"`, `data-state="read"`)
	})
}

// F10: a page goes on while the database is out.
func TestF10PageWithoutTheDatabase(t *testing.T) {
	kept(t, func(s *site, keeper *feed.Keeper, store *feedtest.Memory) {
		sent(s.T, keeper, feed.Message{To: []presence.UserID{"alice"}, Text: "hello"})
		store.Out(true)
		got := s.page(`{{bell}}{{notifications}}`, user("alice"))
		shows(s.T, got, "<presence-bell><a ", `<p class="presence-unknown">`)
		hides(s.T, got, "data-unread", "cursor=", "hello")
		store.Out(false)
		time.Sleep(2 * time.Second)
		shows(s.T, s.page(`{{bell}}`, user("alice")), `data-unread="1"`)
	})
}

// F8: a post that is sent while a page reads its posts is neither missed nor shown twice: the
// room goes on from the head that was read first.
func TestF8RoomGoesOnFromItsHead(t *testing.T) {
	kept(t, func(s *site, keeper *feed.Keeper, _ *feedtest.Memory) {
		ctx := context.Background()
		for _, known := range []bool{false, true} { // a room that has not begun, and one that has
			head, err := keeper.Head(ctx, "thread:1")
			if err != nil || known != (head.Rev > 0) {
				s.Fatalf("got the head %+v and the error %v", head, err)
			}
			before := head.Rev
			sent(s.T, keeper, feed.Message{Feed: "thread:1", From: "bob", Text: "a post"})
			var b strings.Builder
			if err := s.views(`{{room "thread:1" . "template" "post"}}`).Execute(&b, "page", head, alices); err != nil {
				s.Fatal(err)
			}
			cursor := presence.Cursor(cursorAttr.FindStringSubmatch(b.String())[0])
			cursor = presence.Cursor(strings.Trim(strings.TrimPrefix(string(cursor), "cursor="), `"`))
			data, _, err := keeper.Read(ctx, "thread:1", feed.Query{Cursor: cursor})
			if err != nil || !strings.Contains(string(data), `"text":"a post"`) {
				s.Errorf("from the cursor after revision %d: got %s and the error %v, want the post", before, data, err)
			}
		}
	})
}
