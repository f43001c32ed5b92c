package main

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/internal/redistest"
)

// TestRedisHangs: a forum whose Redis accepts and never answers starts, serves
// pages as fast as ever, says that what it shows is stale, and begins or goes on
// when Redis answers.
func TestRedisHangs(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	proxy := newHangingProxy(t, "unix", redis.Socket)
	proxy.freeze()
	n := &node{t: t, addr: redistest.FreeAddr(t), args: []string{"-redis", proxy.url(), "-ttl", "3s", "-grace", "1s", "-sweep", "200ms"}}
	begin := time.Now()
	n.run()
	t.Cleanup(n.kill)
	if took := time.Since(begin); took > checkTime+5*time.Second {
		t.Errorf("starting took %v, want little more than %v", took, checkTime)
	}
	f, well := &forum{url: n.url("")}, start(t)
	well.ready(t)
	alice, calm := f.user(t, "alice"), well.user(t, "alice")
	pages(t, alice, calm)
	if res := alice.get("/presence/roster?topic=site"); res.status != http.StatusServiceUnavailable || res.header.Get("Retry-After") == "" {
		t.Errorf("a roster that nobody knows: got %d, want 503 and Retry-After", res.status)
	}

	proxy.thaw()
	await(t, "alice to be online", func() bool { return alice.roster().Users["alice"] != nil })
	stream := f.user(t, "bob").stream("topic=site")
	await(t, "bob to be online", func() bool { return alice.roster().Users["bob"] != nil })

	proxy.freeze()
	pages(t, alice, calm)
	await(t, "the roster to be stale", func() bool { return alice.roster().Stale })
	pages(t, alice, calm)
	if page := alice.get("/").body; !strings.Contains(page, `data-live="off"`) || !strings.Contains(page, ">Connection lost, list from ") {
		t.Errorf("want a page that says that its list is old\n%s", page)
	}
	if res := alice.post("/status", url.Values{"status": {"away"}}); res.status != http.StatusServiceUnavailable || !strings.Contains(res.body, "could not be set") {
		t.Errorf("a status: got %d, want 503 and a page that says so\n%s", res.status, res.body)
	}
	if roster := alice.roster(); roster.Users["bob"] == nil {
		t.Errorf("got %+v while Redis hangs, want the last that was known", roster)
	}
	stream.until("the page to be told", func(e event) bool { return e.Stale })
	time.Sleep(3 * time.Second) // every lease expires
	proxy.thaw()
	await(t, "the roster to be current", func() bool { return !alice.roster().Stale })
	stream.until("the page to be told", func(e event) bool {
		if len(e.Leaves) > 0 {
			t.Errorf("got %+v, want nobody to leave", e)
		}
		return e.Type == "heartbeat" && !e.Stale
	})
}

// pages asks for pages, which must come as quickly as those of a forum without Redis
// do now: half of them within 50 ms more.
func pages(t *testing.T, v, calm *visitor) {
	t.Helper()
	var took, well []time.Duration
	get := func(v *visitor, path string) time.Duration {
		begin := time.Now()
		if res := v.get(path); res.status != http.StatusOK {
			t.Errorf("%s: got %d, want 200", path, res.status)
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

// roster returns the site's, without users where it cannot be had.
func (v *visitor) roster() (e event) {
	v.t.Helper()
	if res := v.get("/presence/roster?topic=site"); res.status == http.StatusOK {
		if err := json.Unmarshal([]byte(res.body), &e); err != nil {
			v.t.Fatal(err)
		}
	}
	return e
}

func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for began := time.Now(); !ok(); time.Sleep(50 * time.Millisecond) {
		if time.Since(began) > patience {
			t.Fatalf("waited %v for %s", patience, what)
		}
	}
}
