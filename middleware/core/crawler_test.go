package core_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/middleware/core"
	"github.com/rollcall-go/rollcall/middleware/nethttp"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
)

const googlebot = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"

// Crawlers are named by a table, and those that only say that they are one share a name.
func TestCrawlerNames(t *testing.T) {
	for userAgent, want := range map[string]string{
		googlebot:             "Googlebot",
		"Googlebot-Image/1.0": "Googlebot",
		"AdsBot-Google (+http://www.google.com/adsbot.html)": "Google AdsBot",
		"Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm) Chrome/116.0.1938.76 Safari/537.36":                        "Bingbot",
		"DuckDuckBot/1.1; (+http://duckduckgo.com/duckduckbot.html)":                                                                                                              "DuckDuckBot",
		"Mozilla/5.0 (compatible; YandexImages/3.0; +http://yandex.com/bots)":                                                                                                     "YandexBot",
		"Mozilla/5.0 (compatible; Baiduspider/2.0; +http://www.baidu.com/search/spider.html)":                                                                                     "Baiduspider",
		"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.4 Safari/605.1.15 (Applebot/0.1; +http://www.apple.com/go/applebot)": "Applebot",
		"facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)":                                                                                               "Facebook",
		"Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)":                                                                  "GPTBot",
		"Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; ClaudeBot/1.0; +claudebot@anthropic.com)":                                                                 "ClaudeBot",
		"SiteCrawler 3":             "Other bots",
		"my-spider":                 "Other bots",
		"x (+https://example.com/)": "Other bots",
		"curl/8.5.0":                "",
		"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36": "",
		strings.Repeat("x", 600) + " bot Googlebot":                                                             "Other bots", // too long to be one
		"Mozilla/5.0 (compatible; Yahoo! Slurp; http://help.yahoo.com/help/us/ysearch/slurp)":                   "Yahoo Slurp",
		"Mozilla/5.0 (compatible; Google-InspectionTool/1.0;)":                                                  "Google Inspection",
		"Mediapartners-Google": "Google AdSense",
		"Mozilla/5.0 (Linux; Android 5.0) AppleWebKit/537.36 (KHTML, like Gecko) Mobile Safari/537.36 (compatible; Bytespider; spider-feedback@bytedance.com)": "Bytespider",
		"Twitterbot/1.0": "Twitterbot",
		"CCBot/2.0":      "CCBot",
		"":               "",
		"bo":             "",
		iPhone:           "",
		"Mozilla/5.0 (Linux; Android 13; CUBOT NOTE 40) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Mobile Safari/537.36": "",
		"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/142.0.0.0 Safari/537.36":               "",
	} {
		if got := core.CrawlerName(userAgent); got != want {
			t.Errorf("%.80s: got %q, want %q", userAgent, got, want)
		}
	}
	for _, name := range core.CrawlerNames() {
		if len(name) > backend.MaxBotName || strings.ContainsAny(name, `"\`) {
			t.Errorf("%q is not the name of a bot", name)
		}
	}
	if len(core.CrawlerNames()) > backend.MaxBots {
		t.Error("there are more names than a topic counts")
	}
}

// botSite returns a site that counts crawlers. The address is in the header X-Addr.
func botSite(t *testing.T, configure func(*nethttp.Config)) *site {
	t.Helper()
	return newNodeWith(t, memstore.New(), track.Config{Kinds: map[string]presence.Kind{"site": {Bots: true}}}, configure)
}

func byAddr(r *http.Request) string { return r.Header.Get("X-Addr") }

// A crawler is counted by its name and a hash of its address, once in the throttle. It gets
// no cookie and is no guest, not even with the cookie of one. A user is a user.
func TestCrawlersAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := botSite(t, func(c *nethttp.Config) { c.ClientIP = byAddr })
		bot := func(userAgent, address string) *browser {
			b := s.browser("")
			b.header.Set("User-Agent", userAgent)
			b.header.Set("X-Addr", address)
			return b
		}
		google := bot(googlebot, "192.0.2.1")
		google.get("/")
		s.expect("Googlebot")
		for _, path := range []string{"/", "/threads/1", "/site.css", "/presence/roster", "/presence/events"} {
			google.get(path)
			if s.visitor.Guest != "" || len(google.cookies) > 0 {
				t.Errorf("%s: got guest %q and cookies %v, want neither", path, s.visitor.Guest, google.cookies)
			}
		}
		s.expect()
		bot(googlebot, "192.0.2.2").get("/")
		s.expect("Googlebot")
		bot("Twitterbot/1.0", "192.0.2.1").get("/")
		s.expect("Twitterbot")
		bot("a spider", "2001:db8::1").get("/")
		s.expect("Other bots")
		bot("a spider", "2001:db8::2").get("/") // of the same network
		s.expect()
		time.Sleep(time.Minute)
		google.get("/")
		s.expect("Googlebot")
		if len(s.store.bots) != 4 {
			t.Errorf("got the bots %v, want 4", s.store.bots)
		}
		for id := range s.store.bots {
			if id == "" || strings.Contains(id, "192.0.2") {
				t.Errorf("got id %q, want a hash", id)
			}
		}

		guest := bot(googlebot, "192.0.2.3")
		guest.cookies["presence"] = "0." + newID(t) + ".-"
		guest.get("/")
		s.expect("Googlebot")
		if s.visitor.Guest != "" || len(guest.set) > 0 {
			t.Errorf("got guest %q and %v set, want neither", s.visitor.Guest, guest.set)
		}
		alice := bot(googlebot, "192.0.2.4")
		alice.user = "alice"
		alice.get("/")
		s.expect("alice")
	})
}

// Nodes hash the address of a crawler alike.
func TestCrawlerOfAnotherNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := botSite(t, nil), botSite(t, nil)
		for _, s := range []*site{a, b} {
			google := s.browser("")
			google.header.Set("User-Agent", googlebot)
			google.get("/")
			s.expect("Googlebot")
		}
		if got := fmt.Sprint(a.store.bots); got != fmt.Sprint(b.store.bots) {
			t.Errorf("got %v and %v, want the same id", got, b.store.bots)
		}
	})
}

// A site that does not ask for bots counts none, neither by its page views nor by a stream that
// comes with somebody's cookie. A user is no crawler.
func TestCrawlersAreNotCountedUnlessAskedFor(t *testing.T) {
	for agent, want := range map[string][]string{googlebot: nil, firefox: {"guest"}} {
		synctest.Test(t, func(t *testing.T) {
			s := newSite(t, nil)
			b := s.with(agent, "")
			b.get("/")
			b.get("/")
			s.expect(want...)
			b.cookies["presence"] = "0.AAAAAAAAAAAAAAAA.-"
			b.get("/presence/events")
			if got := s.visitor.Guest != ""; got != (want != nil) {
				t.Errorf("%s: got guest %q at a stream, want one: %t", agent, s.visitor.Guest, want != nil)
			}
			b.user = "alice"
			b.get("/")
			s.expect("alice")
		})
	}
}
