package main

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/rollcall-go/rollcall/examples/forum/internal/forumtest"
)

func TestPages(t *testing.T) {
	t.Parallel()
	guest := forumtest.Start(t).Visitor(t)
	for _, tt := range []struct {
		path   string
		status int
		want   string
	}{
		{"/", 200, `href="/threads/3"`},
		{"/threads/1", 200, `topic="thread:1"`},
		{"/threads/2", 200, `topic="thread:2"`},
		{"/threads/3", 200, `topic="thread:3"`},
		{"/online", 200, `<whos-online`},
		{"/threads/0", 404, "no such page"},
		{"/threads/4", 404, "no such page"},
		{"/threads/01", 404, "no such page"},
		{"/threads/1/", 404, "no such page"},
		{"/threads/", 404, "no such page"},
		{"/nowhere", 404, "no such page"},
		{"/login", 405, "Method Not Allowed"},
	} {
		res := guest.Get(tt.path)
		if res.Status != tt.status || !strings.Contains(res.Body, tt.want) {
			t.Errorf("GET %s: got %d, want %d and %q in the page\n%s", tt.path, res.Status, tt.status, tt.want, res.Body)
		}
		for header, want := range map[string]string{
			"Content-Security-Policy": "default-src 'none'",
			"Content-Type":            "text/html; charset=UTF-8",
			"X-Content-Type-Options":  "nosniff",
			"Referrer-Policy":         "same-origin",
			"Cache-Control":           "private, no-cache",
		} {
			if got := res.Header.Get(header); !strings.HasPrefix(got, want) {
				t.Errorf("GET %s: got %s %q, want %q", tt.path, header, got, want)
			}
		}
		head := guest.Do(http.MethodHead, tt.path, "", "")
		if head.Status != tt.status || head.Body != "" {
			t.Errorf("HEAD %s: got %d and %d bytes, want %d and none", tt.path, head.Status, len(head.Body), tt.status)
		}
	}
	if res := guest.Post("/online", nil); res.Status != 405 || !strings.Contains(res.Header.Get("Allow"), "GET") {
		t.Errorf("POST /online: got %d and Allow %q, want 405 and GET", res.Status, res.Header.Get("Allow"))
	}
	if res := guest.Get("/login"); !strings.Contains(res.Header.Get("Allow"), "POST") {
		t.Errorf("GET /login: got Allow %q, want POST", res.Header.Get("Allow"))
	}
}

// TestPolicy: the pages hold nothing that their own policy forbids.
func TestPolicy(t *testing.T) {
	t.Parallel()
	alice := forumtest.Start(t).User(t, "Alice")
	for _, path := range []string{"/", "/threads/1", "/online", "/online/places", "/rules", "/nowhere"} {
		res := alice.Get(path)
		if policy := res.Header.Get("Content-Security-Policy"); strings.Contains(policy, "unsafe") || strings.Contains(policy, "*") {
			t.Errorf("%s: got policy %q, want a strict one", path, policy)
		}
		inline := regexp.MustCompile(`(?i)<style|\sstyle=|\son[a-z]+=|javascript:|<script(?:[^>](?:[^>]*\bsrc=)?)*>[^<]`)
		if found := inline.FindString(res.Body); found != "" {
			t.Errorf("%s: got %q inline, want nothing", path, found)
		}
	}
}

// TestLinks: whatever a page links to is there.
func TestLinks(t *testing.T) {
	t.Parallel()
	guest := forumtest.Start(t).Visitor(t)
	link := regexp.MustCompile(`(?:href|src)="(/[^"#]*)"`)
	seen := map[string]bool{"/": true, "/presence": true} // the latter is a prefix
	for queue := []string{"/"}; len(queue) > 0; queue = queue[1:] {
		res := guest.Get(queue[0])
		if res.Status != http.StatusOK {
			t.Errorf("GET %s: got %d, want 200", queue[0], res.Status)
		}
		if strings.Contains(queue[0], "/static/") && !strings.Contains(res.Header.Get("Cache-Control"), "immutable") {
			t.Errorf("GET %s: got Cache-Control %q, want immutable", queue[0], res.Header.Get("Cache-Control"))
		}
		for _, m := range link.FindAllStringSubmatch(res.Body, -1) {
			m[1] = html.UnescapeString(m[1])
			if !seen[m[1]] {
				seen[m[1]] = true
				queue = append(queue, m[1])
			}
		}
	}
	if len(seen) < 9 { // five pages, the sheets, the icon, the script
		t.Errorf("got %d links, want more: %v", len(seen), seen)
	}
}

// TestTopics: the site's topic and those of the threads there are may be seen,
// and of all others nobody learns whether they exist.
func TestTopics(t *testing.T) {
	t.Parallel()
	guest := forumtest.Start(t).Visitor(t)
	for topic, want := range map[string]int{
		"site": 200, "thread:1": 200, "thread:3": 200,
		"thread:4": 403, "thread:01": 403, "staff": 403, "": 400, "../x": 400, strings.Repeat("t", 129): 400,
	} {
		if res := guest.Get("/presence/roster?topic=" + url.QueryEscape(topic)); res.Status != want {
			t.Errorf("roster of %q: got %d, want %d: %s", topic, res.Status, want, res.Body)
		}
	}
}

// TestFullThread: a thread's page stays short however many are in the forum, and
// leads to them all.
func TestFullThread(t *testing.T) {
	t.Parallel()
	f := forumtest.Start(t)
	for i := range 20 {
		f.User(t, fmt.Sprint("user-", i)).Get("/")
	}
	guest := f.Visitor(t)
	var page string
	forumtest.Await(t, "twenty users", func() bool {
		page = guest.Get("/threads/1").Body
		return strings.Contains(page, `value="20" data-count="online"`)
	})
	if shown := strings.Count(page, "data-user="); shown != 16 || !strings.Contains(page, `<a href="/online" data-text="more">and 4 more</a>`) {
		t.Errorf("got %d users shown, want 16 and a link to 4 more\n%s", shown, page)
	}
	if all := strings.Count(guest.Get("/online").Body, "data-user="); all != 20 {
		t.Errorf("got %d users on the page of all, want 20", all)
	}
}

// TestLongHeaders: each open stream keeps its request's header.
func TestLongHeaders(t *testing.T) {
	t.Parallel()
	guest := forumtest.Start(t).Visitor(t)
	if res := guest.Get("/presence/roster?topic=site&x=" + strings.Repeat("x", maxHeader+8<<10)); res.Status != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("a header of 40 KiB: got %d, want 431", res.Status)
	}
}

// TestStatistics: without script the pages say who was here lately, the most there ever
// were, and where everybody is; of the readers of the rules their number alone.
func TestStatistics(t *testing.T) {
	t.Parallel()
	f := forumtest.Start(t)
	for _, name := range []string{"Alice", "Carol"} {
		u := f.User(t, name)
		u.Get("/")
		u.Stream("topic=site&topic=thread:1")
	}
	f.User(t, "Bob").Stream("topic=site&topic=rules")
	guest := f.Visitor(t)
	for path, patterns := range map[string][]string{
		"/": {
			`<li data-recent="carol" data-group="moderator">.*online now`, // the legend's group
			`part=recent&amp;topic=site&amp;within=24h">.*data-recent="alice"`,
			`Most users ever online: <data value="3">3</data>, <time datetime="2`,
			`<li data-place="thread:1"><a class="presence-place" href="/threads/1"><bdi>What are you`,
			`topic="thread:1" value="2" src="/presence"[^>]*>2</online-count> viewing`,
			`<ul class="presence-legend".*Moderators`,
		},
		"/online":        {`data-user="alice".*href="/threads/1".*since <time.*active <time[^>]*>(just now|\d+ minutes? ago)`},
		"/online/places": {`<li data-person="carol" data-group="moderator">`, `href="/rules"><bdi>The rules</bdi></a> <span class="presence-there"><span><data value="1">1</data> member here</span></span></li>`},
		"/rules":         {`<data value="1" data-count="online">1</data>`},
	} {
		for _, pattern := range patterns {
			re, last := regexp.MustCompile(`(?s)`+pattern), ""
			forumtest.Await(t, path+" with "+pattern, func() bool { last = guest.Get(path).Body; return re.MatchString(last) })
		}
	}
	if body := guest.Get("/rules").Body; strings.Contains(body, "bob") || strings.Contains(body, "data-user") {
		t.Errorf("the page of the rules names who reads them:\n%s", body)
	}
}
