package chaos_test

import (
	"fmt"
	"testing"

	"github.com/rollcall-go/rollcall/examples/forum/internal/forumtest"
	"github.com/rollcall-go/rollcall/internal/redistest"
)

// A killed node takes its users with it long before their leases have expired, and another
// node that starts under its name does not keep them.
func TestCrash(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	flags := []string{"-redis", redis.URL(), "-ttl", "10m", "-node-ttl", "5s"}
	dies, stays := forumtest.Start(t, append(flags, "-node", "a")...), forumtest.Start(t, append(flags, "-node", "b")...)
	reader := stays.Visitor(t).Stream("topic=site")
	for i := range 10 {
		query := []string{"topic=site", "topic=site&topic=thread:1&beat=1"}[i%2]
		dies.User(t, fmt.Sprint("user", i)).Stream(query)
		reader.Join(fmt.Sprint("user", i))
	}
	stays.User(t, "Returns").Stream("topic=site")
	dies.User(t, "Returns").Stream("topic=site")
	reader.Join("returns")

	dies.Kill(t)
	again := forumtest.Start(t, append(flags, "-node", "a")...)
	again.User(t, "New").Stream("topic=site")
	reader.Join("new")
	gone := make(map[string]bool)
	for len(gone) < 10 { // forumtest waits for less than ten minutes
		event := reader.Until("a leave", func(e forumtest.Event) bool { return len(e.Leaves) > 0 })
		for id := range event.Leaves {
			gone[id] = true
		}
	}
	if gone["returns"] || gone["new"] {
		t.Errorf("%v left, want only those of the killed node", gone)
	}
}
