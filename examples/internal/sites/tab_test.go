package sites_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/rollcall-go/rollcall/internal/browse"
)

// A tab is open at a site, in a profile of its own. One document stays in it: the sites'
// pages are loaded by htmx or Turbo.
type tab struct {
	t     *testing.T
	site  *process
	who   string
	ctx   context.Context
	close context.CancelFunc

	mu      sync.Mutex
	console []string // what scripts wrote to the console
	asked   []string // what was asked of the presence endpoints
}

// open opens a page of a site, and begins to watch it.
func open(p *process, who, path string) *tab {
	p.t.Helper()
	tb := &tab{t: p.t, site: p, who: who}
	tb.ctx, tb.close = chromedp.NewContext(browse.Shared(p.t), chromedp.WithNewBrowserContext())
	p.t.Cleanup(tb.close)
	if err := chromedp.Listen(tb.ctx, tb.listen); err != nil {
		p.t.Fatal(err)
	}
	tb.do("open "+path, chromedp.Navigate(p.url(path)))
	tb.js("watch", watch)
	return tb
}

// watch notes each state of the page that is not as expected. A moment without a widget, or
// without the table, is not one.
const watch = `
window.wrong = [];
window.expected = {here: [], gone: []};
window.users = (topic) => [...document.querySelectorAll('whos-online[topic="' + topic + '"] [data-user]')].map((li) => li.dataset.user).sort().join();
window.dot = (id) => document.querySelector("#of-" + id + " [data-presence-dot]")?.dataset.status;
window.isHere = (id) => ["online", "away"].includes(dot(id)); // away: without a click for minutes
window.look = () => {
  const widget = document.querySelector('whos-online[topic=site]');
  if (!widget) return;
  const say = (what) => { if (!wrong.includes(what)) wrong.push(what); };
  for (const id of expected.here) {
    if (!widget.querySelector('[data-user="' + id + '"]')) say(id + " is missing in the list");
    if (dot(id) && !isHere(id)) say(id + " has the dot " + dot(id));
  }
  for (const id of expected.gone) {
    if (widget.querySelector('[data-user="' + id + '"]')) say(id + " is still in the list");
    if (isHere(id)) say(id + " still has the dot " + dot(id));
  }
  const n = widget.querySelector("[data-count=online]")?.value;
  if (expected.here.length && n && n != expected.here.length) say("the count is " + n);
};
setInterval(look, 50);
`

func (tb *tab) listen(event any) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		var said []string
		for _, arg := range e.Args {
			var text string
			if json.Unmarshal(arg.Value, &text) != nil {
				text = arg.Description
			}
			said = append(said, text)
		}
		tb.console = append(tb.console, strings.Join(said, " "))
	case *runtime.EventExceptionThrown:
		fault := browse.Fault(e)
		if e.ExceptionDetails.Exception != nil {
			fault += " " + e.ExceptionDetails.Exception.Description
		}
		tb.console = append(tb.console, fault)
	case *network.EventRequestWillBeSent:
		if _, what, ok := strings.Cut(e.Request.URL, "/presence/"); ok && !strings.HasPrefix(what, "assets/") {
			tb.asked = append(tb.asked, e.Request.Method+" "+what)
		}
	}
}

// said returns what scripts wrote to the console.
func (tb *tab) said() string {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	return strings.Join(tb.console, "\n")
}

// requests returns what was asked of the presence endpoints.
func (tb *tab) requests() string {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	return strings.Join(tb.asked, "\n")
}

// do runs actions, each of which has to succeed while patience lasts.
func (tb *tab) do(what string, actions ...chromedp.Action[chromedp.Void]) {
	tb.t.Helper()
	ctx, cancel := context.WithTimeout(tb.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		tb.t.Fatalf("%s: %s: %v", tb.who, what, err)
	}
}

// js runs a script.
func (tb *tab) js(what, script string) {
	tb.t.Helper()
	ctx, cancel := context.WithTimeout(tb.ctx, patience)
	defer cancel()
	if _, err := chromedp.Run(ctx, chromedp.Evaluate[string](script+"; ''")); err != nil {
		tb.t.Fatalf("%s: %s: %v", tb.who, what, err)
	}
}

// get returns the value of an expression as text. It returns "" while the page has no value.
func (tb *tab) get(expression string) string {
	ctx, cancel := context.WithTimeout(tb.ctx, patience)
	defer cancel()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string]("String("+expression+")"))
	if err != nil {
		return ""
	}
	return text
}

// until waits for an expression to have a value, and reports whether it did.
func (tb *tab) until(expression, want string) bool {
	tb.t.Helper()
	got := ""
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if got = tb.get(expression); got == want {
			return true
		}
	}
	tb.t.Errorf("%s's page: %s: got %q, want %q\nit asked for\n%s\nand said\n%s", tb.who, expression, got, want, tb.requests(), tb.said())
	return false
}

// must is until where nothing else can be tested otherwise.
func (tb *tab) must(expression, want string) {
	tb.t.Helper()
	if !tb.until(expression, want) {
		tb.t.FailNow()
	}
}

// live waits until the widget of the site is live.
func (tb *tab) live() {
	tb.t.Helper()
	tb.must(`document.querySelector("whos-online[topic=site]")?.dataset.live`, "on")
}

// settled waits until htmx has taken over what it has put into the page, 20 ms or more after that. A click before, of
// which no user is capable, would load a document, and what watches the page would be gone.
func (tb *tab) settled() {
	tb.t.Helper()
	tb.must(`document.querySelectorAll(".htmx-added, .htmx-settling").length`, "0")
}

// click clicks, as a user does, what leads to another page without loading a document.
func (tb *tab) click(id, title string) {
	tb.t.Helper()
	tb.settled()
	tb.js("click "+id, fmt.Sprintf("document.querySelector(%q).click()", "#"+id))
	tb.must(`document.querySelector("h1")?.textContent`, title)
}

// signIn signs in by the form of the page.
func (tb *tab) signIn(name string) {
	tb.t.Helper()
	tb.settled()
	tb.js("sign in", fmt.Sprintf(
		`document.querySelector("#login [name=name]").value = %q; document.querySelector("#login button").click()`, name))
	tb.must(`document.querySelector("#user")?.textContent`, name)
	tb.must(`document.querySelectorAll("#logout").length`, "1")
}

// streamsAs waits until the page has asked for a stream, or for a poll, as a user.
func (tb *tab) streamsAs(name string) {
	tb.t.Helper()
	for end := time.Now().Add(patience); !strings.Contains(tb.requests(), "me="+name); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			tb.t.Fatalf("%s's page has no stream of %s; it asked for\n%s", tb.who, name, tb.requests())
		}
	}
	tb.live()
}

// signOut signs out by the form of the page.
func (tb *tab) signOut() {
	tb.t.Helper()
	tb.settled()
	tb.js("sign out", `document.querySelector("#logout button").click()`)
	tb.must(`document.querySelectorAll("#login").length`, "1")
}

// expect begins to note when the page shows something else.
func (tb *tab) expect(here, gone []string) {
	tb.t.Helper()
	b, _ := json.Marshal(map[string][]string{"here": here, "gone": append([]string{}, gone...)})
	tb.must("users('site')", strings.Join(here, ","))
	tb.js("expect", "wrong.length = 0; expected = "+string(b))
}

// held fails the test if the page has shown something else since expect. It also fails if
// another document was loaded, which would hide mistakes.
func (tb *tab) held(during string) {
	tb.t.Helper()
	if got := tb.get("wrong.join('; ')"); got != "" || tb.get("typeof wrong") != "object" {
		tb.t.Errorf("%s, on %s's page: %s", during, tb.who, got)
	}
	tb.js("expect nothing", "expected = {here: [], gone: []}")
}

// warned fails the test unless the console has one line, with a cure.
func (tb *tab) warned(cure string) {
	tb.t.Helper()
	if said := tb.said(); strings.Count(said, "presence: ") != 1 || !strings.Contains(said, cure) {
		tb.t.Errorf("%s's console has these lines, want one with %q:\n%s", tb.who, cure, said)
	}
}

// warns waits until the console has a warning.
func (tb *tab) warns() {
	tb.t.Helper()
	for end := time.Now().Add(patience); tb.said() == ""; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			tb.t.Errorf("%s's console says nothing; the page asked for\n%s", tb.who, tb.requests())
			return
		}
	}
}
