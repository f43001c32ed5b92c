package main

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/examples/forum/internal/forumtest"
)

// TestRosterPages: everybody is on one of the pages, without script.
func TestRosterPages(t *testing.T) {
	t.Parallel()
	f := forumtest.Start(t)
	const users = 230
	for i := range users {
		f.User(t, fmt.Sprintf("user%d", i)).Get("/")
	}
	reader := f.Visitor(t)
	for deadline := time.Now().Add(forumtest.Patience); !strings.Contains(reader.Get("/presence/roster?limit=1").Body, `"total":230,"guests"`); {
		if time.Now().After(deadline) {
			t.Fatal("the page views were not recorded")
		}
	}
	seen := make(map[string]bool)
	next := regexp.MustCompile(`href="(/online\?after=[^"]+)" rel="next"`)
	name := regexp.MustCompile(`data-(?:user|presence-dot)="(user\d+)"`)
	path, pages := "/online", 0
	for path != "" && pages < 10 {
		page := reader.Get(path)
		if page.Status != 200 {
			t.Fatalf("GET %s: got %d", path, page.Status)
		}
		pages++
		for _, m := range name.FindAllStringSubmatch(page.Body, -1) {
			seen[m[1]] = true
		}
		path = ""
		if m := next.FindStringSubmatch(page.Body); m != nil {
			path = strings.ReplaceAll(m[1], "&amp;", "&")
		}
	}
	if len(seen) != users || pages != 3 {
		t.Errorf("got %d users on %d pages, want %d on 3", len(seen), pages, users)
	}
	if res := reader.Get("/online?after=nonsense"); res.Status != 400 {
		t.Errorf("a page that is none: got %d, want 400", res.Status)
	}
}
