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

// Crawlers are named by the list, and those that only say that they are one share a name.
func TestCrawlerNames(t *testing.T) {
	for userAgent, want := range map[string]string{
		googlebot:             "Googlebot",
		"Googlebot-Image/1.0": "Googlebot-Image",
		"Mozilla/5.0 (Linux; Android 6.0.1; Nexus 5X Build/MMB29P) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/41.0.2272.96 Mobile Safari/537.36 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)": "Googlebot",
		"AdsBot-Google (+http://www.google.com/adsbot.html)": "AdsBot-Google",
		"Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm) Chrome/116.0.1938.76 Safari/537.36":         "Bingbot",
		"Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.0 Mobile/15E148 Safari/604.1 BingPreview/1.0b": "BingPreview",
		"Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; Claude-User/1.0; +someone@example.com)":                                                    "Claude-User",
		"facebookexternalhit/1.1": "Facebookexternalhit",
		"meta-externalagent/1.1":  "Meta-externalagent",
		"GoogleOther":             "GoogleOther",
		"Mozilla/5.0 (compatible; YandexImages/3.0; +http://yandex.com/bots)":                 "Yandex.com",
		"Mozilla/5.0 (compatible; Baiduspider/2.0; +http://www.baidu.com/search/spider.html)": "Baiduspider",
		"Sogou web spider/4.0(+http://www.sogou.com/docs/help/webmasters.htm#07)":             "Sogou web spider",
		"Twitterbot/1.0":                  "Twitterbot",
		"SiteCrawler 3":                   backend.OtherBots,
		"my-spider":                       backend.OtherBots,
		"some bots":                       backend.OtherBots,
		"x (+https://example.com/)":       backend.OtherBots,
		strings.Repeat("x", 508) + " bot": backend.OtherBots,
		strings.Repeat("x", 509) + " bot": "", // more than is read
		"":                                "",
		"bo":                              "",
		iPhone:                            "",
		"Mozilla/5.0 (compatible; MSIE 9.0; Windows NT 6.1; Banca Caboto s.p.a.)": "",
		// Programs that drive a browser.
		"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/142.0.0.0 Safari/537.36":                          "HeadlessChrome",
		"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessEdg/142.0.0.0":                                           backend.OtherBots,
		"Mozilla/5.0 (Unknown; Linux x86_64) AppleWebKit/538.1 (KHTML, like Gecko) PhantomJS/2.1.1 Safari/538.1":                                 "PhantomJS",
		"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Cypress/13.6.0 Chrome/114.0.5735.289 Electron/25.8.4":            "Cypress",
		"Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36 Playwright/1.40.0":                  "Playwright",
		"Mozilla/5.0 (Linux; Android 7.0; Moto G (4)) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/94.0 Mobile Safari/537.36 Chrome-Lighthouse": "Chrome-Lighthouse",
		// Tools that speak HTTP stay guests.
		"curl/8.5.0": "", "Wget/1.24.5": "", "python-requests/2.32.3": "", "Go-http-client/2.0": "", "okhttp/4.12.0": "",
		"axios/1.7.9": "", "Apache-HttpClient/4.5.14 (Java/17.0.9)": "", "Python/3.12 aiohttp/3.9.5": "", "HTTPie/3.2.2": "",
	} {
		if got := core.CrawlerName(userAgent); got != want {
			t.Errorf("%.80s: got %q, want %q", userAgent, got, want)
		}
	}
}

// Of a public list of crawlers at most one in a hundred counts as a guest, and no browser counts as a crawler.
func TestCrawlersOfPublicLists(t *testing.T) {
	agents, guests := linesOf(t, "testdata/crawlers.txt"), 0
	for _, agent := range agents {
		if core.CrawlerName(agent) == "" {
			guests++
			t.Logf("no crawler: %s", agent)
		}
	}
	if len(agents) < 150 || guests > len(agents)/100 {
		t.Errorf("%d of %d crawlers count as guests, want one in a hundred at most", guests, len(agents))
	}
	agents = linesOf(t, "testdata/browsers.txt")
	for _, agent := range agents {
		if got := core.CrawlerName(agent); got != "" {
			t.Errorf("got %q for %s, want no crawler", got, agent)
		}
	}
	if len(agents) < 150 {
		t.Errorf("got %d browsers, want more", len(agents))
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
