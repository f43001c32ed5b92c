package main

import (
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/rollcall-go/rollcall/examples/forum/internal/forumtest"
	"github.com/rollcall-go/rollcall/internal/redistest"
)

// TestACL: the user that SECURITY.md makes in Redis may do what presence needs, and
// touch nothing else.
func TestACL(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	_, line, ok := strings.Cut(string(text), "\nACL SETUSER ")
	line, _, _ = strings.Cut(line, "\n")
	if !ok || !strings.HasPrefix(line, "presence reset on >PASSWORD -@all ") {
		t.Fatalf("got %q, want a line that makes a user and begins with no rights", line)
	}
	server := redistest.StartTCP(t)
	admin := redis.NewClient(&redis.Options{Addr: server.Addr})
	defer admin.Close()
	args := []any{"ACL", "SETUSER"}
	for _, word := range strings.Fields(line) {
		args = append(args, word)
	}
	if err := admin.Do(t.Context(), args...).Err(); err != nil {
		t.Fatal(err)
	}

	f := forumtest.Start(t, "-redis", "redis://presence:PASSWORD@"+server.Addr, "-sweep", "100ms")
	watcher := f.Visitor(t).Stream("topic=site")
	alice := f.User(t, "Alice")
	alice.Get("/")
	page := alice.Stream("topic=site&topic=thread:1")
	watcher.Join("alice")
	if res := alice.Post("/status", url.Values{"status": {"busy"}}); res.Status != http.StatusSeeOther {
		t.Errorf("a status: got %d, want 303", res.Status)
	}
	alice.Post("/logout", nil)
	watcher.Leave("alice")
	page.Drain()

	limited := redis.NewClient(&redis.Options{Addr: server.Addr, Username: "presence", Password: "PASSWORD"})
	defer limited.Close()
	for _, command := range []string{
		"GET other", "SET other x", "PUBLISH other x", "FLUSHALL", "FLUSHDB", "KEYS *", "CONFIG GET *", "ACL LIST", "SCRIPT FLUSH", "FUNCTION FLUSH",
		"CLIENT LIST", "SHUTDOWN", "MONITOR", "REPLICAOF NO ONE", "MIGRATE 127.0.0.1 1 presence 0 1",
	} {
		args = args[:0]
		for _, word := range strings.Fields(command) {
			args = append(args, word)
		}
		if err := limited.Do(t.Context(), args...).Err(); err == nil || !strings.HasPrefix(err.Error(), "NOPERM") {
			t.Errorf("%s: got %v, want NOPERM", command, err)
		}
	}
}
