package main

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestRosterPages: everybody is on one of the pages, without script.
func TestRosterPages(t *testing.T) {
	t.Parallel()
	f := start(t)
	const users = 230
	for i := range users {
		f.user(t, fmt.Sprintf("user%d", i)).get("/")
	}
	reader := f.visitor(t)
	for deadline := time.Now().Add(patience); !strings.Contains(reader.get("/presence/roster?limit=1").body, `"total":230`); {
		if time.Now().After(deadline) {
			t.Fatal("the page views were not recorded")
		}
	}
	seen := make(map[string]bool)
	next := regexp.MustCompile(`href="(/online\?after=[^"]+)" rel="next"`)
	name := regexp.MustCompile(`data-(?:user|presence-dot)="(user\d+)"`)
	path, pages := "/online", 0
	for path != "" && pages < 10 {
		page := reader.get(path)
		if page.status != 200 {
			t.Fatalf("GET %s: got %d", path, page.status)
		}
		pages++
		for _, m := range name.FindAllStringSubmatch(page.body, -1) {
			seen[m[1]] = true
		}
		path = ""
		if m := next.FindStringSubmatch(page.body); m != nil {
			path = strings.ReplaceAll(m[1], "&amp;", "&")
		}
	}
	if len(seen) != users || pages != 3 {
		t.Errorf("got %d users on %d pages, want %d on 3", len(seen), pages, users)
	}
	if res := reader.get("/online?after=nonsense"); res.status != 400 {
		t.Errorf("a page that is none: got %d, want 400", res.status)
	}
}
