package main

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rollcall-go/rollcall/examples/forum/internal/forumtest"
	"github.com/rollcall-go/rollcall/presence"
)

const editPath = "/threads/1/posts/1/edit"

// revisionIn returns the revision that the form of a page is about.
func revisionIn(t *testing.T, page string) string {
	t.Helper()
	found := regexp.MustCompile(`name="revision" value="(\d+)"`).FindStringSubmatch(page)
	if found == nil {
		t.Fatalf("want a form with a revision\n%s", page)
	}
	return found[1]
}

// TestEdit: each member edits each post, whoever wrote it, in each kind of database; of two who
// edit at once the second one gets both texts.
func TestEdit(t *testing.T) {
	t.Parallel()
	for name, flags := range databases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := forumtest.Start(t, flags(t)...)
			alice, bob := f.User(t, "Alice"), f.User(t, "Bob")
			for _, v := range []*forumtest.Visitor{alice, bob} {
				page := v.Get(editPath)
				if page.Status != http.StatusOK || revisionIn(t, page.Body) != "1" || !strings.Contains(page.Body, "\nField beans, if you") || !strings.Contains(page.Body, "edited together") {
					t.Fatalf("got %d, want the form with Bob’s text\n%s", page.Status, page.Body)
				}
			}
			if page := f.Visitor(t).Get("/threads/1").Body; strings.Contains(page, ">edited<") || strings.Contains(page, "posts/1/edit") {
				t.Errorf("before: want no post marked, and no link for guests\n%s", page)
			}
			res := alice.Post(editPath, url.Values{"revision": {"1"}, "text": {" Field beans.\r\n\r\n<b>Rye</b>, says Alice. "}})
			if res.Status != http.StatusSeeOther || res.Header.Get("Location") != "/threads/1#post-1" {
				t.Fatalf("got %d to %q, want 303 to the post\n%s", res.Status, res.Header.Get("Location"), res.Body)
			}
			page := bob.Get("/threads/1").Body
			for _, want := range []string{`<p dir="auto">Field beans.</p><p dir="auto">&lt;b&gt;Rye&lt;/b&gt;, says Alice.</p>`, `<b>Bob</b>`, `>edited<`, `href="/threads/1/posts/1/edit"`} {
				if !strings.Contains(page, want) {
					t.Errorf("want %q on the thread's page\n%s", want, page)
				}
			}

			res = bob.Post(editPath, url.Values{"revision": {"1"}, "text": {"Oats, says Bob."}})
			if res.Status != http.StatusConflict || !strings.Contains(res.Body, "\nOats, says Bob.</textarea>") || !strings.Contains(res.Body, "&lt;b&gt;Rye&lt;/b&gt;, says Alice.") || revisionIn(t, res.Body) != "2" {
				t.Fatalf("got %d, want 409 with both texts and revision 2\n%s", res.Status, res.Body)
			}
			if page := bob.Get("/threads/1").Body; strings.Contains(page, "Oats") {
				t.Errorf("want nothing saved by the conflict\n%s", page)
			}
			if res := bob.Post(editPath, url.Values{"revision": {"2"}, "text": {"Both."}}); res.Status != http.StatusSeeOther {
				t.Errorf("the second save: got %d, want 303\n%s", res.Status, res.Body)
			}
			// The same text again is no new revision, whatever the form began with.
			if res := alice.Post(editPath, url.Values{"revision": {"1"}, "text": {"Both."}}); res.Status != http.StatusSeeOther {
				t.Errorf("the same text: got %d, want 303\n%s", res.Status, res.Body)
			}
			if page := alice.Get(editPath).Body; revisionIn(t, page) != "3" || !strings.Contains(page, "<bdi>Bob</bdi> saved it last") {
				t.Errorf("want revision 3, by Bob\n%s", page)
			}
			if front := alice.Get("/").Body; !regexp.MustCompile(`(?s)<b>4</b> replies`).MatchString(front) {
				t.Errorf("want as many replies as before\n%s", front)
			}
		})
	}
}

// TestBadEdits: who may not edit learns why, and what is wrong stands on the page with the text.
func TestBadEdits(t *testing.T) {
	t.Parallel()
	f := forumtest.Start(t)
	alice, guest := f.User(t, "Alice"), f.Visitor(t)
	form := url.Values{"revision": {"1"}, "text": {"x"}}
	for _, path := range []string{"/threads/1/posts/5/edit", "/threads/1/posts/-1/edit", "/threads/1/posts/01/edit", "/threads/1/posts/x/edit",
		"/threads/1/posts/+1/edit", "/threads/1/posts/99999999999/edit", "/threads/1/posts/2147483647/edit", "/threads/4/posts/0/edit", "/threads/x/posts/0/edit"} {
		if res := alice.Get(path); res.Status != http.StatusNotFound {
			t.Errorf("GET %s: got %d, want 404", path, res.Status)
		}
		if res := alice.Post(path, form); res.Status != http.StatusNotFound {
			t.Errorf("POST %s: got %d, want 404", path, res.Status)
		}
	}
	for _, res := range []forumtest.Response{guest.Get(editPath), guest.Post(editPath, form)} {
		if res.Status != http.StatusUnauthorized || !strings.Contains(res.Body, "Sign in first") {
			t.Errorf("a guest: got %d, want the page of 401\n%s", res.Status, res.Body)
		}
	}
	for _, form := range []url.Values{
		{"revision": {"1"}}, {"revision": {"1"}, "text": {" \r\n"}}, {"revision": {"1"}, "text": {strings.Repeat("y", 2_001)}},
		{"revision": {"1"}, "text": {"a\x00b"}}, {"text": {"yyy"}}, {"revision": {""}, "text": {"yyy"}}, {"revision": {"one"}, "text": {"yyy"}}, {"revision": {"-1"}, "text": {"yyy"}},
	} {
		res := alice.Post(editPath, form)
		if res.Status != http.StatusBadRequest || !strings.Contains(res.Body, `role="alert"`) || revisionIn(t, res.Body) != "1" ||
			strings.Contains(form.Get("text"), "yyy") && !strings.Contains(res.Body, "yyy") || !strings.Contains(res.Body, "<textarea") {
			t.Errorf("%.60v: got %d, want 400 with the reason and the text\n%.3000s", form, res.Status, res.Body)
		}
		if form.Get("revision") != "1" && !strings.Contains(res.Body, "Field beans, if you") {
			t.Errorf("%.60v: want the present text too\n%.3000s", form, res.Body)
		}
	}
	if res := alice.Post(editPath, url.Values{"revision": {"7"}, "text": {"x"}}); res.Status != http.StatusConflict {
		t.Errorf("a revision that is not there yet: got %d, want 409", res.Status)
	}
	mallory := f.User(t, "Mallory")
	mallory.Header = http.Header{"Origin": {"https://elsewhere.example"}, "Sec-Fetch-Site": {"cross-site"}}
	if res := mallory.Post(editPath, form); res.Status != http.StatusForbidden {
		t.Errorf("from another site: got %d, want 403", res.Status)
	}
	if page := alice.Get(editPath).Body; revisionIn(t, page) != "1" {
		t.Errorf("want nothing changed\n%s", page)
	}
}

// TestEditsAtOnce: of several who save the same revision at once exactly one does.
func TestEditsAtOnce(t *testing.T) {
	t.Parallel()
	for name, flags := range databases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDatabase(t, flags(t)...)
			const rounds, each = 3, 6
			for round := range rounds {
				var work sync.WaitGroup
				saved := make([]bool, each)
				for i := range each {
					work.Go(func() {
						var err error
						_, saved[i], err = d.edit(t.Context(), "", threads()[0], 2, round+1, fmt.Sprint("text ", round, " by ", i), presence.User{ID: "a", Name: fmt.Sprint(i)})
						if err != nil {
							t.Error(err)
						}
					})
				}
				work.Wait()
				page, err := d.postsOf(t.Context(), "", 1, 3, 1)
				if err != nil || len(page) != 1 {
					t.Fatalf("got %v and error %v, want the post", page, err)
				}
				winner := slices.Index(saved, true)
				if winner < 0 || slices.Contains(saved[winner+1:], true) || page[0].Raw != fmt.Sprint("text ", round, " by ", winner) || page[0].Revision != round+2 || page[0].Editor != fmt.Sprint(winner) {
					t.Errorf("round %d: saved by %v, and the post is %+v; want one, and its text", round, saved, page[0])
				}
			}
		})
	}
}

// TestEditLive: the feed of a thread has each post as it is now: one that a forum begins with, a
// reply, and a reply that is still in the outbox.
func TestEditLive(t *testing.T) {
	t.Parallel()
	f := forumtest.Start(t)
	alice, bob := f.User(t, "Alice"), f.User(t, "Bob")
	alice.Post("/threads/1/replies", url.Values{"text": {"Rye."}})
	stream := f.Visitor(t).Stream("topic=feed:thread:1")
	for _, n := range []string{"5", "1", "6"} {
		if n == "6" {
			alice.Post("/threads/1/replies", url.Values{"text": {"Barley."}})
		}
		for revision, v := range []*forumtest.Visitor{alice, bob} {
			text := fmt.Sprint("Post ", n, ", edit ", revision)
			if res := v.Post("/threads/1/posts/"+n+"/edit", url.Values{"revision": {fmt.Sprint(revision + 1)}, "text": {text}}); res.Status != http.StatusSeeOther {
				t.Fatalf("got %d, want 303\n%s", res.Status, res.Body)
			}
			stream.Until(text, func(e forumtest.Event) bool {
				return slices.ContainsFunc(e.Items, func(i forumtest.Item) bool {
					return i.ID == "post-"+n && i.Text == text && i.URL == "/threads/1#post-"+n
				})
			})
		}
	}
}

// TestSavedSignal: those who edit a post hear who has saved it, and the readers of a thread how
// many replies there are.
func TestSavedSignal(t *testing.T) {
	t.Parallel()
	f := forumtest.Start(t)
	alice, bob := f.User(t, "Alice"), f.User(t, "Bob")
	editors, readers := bob.Stream("topic=edit:1:3"), f.Visitor(t).Stream("topic=thread:1")
	editors.Join("bob")
	alice.Post("/threads/1/posts/3/edit", url.Values{"revision": {"1"}, "text": {"Cover it."}})
	alice.Post("/threads/1/replies", url.Values{"text": {"Rye."}})
	for want, s := range map[string]*forumtest.Stream{
		"[{saved   0 map[name:Alice revision:2]}]": editors,
		"[{replies   0 map[n:5]}]":                 readers,
	} {
		e := s.Until("a signal", func(e forumtest.Event) bool { return e.Type == "signal" })
		if got := fmt.Sprint(e.Signals); got != want {
			t.Errorf("got the signals %s, want %s", got, want)
		}
	}
}

// TestEditTopics: members who edit a post are present in its topic, and there is one for each
// post and for nothing else.
func TestEditTopics(t *testing.T) {
	t.Parallel()
	f := forumtest.Start(t)
	alice := f.User(t, "Alice")
	stream := alice.Stream("topic=edit:1:1")
	stream.Join("alice")
	bob := f.User(t, "Bob").Stream("topic=edit:1:1")
	stream.Join("bob")
	bob.Close()
	for _, topic := range []string{"edit:1:5", "edit:1:-1", "edit:1:01", "edit:1:", "edit:1", "edit:4:0", "edit:1:1:1", "edit:x:1"} {
		if res := alice.Get("/presence/roster?topic=" + topic); res.Status != http.StatusForbidden && res.Status != http.StatusBadRequest {
			t.Errorf("%s: got %d, want 403", topic, res.Status)
		}
	}
	if res := f.Visitor(t).Get("/presence/roster?topic=edit:1:1"); res.Status != http.StatusForbidden {
		t.Errorf("a guest: got %d, want 403", res.Status)
	}
	alice.Post("/threads/1/replies", url.Values{"text": {"Rye."}})
	if res := alice.Get("/presence/roster?topic=edit:1:5"); res.Status != http.StatusOK {
		t.Errorf("a post that is new: got %d, want 200\n%s", res.Status, res.Body)
	}
}
