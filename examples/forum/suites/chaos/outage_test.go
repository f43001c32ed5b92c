package chaos_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/examples/forum/internal/forumtest"
	"github.com/rollcall-go/rollcall/internal/need"
	"github.com/rollcall-go/rollcall/internal/redistest"
)

// checkTime bounds how long the forum waits for Redis at its start.
const checkTime = 5 * time.Second

// TestRedisHangs: a forum whose Redis accepts and never answers starts, serves
// pages as fast as ever, says that what it shows is stale, and begins or goes on
// when Redis answers.
func TestRedisHangs(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	proxy := forumtest.NewHangingProxy(t, "unix", redis.Socket)
	proxy.Freeze()
	n := &forumtest.Node{T: t, Addr: need.FreeAddr(t), Args: []string{"-redis", proxy.URL(), "-ttl", "3s", "-grace", "1s", "-sweep", "200ms"}}
	begin := time.Now()
	n.Run()
	t.Cleanup(n.Kill)
	if took := time.Since(begin); took > checkTime+5*time.Second {
		t.Errorf("starting took %v, want little more than %v", took, checkTime)
	}
	f, well := &forumtest.Forum{URL: n.URL("")}, forumtest.Start(t)
	well.Ready(t)
	alice, calm := f.User(t, "alice"), well.User(t, "alice")
	pages(t, alice, calm)
	if res := alice.Get("/presence/roster?topic=site"); res.Status != http.StatusServiceUnavailable || res.Header.Get("Retry-After") == "" {
		t.Errorf("a roster that nobody knows: got %d, want 503 and Retry-After", res.Status)
	}

	proxy.Thaw()
	forumtest.Await(t, "alice to be online", func() bool { return alice.Roster().Users["alice"] != nil })
	stream := f.User(t, "bob").Stream("topic=site")
	forumtest.Await(t, "bob to be online", func() bool { return alice.Roster().Users["bob"] != nil })

	proxy.Freeze()
	pages(t, alice, calm)
	forumtest.Await(t, "the roster to be stale", func() bool { return alice.Roster().Stale })
	pages(t, alice, calm)
	if page := alice.Get("/").Body; !strings.Contains(page, `data-live="off"`) || !strings.Contains(page, ">Connection lost, list from ") {
		t.Errorf("want a page that says that its list is old\n%s", page)
	}
	if res := alice.Post("/status", url.Values{"status": {"away"}}); res.Status != http.StatusServiceUnavailable || !strings.Contains(res.Body, "could not be set") {
		t.Errorf("a status: got %d, want 503 and a page that says so\n%s", res.Status, res.Body)
	}
	if roster := alice.Roster(); roster.Users["bob"] == nil {
		t.Errorf("got %+v while Redis hangs, want the last that was known", roster)
	}
	stream.Until("the page to be told", func(e forumtest.Event) bool { return e.Stale })
	time.Sleep(3 * time.Second) // every lease expires
	proxy.Thaw()
	forumtest.Await(t, "the roster to be current", func() bool { return !alice.Roster().Stale })
	stream.Until("the page to be told", func(e forumtest.Event) bool {
		if len(e.Leaves) > 0 {
			t.Errorf("got %+v, want nobody to leave", e)
		}
		return e.Type == "heartbeat" && !e.Stale
	})
}

// pages asks for pages, which must come as quickly as those of a forum without Redis
// do now: half of them within 50 ms more.
func pages(t *testing.T, v, calm *forumtest.Visitor) {
	t.Helper()
	var took, well []time.Duration
	get := func(v *forumtest.Visitor, path string) time.Duration {
		begin := time.Now()
		if res := v.Get(path); res.Status != http.StatusOK {
			t.Errorf("%s: got %d, want 200", path, res.Status)
		}
		return time.Since(begin)
	}
	for range 5 {
		for _, path := range []string{"/", "/threads/2", "/online"} {
			took = append(took, get(v, path))
			well = append(well, get(calm, path))
		}
	}
	slices.Sort(took)
	slices.Sort(well)
	half, last := len(took)/2, len(took)-1
	t.Logf("a page in %v, at most %v; without Redis in %v, at most %v", took[half], took[last], well[half], well[last])
	if got := took[half] - well[half]; got > 50*time.Millisecond {
		t.Errorf("a page took %v longer, want less than 50ms; all: %v, without Redis: %v", got, took, well)
	}
	if got := took[last] - well[last]; got > 500*time.Millisecond { // one that waits, as long as Redis is not known to be out
		t.Errorf("a page took %v longer, want none to wait for long; all: %v, without Redis: %v", got, took, well)
	}
}
