package templates_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
	"github.com/rollcall-go/rollcall/templates"
)

func (s *fakeServer) items(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.marks = append(s.marks, "GET "+r.URL.RawQuery)
	if len(s.pages) == 0 {
		http.Error(w, "refused", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	io.WriteString(w, s.pages[0])
	s.pages = s.pages[1:]
}

func (s *fakeServer) mark(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.marks = append(s.marks, r.URL.Query().Get("me")+" "+string(body))
	if s.noMarks != 0 {
		http.Error(w, "refused", s.noMarks)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	io.WriteString(w, `{"cursor":"x","unread":2,"unseen":0}`)
}

func (s *fakeServer) form(w http.ResponseWriter, r *http.Request) {
	r.ParseForm()
	s.mu.Lock()
	s.marks = append(s.marks, "form "+r.PostForm.Encode())
	s.mu.Unlock()
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// marked waits for a request to mark items.
func (s *fakeServer) marked(t *testing.T, want string) {
	t.Helper()
	waitFor(t, func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return slices.Contains(s.marks, want)
	})
}

// feedPage serves a page to alice, with feeds of a source, and a stream that a test plays.
func feedPage(t *testing.T, view string, from *someFeeds) (*browser, *fakeServer) {
	tracker, err := track.New(memstore.New(), track.Config{})
	noError(t, err)
	t.Cleanup(func() { tracker.Close(context.Background()) })
	waitFor(t, func() bool { _, err := tracker.View(context.Background(), presence.Site); return err == nil })
	widgets := newWidgets(t, parse(`<!doctype html><html lang="en"><head><title>t</title>{{presenceHead}}</head><body>`+view+`</body></html>`), tracker, templates.Config{})
	from.texts = german
	widgets.FeedsFrom(from)
	var page strings.Builder
	noError(t, widgets.Execute(&page, "page", feed.Head{Rev: 4, Pos: 16}, requestOf(user("alice"))))
	b := newBrowser(t)
	s := newFakeServer(t, page.String(), widgets.Handler())
	if _, err := chromedp.Call(b.ctx, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true}); err != nil {
		t.Fatal(err)
	}
	b.do(chromedp.Navigate(s.URL))
	b.until(`document.querySelector("[data-feed]").dataset.live`, "on")
	return b, s
}

// note has the page note what happens to it.
const note = `
window.fired = [];
for (const name of ["state", "diff", "live"]) addEventListener("presence:" + name, ({ target, detail }) => fired.push([target.dataset.show, name, detail.live ?? detail.cursor].join(" ")));
window.moved = 0;
for (const list of document.querySelectorAll(".presence-items, #posts")) new MutationObserver((all) => (moved += all.length)).observe(list, { childList: true });
window.page = 1;
`

const (
	bellSays = `(({ dataset, textContent }) => [dataset.unread, textContent.trim(), "stale" in dataset].join("|"))(document.querySelector("presence-bell"))`
	rows     = `[...document.querySelectorAll(".presence-notifications li")].map(({ dataset, querySelector }) => [dataset.item, dataset.state].join(":")).join(" ")`
	fresh    = `((b) => (b.hidden ? "" : b.textContent))(document.querySelector(".presence-fresh"))`
	said     = `document.querySelector("p.presence-said").textContent`
)

func wireItem(id string, pos int, state, text, more string) string {
	return fmt.Sprintf(`{"id":%q,"pos":%d,"type":"reply","v":1,"at":"2026-11-22T16:40:00Z","actors":["bob"],"names":["Bob"],"n":1,"text":%q,"state":%q%s}`, id, pos, text, state, more)
}

func inboxDiff(prev, cursor string, unread int, items ...string) string {
	return fmt.Sprintf(`{"topic":"inbox","prev":%q,"cursor":%q,"unread":%d,"unseen":0,"items":[%s]}`, prev, cursor, unread, strings.Join(items, ","))
}

// A bell and a list start from what the server rendered, and change with the inbox. What is new
// waits while the visitor points at the list.
func TestBrowserInbox(t *testing.T) {
	t.Parallel()
	from := &someFeeds{head: feed.Head{Rev: 7, Unread: 2, Unseen: 1}, items: items()}
	b, s := feedPage(t, `{{bell}}{{notifications}}`, from)
	b.do(chromedp.Evaluate[chromedp.Void](note))
	start := string(from.Cursor("inbox:alice", from.head))
	b.until(bellSays, "2|2Notifications, 2 unread|false")
	b.until(rows, "m7:unread m5:read m1:unread")
	s.marked(t, `alice {"topic":"inbox","as":"seen","upto":41}`)

	// Nobody points at the list: what is new is at the top at once.
	s.send(t, "diff", inboxDiff(start, "2", 100, wireItem("m8", 42, "unread", "<b>Bob</b> replied", `,"url":"javascript:alert(1)"`)))
	b.until(rows, "m8:unread m7:unread m5:read m1:unread")
	b.until(bellSays, "100|99+Notifications, 100 unread|false")
	b.until(`document.querySelector("[data-item=m8] a").textContent + document.querySelector("[data-item=m8] a").hasAttribute("href")`, "<b>Bob</b> repliedfalse")
	b.until(`document.querySelector("[data-item=m8] [name=pos]").value + " " + document.querySelector("[name=upto]").value`, "42 42")
	b.until(`fired.join()`, "list diff 2,bell diff 2")

	// Under the pointer only what is there changes, in its place.
	const point = `document.querySelector(".presence-items").dispatchEvent(new PointerEvent("%s", { bubbles: true }))`
	b.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(point, "pointermove")))
	s.send(t, "diff", inboxDiff("2", "3", 3, wireItem("m9", 44, "unread", "new", ""), wireItem("m5", 43, "unread", "Welcome again!", ""), wireItem("m7", 41, "read", "seven", ""), wireItem("m1", 22, "archived", "one", "")))
	b.until(rows, "m8:unread m7:read m5:unread m1:archived")
	b.until(fresh, "2 new")
	b.until(said, "2 new")
	b.until(`document.querySelector("[data-item=m7] [name=do]:not([hidden])").value`, "unread")
	b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector(".presence-fresh").click()`))
	b.until(rows, "m9:unread m5:unread m8:unread m7:read")
	b.until(fresh+` + document.activeElement.closest("li").dataset.item`, "m9")

	// The heartbeat says that the database is out: the number stays, and is marked.
	s.send(t, "heartbeat", `{"topic":"inbox","cursor":"3","stale":true}`)
	b.until(bellSays, "3|3Notifications, 3 unread|true")
	s.send(t, "heartbeat", `{"topic":"inbox","cursor":"3"}`)
	b.until(bellSays, "3|3Notifications, 3 unread|false")

	// Forms need no page load. One that the server refuses is posted as without script.
	b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector("[data-item=m9] [value=read]").click()`))
	s.marked(t, `alice {"topic":"inbox","as":"read","pos":[44]}`)
	b.until(rows, "m9:read m5:unread m8:unread m7:read")
	b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector(".presence-all button").click()`))
	s.marked(t, `alice {"topic":"inbox","as":"read","upto":44}`)
	b.until(rows+` + page`, "m9:read m5:read m8:read m7:read1")
	s.mu.Lock()
	s.noMarks = http.StatusForbidden
	s.mu.Unlock()
	b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector("[data-item=m8] [value=archive]").click()`))
	s.marked(t, "form do=archive&me=alice&pos=42")
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.opened > 2 { // the page was loaded twice
		t.Errorf("got %d connections, want one for each page", s.opened)
	}
}

const (
	postsPage = `{{bell}}<div id="posts"><article id="post-1" data-item="post-1">one</article></div>
<template id="new-post"><article data-slot="id"><b data-slot="actor"></b> <a data-slot="link"><time data-slot="time"></time></a><div data-slot="paragraphs"></div></article></template>
{{room "thread:1" . "list" "posts" "template" "new-post"}}<textarea></textarea>`
	posts = `[...document.querySelectorAll("article")].map((a) => a.id + ":" + (a.querySelector("div") ?? a).innerHTML).join(" ")`
)

func post(id string, pos int, text, more string) string {
	return fmt.Sprintf(`{"id":%q,"pos":%d,"type":"post","v":1,"at":"2026-11-22T16:40:00Z","names":["Bob"],"n":1,"text":%q,"url":"/#%s"%s}`, id, pos, text, id, more)
}

func roomEvent(prev, cursor string, items ...string) string {
	return fmt.Sprintf(`{"topic":"feed:thread:1","prev":%q,"cursor":%q,"items":[%s]}`, prev, cursor, strings.Join(items, ","))
}

// F8: the end of a room shows each new item once, as text.
func TestBrowserRoom(t *testing.T) {
	t.Parallel()
	from := &someFeeds{head: feed.Head{Rev: 4, Unread: 0}}
	b, s := feedPage(t, postsPage, from)
	b.do(chromedp.Evaluate[chromedp.Void](note))
	b.until(`document.querySelector("[data-show=room]").dataset.live`, "on")
	start := string(from.Cursor("thread:1", feed.Head{Rev: 4}))
	s.send(t, "diff", roomEvent(start, "2", post("post-2", 17, "<i>two</i>\nlines\n\nand more", ""), post("post-1", 16, "one", "")))
	b.until(posts, "post-1:one post-2:<p>&lt;i&gt;two&lt;/i&gt;<br>lines</p><p>and more</p>")
	b.until(`document.querySelector("#post-2 b").textContent + document.querySelector("#post-2 a").getAttribute("href")`, "Bob/#post-2")
	b.until(said, "1 new post")

	// The inbox says what the page shows already: an attended page marks it as read.
	inbox := string(from.Cursor("inbox:alice", from.head))
	s.send(t, "diff", inboxDiff(inbox, "i2", 1, wireItem("r1", 5, "unread", "Bob replied", `,"about":"thread:1","url":"/#post-2"`)))
	s.marked(t, `alice {"topic":"inbox","as":"read","about":"thread:1","upto":5}`)

	// Below the list somebody writes: news wait behind the button.
	b.do(chromedp.Focus("textarea"))
	s.send(t, "diff", roomEvent("2", "3", post("post-3", 18, "three", "")))
	b.until(`((b) => b.hidden + b.textContent)(document.querySelector("[data-show=room] .presence-fresh"))`, "false1 new post")
	s.send(t, "diff", roomEvent("3", "4", post("post-3", 18, "three, edited", ""), `{"id":"post-2","pos":17,"state":"removed"}`))
	b.until(posts, "post-1:one post-2:This was removed.")
	b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector("[data-show=room] .presence-fresh").click()`))
	b.until(posts, "post-1:one post-2:This was removed. post-3:<p>three, edited</p>")

	// After a gap the page gets what is between, and nothing twice.
	s.mu.Lock()
	s.pages = []string{`{"topic":"feed:thread:1","cursor":"5","items":[` + post("post-4", 19, "four", "") + "," + post("post-3", 18, "three, edited", "") + `],"more":true}`}
	s.mu.Unlock()
	s.send(t, "state", `{"topic":"feed:thread:1","cursor":"5","items":[`+post("post-6", 21, "six", "")+","+post("post-5", 20, "five", "")+`],"more":true}`)
	b.do(chromedp.Evaluate[chromedp.Void](`document.activeElement.blur()`))
	b.until(`[...document.querySelectorAll("article")].map(({ id }) => id).join()`, "post-1,post-2,post-3,post-4,post-5,post-6")
	s.marked(t, "GET topic=feed%3Athread%3A1&before=20&limit=100&me=alice")
}

// A bell opens the list in place. Its items are those of the stream's version.
func TestBrowserPopover(t *testing.T) {
	t.Parallel()
	from := &someFeeds{head: feed.Head{Rev: 7, Unread: 2, Unseen: 1}}
	b, s := feedPage(t, `{{bell "popover" true}}`, from)
	start := string(from.Cursor("inbox:alice", from.head))
	s.mu.Lock()
	s.pages = []string{ // the first is from before the page
		`{"topic":"inbox","cursor":"old","unread":9,"unseen":0,"items":[]}`,
		`{"topic":"inbox","cursor":"` + start + `","unread":2,"unseen":1,"items":[` + wireItem("m7", 41, "unread", "seven", "") + `]}`,
	}
	s.mu.Unlock()
	b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector("a.presence-bell").click()`))
	b.until(rows, "m7:unread")
	b.until(`document.querySelector(".presence-popover").matches(":popover-open") + document.querySelector("a.presence-bell").ariaExpanded + location.pathname`, "truetrue/")
	b.until(`document.querySelector(".presence-popover").getBoundingClientRect().top > document.querySelector("a.presence-bell").getBoundingClientRect().bottom`, "true")
	b.until(bellSays+`.split("|")[0]`, "2")
	s.send(t, "diff", inboxDiff(start, "2", 3, wireItem("m8", 42, "unread", "eight", "")))
	b.until(rows, "m8:unread m7:unread")

	// Another user's page comes into this one: nothing of alice's stays.
	b.do(chromedp.Evaluate[chromedp.Void](`document.body.insertAdjacentHTML("beforeend", "<presence-part src=/presence data-feed=feed:x:1 me=bob></presence-part>")`))
	b.until(bellSays+`.split("|")[0] + document.querySelectorAll(".presence-notifications li").length`, "0")
	waitFor(t, func() bool { s.mu.Lock(); defer s.mu.Unlock(); return s.opened == 2 && s.open.Load() == 1 })
	s.send(t, "state", `{"topic":"inbox","cursor":"b","unread":1,"unseen":1,"items":[`+wireItem("b1", 1, "unread", "for bob", "")+`]}`)
	b.until(rows+` + document.querySelector("presence-bell").dataset.unread`, "b1:unread1")
}

// Script and style are loaded by the pages that show a feed alone, and a page connects once.
func TestBrowserConnectsOnceWithFeeds(t *testing.T) {
	t.Parallel()
	for view, loads := range map[string]string{`{{whosOnline "site"}}{{bell}}{{room "thread:1" nil "template" "t"}}`: "1", `{{whosOnline "site"}}<p data-feed data-live="on"></p>`: "0"} {
		b, s := feedPage(t, view+`<template id="t"><p></p></template>`, &someFeeds{})
		b.until(`document.querySelector("whos-online").dataset.live`, "on")
		b.until(`performance.getEntriesByType("resource").filter(({ name }) => /assets\/inbox.*js/.test(name)).length`, loads)
		s.mu.Lock()
		if s.opened != 1 {
			t.Errorf("%s: got %d connections, want 1", view, s.opened)
		}
		s.mu.Unlock()
	}
}
