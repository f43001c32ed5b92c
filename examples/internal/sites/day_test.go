package sites_test

import (
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/internal/redistest"
)

// TestDay: on a site that is wired as it should be, two users go about their day, and
// every page is right all the while.
func TestDay(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"echov4", "echov5", "nethttp"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redis := redistest.Start(t)
			site := start(t, name, "-redis", redis.URL())
			alice, bob := open(site, "Alice", "/"), open(site, "Bob", "/members")
			alice.live()
			alice.signIn("alice")
			bob.signIn("bob")
			alice.streamsAs("alice")
			bob.streamsAs("bob")
			alice.click("members", "Members")
			both := []string{"alice", "bob"}
			hold := func(during string, do func()) {
				t.Helper()
				for _, tb := range []*tab{alice, bob} {
					tb.live()
					tb.expect(both, []string{"dave"})
				}
				do()
				for _, tb := range []*tab{alice, bob} {
					tb.live()
					tb.held(during)
				}
			}

			hold("beats and clicks", func() {
				for began, i := time.Now(), 0; time.Since(began) < 3*ttl; i++ {
					bob.click([]string{"home", "members", "room"}[i%3], []string{"Home", "Members", "Room 1"}[i%3])
					time.Sleep(ttl / 8)
				}
			})
			hold("in the same room", func() {
				alice.click("room", "Room 1")
				bob.click("room", "Room 1")
				for _, tb := range []*tab{alice, bob} {
					tb.until(`users("room:1")`, "alice,bob")
				}
				alice.click("members", "Members")
				bob.until(`users("room:1")`, "bob")
			})
			hold("killed and started again", func() {
				site.kill()
				time.Sleep(ttl / 6)
				site.run()
			})
			hold("Redis out and back", func() {
				redis.Kill()
				time.Sleep(ttl / 2)
				redis.Run()
				time.Sleep(ttl / 2)
			})

			// Bob signs out, and Carol signs in at his browser.
			alice.until(`document.querySelector("#of-bob .seen").textContent`, "online now")
			bob.signOut()
			alice.until(`users("site")`, "alice")
			alice.until(`dot("bob")`, "offline")
			alice.until(`document.querySelector("#of-bob .seen").textContent`, "just now")
			alice.until(`document.querySelector("#count").textContent.trim()`, "1 online")
			bob.until(`users("site")`, "alice")
			bob.live()
			bob.signIn("carol")
			bob.streamsAs("carol")
			both = []string{"alice", "carol"}
			hold("another user in the same document", func() { time.Sleep(ttl + ttl/2 + grace) })
			alice.expect(both, []string{"bob"})
			alice.until(`document.querySelector("#count").textContent.trim()`, "2 online")
			alice.held("Carol is there")

			began := time.Now()
			bob.close()
			alice.until(`users("site")`, "alice")
			if took := time.Since(began); took > grace+ttl {
				t.Errorf("Carol closed her browser, and stayed for %v", took)
			}
			logged(t, site, "the store is out", "the store is back")
		})
	}
}
