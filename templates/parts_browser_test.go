package templates_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
)

// hurried has the page's minutes pass in no time. It stands before the page's script.
const hurried = `<script>{ const wait = setTimeout; window.setTimeout = (f, ms, ...args) => wait(f, ms >= 5000 ? 20 : ms, ...args) }</script>`

// A partSite serves one page with parts, and what their sources answer.
type partSite struct {
	*httptest.Server
	mu     sync.Mutex
	status int
	answer map[string]string // by the parameter part
	asked  map[string]int
}

func newPartSite(t *testing.T, body string) *partSite {
	head, assets := emptySite(t, `{{presenceHead}}`)
	widget, _ := emptySite(t, `{{whosOnline "site" "about" true}}`)
	s := &partSite{status: http.StatusOK, answer: map[string]string{}, asked: map[string]int{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, `<!doctype html><html lang="en"><head><title>parts</title>%s%s</head><body><main>%s</main></body></html>`,
			hurried, head, strings.ReplaceAll(body, "WIDGET", widget))
	})
	mux.Handle("GET /presence/assets/", http.StripPrefix("/presence", assets))
	mux.HandleFunc("GET /presence/widget", func(w http.ResponseWriter, r *http.Request) { s.serve(w, r.FormValue("part")) })
	mux.HandleFunc("GET /presence/counts", func(w http.ResponseWriter, r *http.Request) { s.serve(w, strings.Join(r.URL.Query()["topic"], "+")) })
	s.Server = httptest.NewServer(mux)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

func (s *partSite) serve(w http.ResponseWriter, what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked[what]++
	w.Header().Set("Content-Type", "text/html; charset=utf-8") // as the handler of the widgets says
	w.Header().Set("Presence-Answer", "1")
	w.WriteHeader(s.status)
	io.WriteString(w, s.answer[what])
}

// says sets an answer, and waits until the page has got it, and the one after.
func (s *partSite) says(t *testing.T, status int, what, answer string) {
	t.Helper()
	s.mu.Lock()
	s.status, s.answer[what] = status, answer
	enough := s.asked[what] + 3
	s.mu.Unlock()
	waitFor(t, func() bool { s.mu.Lock(); defer s.mu.Unlock(); return s.asked[what] >= enough })
}

// A part gets new content, and nothing is touched while the content is the same.
func TestBrowserPartsAreBroughtUpToDate(t *testing.T) {
	s, b := newPartSite(t, `<presence-part src="/presence/widget?part=recent"><p>one</p></presence-part>`), newBrowser(t)
	b.do(chromedp.Navigate(s.URL))
	s.says(t, 200, "recent", "<p>one</p>")
	b.do(chromedp.Evaluate[chromedp.Void](`first = document.querySelector("presence-part p"); changes = 0;
		new MutationObserver((all) => (changes += all.length)).observe(document.body, { subtree: true, childList: true, characterData: true, attributes: true })`))
	s.says(t, 200, "recent", "<p>one</p>")
	b.until("changes + ' ' + (first === document.querySelector('presence-part p'))", "0 true")
	s.says(t, 200, "recent", `<p>two</p><script>document.title = "run"</script><img src="x" onerror="1">`)
	b.until("document.querySelector('presence-part p').textContent + document.title", "twoparts")
	for _, status := range []int{500, 404, 403} {
		s.says(t, status, "recent", "<p>error</p>")
		b.until("document.querySelector('presence-part p').textContent", "two")
	}
	s.says(t, 200, "recent", "<p>three</p>")
	b.until("document.querySelector('presence-part p').textContent", "three")
	s.says(t, 200, "recent", "")
	b.until("document.querySelector('presence-part').innerHTML", "")
}

// A part waits while the visitor has the focus in it, or has selected some of it.
func TestBrowserPartsDoNotDisturb(t *testing.T) {
	s, b := newPartSite(t, `<a href="#" id="out">out</a><presence-part src="/presence/widget?part=recent"><a href="/bob">Bob</a>, now</presence-part>`), newBrowser(t)
	const text = "document.querySelector('presence-part').textContent"
	eval := func(script string) { b.Helper(); b.do(chromedp.Evaluate[chromedp.Void](script)) }
	b.do(chromedp.Navigate(s.URL))
	eval(`document.querySelector("presence-part a").focus()`)
	s.says(t, 200, "recent", `<a href="/bob">Bob</a>, 1 minute ago`)
	b.until(text+" + document.activeElement.textContent", "Bob, nowBob")
	eval(`document.querySelector("#out").focus()`)
	b.until(text+" + document.activeElement.textContent", "Bob, 1 minute agoout")
	eval(`getSelection().selectAllChildren(document.querySelector("presence-part a"))`)
	s.says(t, 200, "recent", `<a href="/bob">Bob</a>, 2 minutes ago`)
	b.until(text+" + getSelection()", "Bob, 1 minute agoBob")
	eval(`getSelection().removeAllRanges()`)
	b.until(text, "Bob, 2 minutes ago")
}

// What stands beside the names of a widget comes from its part, also beside a name that came
// live. A change of the user leaves it alone.
func TestBrowserAboutsAreBroughtUpToDate(t *testing.T) {
	s, b := newPartSite(t, "WIDGET"), newBrowser(t)
	b.do(chromedp.Navigate(s.URL))
	b.do(chromedp.Evaluate[chromedp.Void](`{
		const list = document.querySelector(".presence-users");
		const item = list.previousElementSibling.content.firstElementChild.cloneNode(true);
		item.dataset.user = "bob";
		list.append(item);
	}`))
	const about = "document.querySelector('[data-user=bob] .presence-about').innerHTML"
	s.says(t, 200, "about", `<span data-about="zoe">x</span><span data-about="bob"><i>here</i></span>`)
	b.until(about, "<i>here</i>")
	b.until("document.querySelector('presence-part').innerHTML", "")
	s.says(t, 200, "about", `<span data-about="zoe">x</span>`)
	b.until(about, "")
}

// The numbers of topics that the page does not follow are asked for together.
func TestBrowserCountsAreBroughtUpToDate(t *testing.T) {
	s, b := newPartSite(t, `<online-count topic="thread:1" value="1" src="/presence">1</online-count> <online-count topic="thread:2" value="" src="/presence">–</online-count>`), newBrowser(t)
	b.do(chromedp.Navigate(s.URL))
	s.says(t, 200, "thread:1+thread:2", `{"topics":{"thread:1":{"total":12345,"guests":1},"thread:2":{"total":0,"guests":0}}}`)
	b.until(`[...document.querySelectorAll("online-count")].map((e) => e.getAttribute("value") + "=" + e.textContent).join()`, "12345=12,345,0=0")
	s.says(t, 200, "thread:1+thread:2", `<p>not JSON`)
	b.until(`document.querySelector("online-count").textContent`, "12,345")
}
