package main

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/examples/forum/internal/forumtest"
)

// reply posts to the first thread.
func reply(t *testing.T, v *forumtest.Visitor) {
	t.Helper()
	if res := v.Post("/threads/1/replies", url.Values{"text": {"Rye."}}); res.Status != http.StatusSeeOther {
		t.Fatalf("a reply: got %d, want 303\n%s", res.Status, res.Body)
	}
}

var bellUnread = regexp.MustCompile(`<presence-bell[^>]* data-unread="(\d+)"`)

// unread returns the number on the bell of a page, or "" if the bell has no number.
func unread(v *forumtest.Visitor, path string) string {
	if found := bellUnread.FindStringSubmatch(v.Get(path).Body); found != nil {
		return found[1]
	}
	return ""
}

// awaitUnread waits until the bell of the front page has a number.
func awaitUnread(t *testing.T, v *forumtest.Visitor, want string) {
	t.Helper()
	got := ""
	forumtest.Await(t, want+" unread", func() bool { got = unread(v, "/"); return got == want })
}

// told returns the number on a visitor's bell, from the first page that knows it: on a busy
// machine a page does not wait until it does.
func told(t *testing.T, v *forumtest.Visitor) (got string) {
	t.Helper()
	forumtest.Await(t, "a page that knows its bell", func() bool {
		got = unread(v, "/")
		return got != ""
	})
	return got
}

// TestNotified: a reply notifies the thread's other authors, on whichever process they are, in
// one notification, until they open the thread; and nobody of their own doing (rule F5).
func TestNotified(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"SQLite", "Postgres"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			flags := databases[name](t)
			one, two := forumtest.Start(t, flags...), forumtest.Start(t, flags...)
			alice, eve, bob, frank := one.User(t, "Alice"), one.User(t, "Eve"), two.User(t, "Bob"), two.User(t, "Frank")
			for _, v := range []*forumtest.Visitor{alice, bob, frank} {
				if got := told(t, v); got != "0" {
					t.Errorf("at first: got %q unread, want 0", got)
				}
			}
			begin := time.Now()
			reply(t, alice)
			awaitUnread(t, bob, "1")
			if took := time.Since(begin); took > 10*time.Second { // 1.2 s where the machine is not busy, and 30 s without a hint
				t.Errorf("the notification came after %v, want about a second", took)
			}
			reply(t, eve)
			awaitUnread(t, alice, "1")
			page := ""
			forumtest.Await(t, "one notification of two", func() bool {
				page = bob.Get("/notifications").Body
				return strings.Contains(page, "Eve and Alice replied in “What are you still sowing this late?”")
			})
			if !strings.Contains(page, `href="/threads/1#post-6"`) || !strings.Contains(page, `data-unread="1"`) {
				t.Errorf("want one unread notification that leads to the latest post\n%s", page)
			}
			for who, v := range map[string]*forumtest.Visitor{"the writer": eve, "one who is not in the thread": frank} {
				if got := told(t, v); got != "0" {
					t.Errorf("%s: got %q unread, want 0", who, got)
				}
			}
			bob.Do(http.MethodHead, "/threads/1", "", "")
			bob.Get("/threads/2")
			bob.Header = http.Header{"Sec-Purpose": {"prefetch;prerender"}}
			bob.Get("/threads/1")
			bob.Header = nil
			if got := told(t, bob); got != "1" {
				t.Errorf("before bob opens the thread: got %q unread, want 1", got)
			}
			bob.Get("/threads/1")
			awaitUnread(t, bob, "0")
			awaitUnread(t, bob.At(one), "0")
		})
	}
}

// TestRoom: whoever has a thread open, guests too, is sent its new posts, of other processes
// too, and nobody is sent what is not there.
func TestRoom(t *testing.T) {
	t.Parallel()
	flags := databases["SQLite"](t)
	one, two := forumtest.Start(t, flags...), forumtest.Start(t, flags...)
	guest := two.Visitor(t)
	reply(t, one.User(t, "Eve"))
	var room []string
	forumtest.Await(t, "a room with a cursor and an item", func() bool {
		room = regexp.MustCompile(`data-feed="feed:thread:1"[^>]* cursor="([^"]+)" data-pos="1"`).FindStringSubmatch(guest.Get("/threads/1").Body)
		return room != nil
	})
	reply(t, one.User(t, "Eve")) // between the page and its stream
	stream := guest.Stream("topic=feed:thread:1&cursor=" + url.QueryEscape(room[1]))
	e := stream.Until("the post", func(e forumtest.Event) bool { return len(e.Items) > 0 })
	if e.Type != "diff" || len(e.Items) != 1 || e.Items[0].ID != "post-6" || e.Items[0].Text != "Rye." || e.Items[0].URL != "/threads/1#post-6" {
		t.Errorf("got %+v, want a diff with the post", e)
	}
	reply(t, one.User(t, "Eve"))
	if e := stream.Until("the next post", func(e forumtest.Event) bool { return len(e.Items) > 0 }); e.Items[0].ID != "post-7" {
		t.Errorf("got %+v, want the next post", e)
	}
	for topic, want := range map[string]int{
		"feed:thread:4": 403, "feed:site": 403, "feed:rules": 403, "feed:inbox:bob": 403, "inbox:bob": 400, "inbox": 401, "feed:": 400, "feed:feed:thread:1": 403,
	} {
		res := guest.Get("/presence/feed?topic=" + topic)
		if res.Status != want && !(want/100 == 4 && res.Status/100 == 4 && topic != "feed:thread:4" && topic != "inbox") {
			t.Errorf("%s: got %d, want %d", topic, res.Status, want)
		}
	}
}

// TestNotificationForms: the forms of the page change one's own notifications, and say what is
// wrong with them.
func TestNotificationForms(t *testing.T) {
	t.Parallel()
	f := forumtest.Start(t)
	bob := f.User(t, "Bob")
	bob.Get("/notifications")
	reply(t, f.User(t, "Alice"))
	awaitUnread(t, bob, "1")
	page := bob.Get("/notifications").Body
	pos := regexp.MustCompile(`data-pos="([1-9]\d*)"`).FindStringSubmatch(page)
	if pos == nil {
		t.Fatalf("want a form with the place\n%s", page)
	}
	for _, tt := range []struct {
		form   string
		status int
		unread string
	}{
		{"do=seen", 303, "1"},
		{"do=read&pos=" + pos[1], 303, "0"},
		{"do=read&pos=" + pos[1], 303, "0"},
		{"do=unread&pos=" + pos[1] + "&me=bob", 303, "1"},
		{"do=read&upto=" + pos[1], 303, "0"},
		{"do=unread&pos=" + pos[1] + "&pos=99", 303, "1"},
		{"do=read&pos=99", 303, "1"},
		{"do=read&about=thread:2", 303, "1"},
		{"do=read&pos=" + pos[1] + "&me=alice", 403, "1"},
		{"", 400, "1"},
		{"do=steal&pos=" + pos[1], 400, "1"},
		{"do=read", 400, "1"},
		{"do=read&upto=0", 400, "1"},
		{"do=read&upto=", 400, "1"},
		{"do=read&pos=", 400, "1"},
		{"do=read&pos=-1", 400, "1"},
		{"do=read&pos=1.5", 400, "1"},
		{"do=read&pos=99999999999999999999", 400, "1"},
		{"do=read&pos=" + pos[1] + "&upto=" + pos[1], 400, "1"},
		{"do=read" + strings.Repeat("&pos=1", 101), 400, "1"},
		{"do=seen&pos=1", 400, "1"},
		{"do=mute&scope=nothing", 400, "1"},
		{"do=mute&scope=about:thread:1&how=loud", 400, "1"},
		{"do=archive&pos=" + pos[1], 303, "0"},
	} {
		res := bob.Do(http.MethodPost, "/notifications", "application/x-www-form-urlencoded", tt.form)
		if res.Status == http.StatusTooManyRequests { // 20 a second
			time.Sleep(time.Second)
			res = bob.Do(http.MethodPost, "/notifications", "application/x-www-form-urlencoded", tt.form)
		}
		if res.Status != tt.status || tt.status == 303 && res.Header.Get("Location") != "/notifications" || tt.status != 303 && !strings.Contains(res.Body, `role="alert"`) {
			t.Errorf("%.60q: got %d to %q, want %d\n%s", tt.form, res.Status, res.Header.Get("Location"), tt.status, res.Body)
		}
		if got := told(t, bob); got != tt.unread {
			t.Errorf("after %.60q: got %q unread, want %s", tt.form, got, tt.unread)
		}
	}
	if page := bob.Get("/notifications").Body; strings.Contains(page, "Alice replied") {
		t.Errorf("want an archived notification off the list\n%s", page)
	}
	guest := f.Visitor(t)
	for _, res := range []forumtest.Response{
		guest.Get("/notifications"), guest.Post("/notifications", url.Values{"do": {"seen"}}), guest.Post("/mutes", url.Values{"scope": {"*"}, "how": {"all"}}),
	} {
		if res.Status != http.StatusUnauthorized || !strings.Contains(res.Body, "Sign in first") {
			t.Errorf("a guest: got %d, want 401\n%s", res.Status, res.Body)
		}
	}
	mallory := f.User(t, "Mallory")
	mallory.Header = http.Header{"Origin": {"https://elsewhere.example"}, "Sec-Fetch-Site": {"cross-site"}}
	for path, form := range map[string]url.Values{"/notifications": {"do": {"seen"}}, "/mutes": {"scope": {"*"}, "how": {"all"}}} {
		if res := mallory.Post(path, form); res.Status != http.StatusForbidden {
			t.Errorf("%s from another site: got %d, want 403", path, res.Status)
		}
	}
}

// TestMuteForms: a member mutes a thread on its page, sees that on the page of notifications,
// and lifts it.
func TestMuteForms(t *testing.T) {
	t.Parallel()
	f := forumtest.Start(t)
	bob, carol, alice := f.User(t, "Bob"), f.User(t, "Carol"), f.User(t, "Alice")
	if page := bob.Get("/threads/1").Body; !strings.Contains(page, "Mute this thread") {
		t.Errorf("want a button to mute\n%s", page)
	}
	mute := func(scope, how, next, want string) {
		t.Helper()
		res := bob.Post("/mutes", url.Values{"scope": {scope}, "how": {how}, "next": {next}})
		if res.Status != http.StatusSeeOther || res.Header.Get("Location") != want {
			t.Errorf("%s %s: got %d to %q, want 303 to %s\n%s", scope, how, res.Status, res.Header.Get("Location"), want, res.Body)
		}
	}
	mute("about:thread:1", "all", "/threads/1", "/threads/1")
	mute("type:reply", "mail", "//evil.example/", "/")
	if page := bob.Get("/threads/1").Body; !strings.Contains(page, "Unmute this thread") {
		t.Errorf("want a button to lift the mute\n%s", page)
	}
	reply(t, alice)
	awaitUnread(t, carol, "1")
	if got := told(t, bob); got != "0" {
		t.Errorf("got %q unread in a muted thread, want 0", got)
	}
	page := bob.Get("/notifications").Body
	for _, want := range []string{`<a href="/threads/1">What are you`, `value="about:thread:1"`, "no notifications", "Replies", "no mail"} {
		if !strings.Contains(page, want) {
			t.Errorf("want %q\n%s", want, page)
		}
	}
	mute("about:thread:1", "nothing", "", "/notifications")
	reply(t, alice)
	awaitUnread(t, bob, "1")
	for _, bad := range []url.Values{{"scope": {"x"}, "how": {"all"}}, {"scope": {"*"}, "how": {""}}, {"how": {"all"}}, {"scope": {"about:"}, "how": {"all"}}} {
		if res := bob.Post("/mutes", bad); res.Status != http.StatusBadRequest {
			t.Errorf("%v: got %d, want 400", bad, res.Status)
		}
	}
}

// TestDigest: who is away gets one mail of what is unread, and who is at a page, or wrote it,
// gets none (rule F11).
func TestDigest(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	flags := append(databases["SQLite"](t), "-redis", newRedis(t), "-mail", dir, "-mail-after", "300ms")
	one, two := forumtest.Start(t, flags...), forumtest.Start(t, flags...)
	carol, alice := two.User(t, "Carol"), one.User(t, "Alice")
	carol.Stream("topic=site&topic=inbox")
	reply(t, alice)
	mails := func() (names []string) {
		files, _ := filepath.Glob(filepath.Join(dir, "*.txt"))
		for _, f := range files {
			user, _, _ := strings.Cut(filepath.Base(f), "-")
			names = append(names, user)
		}
		slices.Sort(names)
		return names
	}
	// A look that cannot tell in time whether a user is there puts the mail off, by a minute.
	for began := time.Now(); len(mails()) < 2 && time.Since(began) < 3*time.Minute; {
		time.Sleep(50 * time.Millisecond)
	}
	time.Sleep(700 * time.Millisecond) // two more looks
	if got := mails(); !slices.Equal(got, []string{"bob", "dmitri"}) {
		t.Errorf("got mails to %v, want one each to bob and dmitri", got)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "bob-*.txt"))
	text, err := os.ReadFile(files[0])
	for _, want := range []string{"Subject: Alice replied in “What are you still sowing this late?”\n", "  http://127.0.0.1:", "/threads/1#post-5\n"} {
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("want %q in\n%s", want, text)
		}
	}
	if all, _ := os.ReadDir(dir); len(all) != 2 {
		t.Errorf("got %v, want nothing beside the mails", all)
	}
}
