package sites_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence"

	"github.com/rollcall-go/rollcall/examples/internal/sites/site"
)

// TestMistake: a site that makes a mistake of wiring says so in one line of its log, which
// names the cure, and in the browser's console. Whatever can work, works.
func TestMistake(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		site    string
		mistake site.Mistake
		finding presence.Finding
		try     func(t *testing.T, p *process)
	}{
		{"echov4", site.CSRF, presence.BeatsRefused, stayOnline},
		{"nethttp", site.CSRF, presence.BeatsRefused, stayOnline},
		{"echov4", site.Authorize, presence.TopicRefused, keepOthersLive},
		{"echov4", site.NoMiddleware, presence.NoMiddleware, seeOnly},
		{"nethttp", site.NoMiddleware, presence.NoMiddleware, seeOnly},
		{"echov4", site.Timeout, presence.AnswersCollected, seeOnly},
		{"nethttp", site.Timeout, presence.AnswersCollected, seeOnly},
		{"echov5", site.Unwrapped, presence.AnswersCollected, seeOnly},
		{"echov5", site.Prefix, presence.WrongPrefix, func(t *testing.T, p *process) { seeQuietly(t, p) }},
		{"echov5", site.Proxy, presence.UnnamedProxy, throughProxy},
	} {
		t.Run(tt.site+" "+string(tt.mistake), func(t *testing.T) {
			t.Parallel()
			p := start(t, tt.site, "-mistake", string(tt.mistake))
			tt.try(t, p)
			logged(t, p, "finding="+tt.finding.String())
		})
	}
}

// stayOnline: both users stay for longer than a lease on a site that refuses all beats.
func stayOnline(t *testing.T, p *process) {
	alice, bob := open(p, "Alice", "/members"), open(p, "Bob", "/members")
	alice.signIn("alice")
	bob.signIn("bob")
	alice.click("members", "Members")
	for _, tb := range []*tab{alice, bob} {
		tb.live()
		tb.expect([]string{"alice", "bob"}, nil)
	}
	time.Sleep(3 * ttl)
	for _, tb := range []*tab{alice, bob} {
		tb.held("beats are refused")
		tb.live()
		tb.warned("Exempt the presence endpoints from CSRF checks")
		if n := strings.Count(tb.requests(), "POST beat"); n != 1 {
			t.Errorf("%s's page sent %d beats to a site that refuses them, want 1", tb.who, n)
		}
	}
	bob.close()
	alice.until(`users("site")`, "alice")
}

// keepOthersLive: the widget of a topic that nobody may see leaves the other one live.
func keepOthersLive(t *testing.T, p *process) {
	// A guest's page of the room, before anybody has signed in, is the finding no-user: the sessions may be missing.
	alice, bob := open(p, "Alice", "/"), open(p, "Bob", "/")
	alice.signIn("alice")
	alice.click("room", "Room 1")
	alice.live()
	alice.until(`document.querySelector('whos-online[topic="room:1"]').dataset.live`, "off")
	bob.signIn("bob")
	alice.until(`users("site")`, "alice,bob")
	alice.until(`[...document.querySelectorAll("whos-online .presence-lost")].map((p) => p.textContent).join("")`, "")
	alice.warned("Config.Authorize")
	bob.close()
	alice.until(`users("site")`, "alice")
}

// seeOnly: the page shows who was there when it was loaded. What it asks for is refused, or
// works as a guest's, or takes another way.
func seeOnly(t *testing.T, p *process) { seeQuietly(t, p).warns() }

// seeQuietly is seeOnly where not even the script comes to the page.
func seeQuietly(t *testing.T, p *process) *tab {
	alice := open(p, "Alice", "/")
	alice.signIn("alice")
	alice.click("members", "Members")
	alice.until(`users("site")`, "alice")
	time.Sleep(ttl / 2)
	return alice
}

// throughProxy: a guest comes through a proxy that the site does not know of.
func throughProxy(t *testing.T, p *process) {
	r, err := http.NewRequest("GET", "http://"+p.addr+"/presence/roster?topic=site", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Forwarded-For", "203.0.113.7")
	for range 3 {
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
	}
}
