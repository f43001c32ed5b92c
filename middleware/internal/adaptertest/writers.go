package adaptertest

import (
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"
)

// writers are the ways in which a handler of net/http writes a page, with the status that
// each page has.
var writers = map[string]struct {
	write  http.HandlerFunc
	status int
}{
	"Write":       {plain, http.StatusOK},
	"no write":    {func(http.ResponseWriter, *http.Request) {}, http.StatusOK},
	"WriteHeader": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }, http.StatusNoContent},
	"redirect": {func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/elsewhere", http.StatusSeeOther)
	}, http.StatusSeeOther},
	"error": {func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "sorry", http.StatusInternalServerError)
	}, http.StatusInternalServerError},
	"io.Copy": {func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.Copy(w, struct{ io.Reader }{strings.NewReader(PageBody)}) // by ReadFrom, if w has that
	}, http.StatusOK},
	"ServeContent": {func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "page.html", time.Time{}, strings.NewReader(PageBody))
	}, http.StatusOK},
	"Flush first": {func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush()
		plain(w, r)
	}, http.StatusOK},
	"ResponseController first": {func(w http.ResponseWriter, r *http.Request) {
		if err := http.NewResponseController(w).Flush(); err != nil {
			panic(err)
		}
		plain(w, r)
	}, http.StatusOK},
}

// testWriters tests that the writer that a handler has is as good as the server's own.
func testWriters(t *testing.T, a Adapter) {
	for name, by := range writers {
		t.Run(name, func(t *testing.T) {
			inWorld(t, a, Site{}, func(w *world) {
				w.page = by.write
				body := PageBody
				if name == "no write" {
					body = ""
				}
				w.setsCookieOnce("/", by.status, body)
			})
		})
	}
	t.Run("early hints", func(t *testing.T) { inWorld(t, a, Site{}, earlyHints) })
	t.Run("hijack", func(t *testing.T) { inWorld(t, a, Site{}, hijack) })
	t.Run("deadlines", func(t *testing.T) { inWorld(t, a, Site{}, deadlines) })
	t.Run("none where no cookie is set", func(t *testing.T) { inWorld(t, a, Site{}, noWriter) })
	t.Run("one allocation", func(t *testing.T) { inWorld(t, a, Site{}, oneAllocation) })
}

// earlyHints: the cookie is in the answer, not in the hints before it, since the handler
// may say after the hints that caches may share the page.
func earlyHints(w *world) {
	w.page = func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Link", "</site.css>; rel=preload; as=style")
		rw.WriteHeader(http.StatusEarlyHints)
		if now, ok := rw.(interface{ WriteHeaderNow() }); ok {
			now.WriteHeaderNow() // gin keeps a status until then
		}
		if r.URL.Path == "/shared" {
			rw.Header().Set("Cache-Control", "public")
		}
		plain(rw, r)
	}
	for path, cookies := range map[string]int{"/": 1, "/shared": 0} {
		p := w.browser("alice").get(path)
		if len(p.early) != 1 || p.early[0].Get("Link") == "" || len(p.early[0]["Set-Cookie"]) != 0 {
			w.t.Errorf("%s: got the hints %v, want the link alone", path, p.early)
		}
		if len(p.set) != cookies || p.status != http.StatusOK || p.body != PageBody {
			w.t.Errorf("%s: got %d %q and %v set, want the page and %d cookies", path, p.status, p.body, p.set, cookies)
		}
	}
}

// hijack: a handler takes the connection while a cookie waits to be set.
func hijack(w *world) {
	w.page = func(rw http.ResponseWriter, _ *http.Request) {
		conn, buffered, err := rw.(http.Hijacker).Hijack()
		if err != nil {
			w.t.Error(err)
			return
		}
		defer conn.Close()
		_, _ = buffered.WriteString("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + PageBody)
		_ = buffered.Flush()
	}
	if p := w.browser("alice").get("/"); p.status != http.StatusOK || p.body != PageBody {
		w.t.Errorf("got %d %q, want the page", p.status, p.body)
	}
}

// deadlines: a page may take longer than the server's timeouts where its handler says so.
func deadlines(w *world) {
	w.page = func(rw http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(rw)
		for _, err := range []error{control.SetWriteDeadline(time.Time{}), control.SetReadDeadline(time.Time{})} {
			if err != nil {
				w.t.Errorf("setting a deadline: %v", err)
			}
		}
		time.Sleep(2 * serverTimeout)
		plain(rw, r)
	}
	if p := w.browser("alice").get("/"); len(p.set) != 1 || p.body != PageBody {
		w.t.Errorf("got %q and %v set, want the page and a cookie", p.body, p.set)
	}
}

// noWriter: most page views are throttled. Their writer is the framework's own.
func noWriter(w *world) {
	var writer string
	w.page = func(rw http.ResponseWriter, r *http.Request) {
		writer = ours(rw)
		plain(rw, r)
	}
	alice := w.browser("alice")
	if alice.get("/"); writer == "" {
		w.t.Error("got no writer of ours for a page that sets the cookie")
	}
	w.expect("alice")
	if alice.get("/"); writer != "" {
		w.t.Errorf("got the writer %s for a throttled page view, want the framework's", writer)
	}
}

// ours returns the type of the first writer of ours among a writer and those that it wraps, or "".
func ours(w http.ResponseWriter) string {
	for {
		typ := reflect.TypeOf(w).Elem()
		if strings.Contains(typ.PkgPath(), "/rollcall/") || strings.Contains(typ.PkgPath(), "httpsnoop") {
			return typ.String()
		}
		wrapper, ok := w.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			return ""
		}
		w = wrapper.Unwrap()
	}
}

// oneAllocation: a throttled page view costs one allocation more than a skipped one.
func oneAllocation(w *world) {
	w.page = func(http.ResponseWriter, *http.Request) {}
	alice := w.browser("alice")
	alice.get("/")
	w.expect("alice")
	r, err := http.NewRequest(http.MethodGet, "/", nil)
	if err != nil {
		w.t.Fatal(err)
	}
	alice.sign(r)
	view := func() {
		again := *r // frameworks keep things in a request
		w.site.ServeHTTP(nowhere{}, &again)
	}
	// The least, since the race detector empties the frameworks' pools now and then.
	allocations := func() float64 {
		least := testing.AllocsPerRun(1, view)
		for range 100 {
			least = min(least, testing.AllocsPerRun(1, view))
		}
		return least
	}
	throttled := allocations()
	w.expect()
	w.skips = func(*http.Request) bool { return true }
	if skipped := allocations(); throttled > skipped+1 {
		w.t.Errorf("got %v allocations, and %v on a skipped page, want one more", throttled, skipped)
	}
}

// nowhere is a writer that forgets.
type nowhere struct{}

func (nowhere) Header() http.Header         { return http.Header{} }
func (nowhere) WriteHeader(int)             {}
func (nowhere) Write(p []byte) (int, error) { return len(p), nil }
