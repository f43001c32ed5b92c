package adaptertest

import (
	"net/http"
	"strings"
	"testing"
)

// testPages tests that each way in which a framework writes a page sets the cookie once,
// and changes nothing else, with other middleware before presence and after it.
func testPages(t *testing.T, a Adapter) {
	for _, site := range around(a) {
		t.Run(site.name(), func(t *testing.T) {
			for path, status := range a.Pages {
				t.Run(strings.TrimPrefix(path, "/"), func(t *testing.T) {
					inWorld(t, a, site, func(w *world) { w.setsCookieOnce(path, status, PageBody) })
				})
			}
		})
	}
}

// around returns each site with one other middleware at most.
func around(a Adapter) []Site {
	sites := []Site{{}}
	for _, other := range a.Others {
		sites = append(sites, Site{Before: other}, Site{After: other})
	}
	return sites
}

// name says which other middleware a site has.
func (s Site) name() string {
	switch {
	case s.Before != "":
		return "after " + s.Before
	case s.After != "":
		return "before " + s.After
	}
	return "alone"
}

// setsCookieOnce views a page as a new guest until the guest is counted, and as Alice. It
// fails the test unless the first view of each sets the cookie, and each view has the
// status and, if that is 200, the body. An error or a text sets no cookie.
func (w *world) setsCookieOnce(path string, status int, body string) {
	w.t.Helper()
	guest, alice := w.browser(""), w.browser("alice")
	for i, view := range []struct {
		by       *browser
		cookies  int
		recorded []string
	}{
		{guest, 1, nil}, {guest, 1, []string{"guest"}}, {guest, 0, nil}, {alice, 1, []string{"alice"}}, {alice, 0, nil},
	} {
		p := view.by.get(path)
		if !p.isPage() {
			view.cookies, view.recorded = 0, nil
		}
		if len(p.header["Set-Cookie"]) != view.cookies {
			w.t.Errorf("view %d: got the cookies %v, want %d", i+1, p.header["Set-Cookie"], view.cookies)
		}
		if p.status != status || status == http.StatusOK && p.body != body {
			w.t.Errorf("view %d: got %d %q, want %d %q", i+1, p.status, p.body, status, body)
		}
		w.expect(view.recorded...)
	}
}
