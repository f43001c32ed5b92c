package templates_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/templates"
)

// A page that is rendered while the store is out says so, and from when its list
// is: also without script, as the fragment, and in the site's own words.
func TestStaleIsSaid(t *testing.T) {
	for text, want := range map[string]string{"": "Connection lost, list from 00:00 UTC", "{time}: <out>": "00:00 UTC: &lt;out&gt;"} {
		bubble(t, templates.Config{Texts: templates.Texts{Lost: text}}, func(s *site) {
			s.see(presence.Site, members...)
			lost := `<p class="presence-lost" role="status" data-since="2000-01-01T00:00:02Z">` + want + `</p>`
			for _, stale := range []bool{false, true, false} {
				if stale {
					s.store.Break(presencetest.Fault{Err: errOut})
				} else {
					s.store.Heal()
				}
				time.Sleep(time.Second)
				for form, html := range map[string]string{
					"page":     s.page(`{{whosOnline "site"}}`, guest),
					"visitor":  s.page(`{{whosOnline "site"}}`, me),
					"counts":   s.page(`{{whosOnline "site" "max" 0}}`, guest),
					"fragment": body(t, s.get("GET", "/widget?topic=site")),
				} {
					has(t, html, `data-live="off"`, `value="`, `data-count="online"`)
					if got := strings.Contains(html, lost); got != stale {
						t.Errorf("%s: got that the list is old: %v, want %v: %s", form, got, stale, html)
					}
				}
			}
		})
	}
}

const lost = `document.querySelector("#site .presence-lost").textContent`

// lostAt holds for the note of a list that is old, in the visitor's own time.
const lostAt = `/^Connection lost, list from \d+:\d\d\s[AP]M$/.test(` + lost + `)`

// The script leaves a page that is old when it comes as it is, until the server
// knows more: an open stream alone says nothing.
func TestBrowserStalePage(t *testing.T) {
	b := newBrowser(t)
	page, cursor, assets := livePage(t, presencetest.Fault{Err: errOut})
	s := newFakeServer(t, page, assets)
	b.do(chromedp.Navigate(s.URL))
	b.until(lostAt, "true")
	s.send(t, "heartbeat", fmt.Sprintf(`{"topic":"site","cursor":%q,"total":5,"stale":true}`, cursor))
	b.until(online, "5")
	b.until(lostAt, "true")
	b.until(live, "off")
	b.noted("fired", "")
	s.send(t, "heartbeat", fmt.Sprintf(`{"topic":"site","cursor":%q,"total":4}`, cursor))
	b.until(lost, "")
	b.noted("fired", "live on")
}

// asks is how often a stream was asked for.
func (s *fakeServer) asks() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.queries)
}

// A page whose user has signed out, and another in, says so instead of alarming,
// and asks for nothing more.
func TestBrowserSignedOut(t *testing.T) {
	b := newBrowser(t)
	page, _, assets := livePage(t)
	s := newFakeServer(t, page, assets)
	b.do(chromedp.Navigate(s.URL))
	b.until(live, "on")
	b.until(lost, "")
	b.do(chromedp.Evaluate[chromedp.Void]("fired.length = 0"))
	s.refusing(http.StatusUnauthorized)
	s.frames <- "" // the stream ends, and would come back
	const want = "You have signed out. Reload the page to go on."
	b.until(lost, want)
	b.until(live, "off")
	b.noted("fired", "live connecting, live off")
	asked := s.asks()
	b.do(chromedp.Evaluate[chromedp.Void](`window.later = false; setTimeout(() => (later = true), 3200)`)) // when a lost connection is told
	b.until("later", "true")
	b.until(lost, want)
	if got := s.asks(); got != asked {
		t.Errorf("got %d streams asked for since, want none", got-asked)
	}
}
