package main

import (
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/examples/forum/internal/forumtest"
	"github.com/rollcall-go/rollcall/presence"
)

// newDatabase opens what the flags name, until the test ends.
func newDatabase(t *testing.T, flags ...string) *database {
	t.Helper()
	config, err := parseConfig(flags, none)
	if err != nil {
		t.Fatal(err)
	}
	d, err := openSQL(config, slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.close() })
	return d
}

// TestReply: a reply is on the thread's page and counted on the front page, in each kind of
// database.
func TestReply(t *testing.T) {
	t.Parallel()
	for name, flags := range databases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := forumtest.Start(t, flags(t)...)
			eve := f.User(t, "Eve")
			res := eve.Post("/threads/1/replies", url.Values{"text": {"  Sow <b>rye</b>.\r\nIt stands.\r\n\r\nAnd {actors} too. "}})
			if res.Status != http.StatusSeeOther || res.Header.Get("Location") != "/threads/1#post-5" {
				t.Fatalf("got %d to %q, want 303 to the post\n%s", res.Status, res.Header.Get("Location"), res.Body)
			}
			page := f.Visitor(t).Get("/threads/1").Body
			for _, want := range []string{`id="post-5"`, `<p dir="auto">Sow &lt;b&gt;rye&lt;/b&gt;.<br>It stands.</p><p dir="auto">And {actors} too.</p>`, "What are you still sowing"} {
				if !strings.Contains(page, want) {
					t.Errorf("want %q on the thread's page\n%s", want, page)
				}
			}
			if front := f.Visitor(t).Get("/").Body; !regexp.MustCompile(`(?s)<b>5</b> replies.*?<span>Eve`).MatchString(front) {
				t.Errorf("want 5 replies, the last by Eve\n%s", front)
			}
		})
	}
}

// TestRepliesAtOnce: posts of several processes have numbers without gaps, and each of its own.
func TestRepliesAtOnce(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"SQLite", "Postgres"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			flags := databases[name](t)
			const each = 12
			var work sync.WaitGroup
			var mu sync.Mutex
			var got, want []int
			for node := range 2 { // both make and fill the tables
				work.Go(func() {
					d := newDatabase(t, flags...)
					for i := range each {
						work.Go(func() {
							author := presence.User{ID: presence.UserID(fmt.Sprint("user-", node, "-", i)), Name: "User"}
							n, err := d.reply(t.Context(), "", threads()[2], author, "at once", nil)
							if err != nil {
								t.Error(err)
							}
							mu.Lock()
							defer mu.Unlock()
							got = append(got, n)
						})
					}
				})
			}
			work.Wait()
			for i := range 2 * each {
				want = append(want, threads()[2].Replies+1+i)
			}
			if slices.Sort(got); !slices.Equal(got, want) {
				t.Errorf("got the numbers %v, want %v", got, want)
			}
			page, err := newDatabase(t, flags...).postsOf(t.Context(), "", 3, 0, 1000)
			if err != nil || len(page) != threads()[2].Replies+1+2*each || page[0].Author.Name != "Carol" {
				t.Errorf("got %d posts, the first by %q, and error %v; want all, once each", len(page), page[0].Author.Name, err)
			}
		})
	}
}

// TestReplyRollback: where the notifications cannot be sent there is no post, and where there
// is no post nobody is notified (rule F1).
func TestReplyRollback(t *testing.T) {
	t.Parallel()
	for name, flags := range databases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDatabase(t, flags(t)...)
			alice := presence.User{ID: "alice", Name: "Alice"}
			bad := threads()[0]
			bad.Title = strings.Repeat("x", 9<<10) // no message has such a text
			if _, err := d.reply(t.Context(), "", bad, alice, "text", nil); err == nil {
				t.Fatal("got no error, want one of the message")
			}
			if page, err := d.postsOf(t.Context(), "", 1, 0, 100); err != nil || len(page) != 5 {
				t.Errorf("got %d posts and error %v, want the 5 of the beginning", len(page), err)
			}
			missing := threads()[0]
			missing.ID = 9
			if _, err := d.reply(t.Context(), "", missing, alice, "text", nil); err == nil {
				t.Fatal("got no error, want one of the thread that is not there")
			}
			if box, err := d.store.Feeds().Waiting(t.Context()); err != nil || box.Waiting != 0 {
				t.Errorf("got %d messages in the outbox and error %v, want none", box.Waiting, err)
			}
			if n, err := d.reply(t.Context(), "", threads()[0], alice, "text", nil); err != nil || n != 5 {
				t.Errorf("got number %d and error %v, want 5", n, err)
			}
			if box, err := d.store.Feeds().Waiting(t.Context()); err != nil || box.Waiting != 2 {
				t.Errorf("got %d messages in the outbox and error %v, want one for the room and one for the others", box.Waiting, err)
			}
		})
	}
}

// TestBadReplies: what is wrong with a reply stands on the page, with the text, and is posted
// nowhere; what looks dangerous is text.
func TestBadReplies(t *testing.T) {
	t.Parallel()
	f := forumtest.Start(t)
	alice := f.User(t, "Alice")
	reply := func(v *forumtest.Visitor, path, body string) forumtest.Response {
		t.Helper()
		return v.Do(http.MethodPost, path, "application/x-www-form-urlencoded", body)
	}
	for body, kept := range map[string]string{
		"":                                   "",
		"text=":                              "",
		"text=+%0D%0A%E2%80%83":              "",
		"text=" + strings.Repeat("x", 2_001): strings.Repeat("x", 2_001),
		"text=" + strings.Repeat("%F0%9F%8C%B1", 2_001): strings.Repeat("🌱", 2_001),
		"text=a%00<i>": "a\uFFFD&lt;i&gt;",
		"text=a%1Bb":   "",
		"text=a%FFb":   "a\uFFFDb",
		"text=</textarea><script>" + strings.Repeat("y", 2_000): "&lt;/textarea&gt;&lt;script&gt;yyy",
	} {
		res := reply(alice, "/threads/1/replies", body)
		if res.Status != http.StatusBadRequest || !strings.Contains(res.Body, `role="alert"`) || !strings.Contains(res.Body, `>`+kept) || !strings.Contains(res.Body, `id="post-4"`) {
			t.Errorf("%.40q: got %d, want 400 with the reason, the text and the posts\n%.6000s", body, res.Status, res.Body)
		}
	}
	if res := reply(alice, "/threads/1/replies", "text="+strings.Repeat("x", 70<<10)); res.Status != http.StatusRequestEntityTooLarge {
		t.Errorf("70 KiB: got %d, want 413", res.Status)
	}
	for _, path := range []string{"/threads/4/replies", "/threads/0/replies", "/threads/01/replies", "/threads/x/replies"} {
		if res := reply(alice, path, "text=x"); res.Status != http.StatusNotFound {
			t.Errorf("%s: got %d, want 404", path, res.Status)
		}
	}
	if res := reply(f.Visitor(t), "/threads/1/replies", "text=x"); res.Status != http.StatusUnauthorized {
		t.Errorf("a guest: got %d, want 401", res.Status)
	}
	mallory := f.User(t, "Mallory")
	mallory.Header = http.Header{"Origin": {"https://elsewhere.example"}, "Sec-Fetch-Site": {"cross-site"}}
	if res := reply(mallory, "/threads/1/replies", "text=x"); res.Status != http.StatusForbidden {
		t.Errorf("from another site: got %d, want 403", res.Status)
	}
	if page := alice.Get("/threads/1").Body; strings.Contains(page, `id="post-5"`) {
		t.Errorf("want no new post\n%s", page)
	}
	for i, text := range []string{strings.Repeat("🌱", 2_000), "javascript:alert(1)", "<img src=x onerror=alert(1)>", "{{.Secret}} \u202e ${x} ' \" --"} {
		if res := alice.Post("/threads/1/replies", url.Values{"text": {text}}); res.Status != http.StatusSeeOther || res.Header.Get("Location") != fmt.Sprint("/threads/1#post-", 5+i) {
			t.Errorf("%.20q: got %d to %q, want 303", text, res.Status, res.Header.Get("Location"))
		}
	}
	if page := alice.Get("/threads/1").Body; strings.Contains(page, "<img src=x") || strings.Contains(page, `="javascript:`) || !strings.Contains(page, "&lt;img src=x onerror=alert(1)&gt;") {
		t.Errorf("want texts, and nothing that runs\n%s", page)
	}
}

// TestLongThread: a page has the latest posts, and leads to the earlier ones.
func TestLongThread(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "forum.db")
	d := newDatabase(t, "-sql", "file:"+path)
	if _, err := d.ExecContext(t.Context(), `WITH RECURSIVE c(n) AS (SELECT 5 UNION ALL SELECT n + 1 FROM c WHERE n < 449)
		INSERT INTO forum_posts (thread, n, author_id, author, text, at) SELECT 1, n, 'bob', 'Bob', 'post ' || n, n FROM c`); err != nil {
		t.Fatal(err)
	}
	guest := forumtest.Start(t, "-sql", "file:"+path).Visitor(t)
	for _, tt := range []struct {
		path, first, last, link string
		latest                  bool
	}{
		{"/threads/1", "post-250", "post-449", `href="/threads/1?before=250"`, true},
		{"/threads/1?before=250", "post-50", "post-249", `href="/threads/1?before=50"`, false},
		{"/threads/1?before=50", "post-0", "post-49", `href="/threads/1"`, false},
	} {
		var page string
		forumtest.Await(t, tt.path, func() bool { // a busy machine may not read the posts in time
			res := guest.Get(tt.path)
			page = res.Body
			return res.Status != http.StatusServiceUnavailable && strings.Contains(page, `id="`+tt.last+`"`)
		})
		ids := regexp.MustCompile(`<article class="post" id="(post-\d+)"`).FindAllStringSubmatch(page, -1)
		if len(ids) == 0 || ids[0][1] != tt.first || ids[len(ids)-1][1] != tt.last || !strings.Contains(page, tt.link) || strings.Contains(page, `class="reply`) != tt.latest {
			t.Errorf("%s: got the posts %v, want %s to %s, and %s\n%.3000s", tt.path, ids, tt.first, tt.last, tt.link, page)
		}
	}
	if page := guest.Get("/threads/1?before=50").Body; strings.Contains(page, "before=") {
		t.Errorf("want no link to posts before the first\n%.3000s", page)
	}
	for _, before := range []string{"0", "-1", "x", "1e3", "99999999999"} {
		if res := guest.Get("/threads/1?before=" + before); res.Status != http.StatusNotFound {
			t.Errorf("before %s: got %d, want 404", before, res.Status)
		}
	}
}

// TestPostsWhileOut: pages show the latest posts that are known while the database is out, and
// a reply is refused, with its text.
func TestPostsWhileOut(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	p := newPosts(d, threads())
	if _, err := d.reply(t.Context(), "", threads()[0], presence.User{ID: "eve", Name: "Eve"}, "text", nil); err != nil {
		t.Fatal(err)
	}
	if seen, _, ok := p.thread(t.Context(), "", 1, 0); !ok || len(seen.Posts) != 6 {
		t.Fatalf("got %d posts, want 6", len(seen.Posts))
	}
	if err := d.DB.Close(); err != nil {
		t.Fatal(err)
	}
	if seen, _, ok := p.thread(t.Context(), "", 1, 0); !ok || len(seen.Posts) != 6 || seen.Posts[5].Author.ID != "eve" {
		t.Errorf("while the database is out: got %d posts, want the 6 that are known", len(seen.Posts))
	}
	if _, fresh, ok := p.thread(t.Context(), "", 1, 3); fresh || ok {
		t.Error("earlier posts: want that they are not known")
	}
	if seen, _, ok := p.thread(t.Context(), "", 2, 0); !ok || len(seen.Posts) != 3 {
		t.Errorf("of a thread that nobody has read: got %d posts, want the 3 of the beginning", len(seen.Posts))
	}
	if all := p.threads(t.Context(), ""); len(all) != 3 || all[0].Replies != 5 {
		t.Errorf("got %+v, want three threads, the first with 5 replies", all)
	}

	n := &forumtest.Node{T: t, Addr: freeAddr(t), Args: []string{"-sql", "postgres://nobody@127.0.0.1:1/nowhere?sslmode=disable"}}
	n.Run()
	defer n.Kill()
	alice := (&forumtest.Forum{URL: n.URL("")}).User(t, "Alice")
	if res := alice.Get("/threads/1?before=3"); res.Status != http.StatusServiceUnavailable {
		t.Errorf("earlier posts: got %d, want 503", res.Status)
	}
	res := alice.Post("/threads/1/replies", url.Values{"text": {"Keep “this”."}})
	if res.Status != http.StatusServiceUnavailable || res.Header.Get("Retry-After") == "" || !strings.Contains(res.Body, ">Keep “this”.</textarea>") || !strings.Contains(res.Body, `id="post-4"`) {
		t.Errorf("got %d and Retry-After %q, want 503 and the text\n%s", res.Status, res.Header.Get("Retry-After"), res.Body)
	}
	for _, path := range []string{"/", "/threads/1", "/notifications"} {
		begin := time.Now()
		if res := alice.Get(path); res.Status != http.StatusOK || time.Since(begin) > 2*time.Second {
			t.Errorf("%s: got %d after %v, want 200 soon", path, res.Status, time.Since(begin))
		}
	}
	for path, form := range map[string]url.Values{"/notifications": {"do": {"read"}, "upto": {"1"}}, "/mutes": {"scope": {"*"}, "how": {"all"}}} {
		if res := alice.Post(path, form); res.Status != http.StatusServiceUnavailable || res.Header.Get("Retry-After") == "" {
			t.Errorf("%s: got %d, want 503 with Retry-After", path, res.Status)
		}
	}
}

// freeAddr returns an address that nobody listens at.
func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// TestReplyPaysByReceivers: who replies in a thread of thousands again and again has to wait, and does not lose the
// text. Another member is not touched.
func TestReplyPaysByReceivers(t *testing.T) {
	t.Parallel()
	flags := databases["SQLite"](t)
	f := forumtest.Start(t, flags...)
	d := newDatabase(t, flags...)
	eve, bob := f.User(t, "Eve"), f.User(t, "Bob")
	reply := func(v *forumtest.Visitor, thread int) forumtest.Response {
		return v.Post(fmt.Sprintf("/threads/%d/replies", thread), url.Values{"text": {"my long text"}})
	}
	if got := reply(bob, 1).Status; got != http.StatusSeeOther {
		t.Fatalf("got %d, want 303", got)
	}
	const authors = 3000
	if _, err := d.ExecContext(t.Context(), `WITH RECURSIVE authors (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM authors WHERE i < $1)
		INSERT INTO forum_posts (tenant, thread, n, author_id, author, text, at) SELECT '', 1, 100 + i, 'author-' || i, 'Author', 'text', 1 FROM authors`, authors); err != nil {
		t.Fatal(err)
	}
	posted, waits := 0, 0
	for range 12 {
		switch res := reply(eve, 1); {
		case res.Status == http.StatusSeeOther:
			posted++
		case res.Status == http.StatusTooManyRequests && res.Header.Get("Retry-After") != "" && strings.Contains(res.Body, "my long text</textarea>"):
			waits++
		default:
			t.Errorf("got status %d, want 303, or 429 with Retry-After and the text\n%s", res.Status, res.Body)
		}
	}
	if waits == 0 {
		t.Error("got no 429 for 12 replies to 3,000 authors, want some")
	}
	if got := reply(bob, 2).Status; got != http.StatusSeeOther {
		t.Errorf("another member: got %d, want 303", got)
	}
	page, err := d.postsOf(t.Context(), "", 1, 0, 100)
	if n := page[len(page)-1].N; err != nil || n != 100+authors+posted {
		t.Errorf("got the last post %d and error %v, want %d: no post of a refused reply", n, err, 100+authors+posted)
	}
}
