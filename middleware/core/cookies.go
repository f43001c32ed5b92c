package core

import (
	"io"
	"net/http"

	"github.com/felixge/httpsnoop"
)

// Cookies are what a response leaves behind: the cookies that it sets, and the record of a page view. That is
// done when its headers are written and not before. Only then the headers say whether the response is a page,
// and whether a shared cache may store it and hand its cookies to other visitors. Cookies belong to one
// request, and may not be used concurrently.
//
// A guest counts at that moment too: only then no other middleware can find a user.
type Cookies struct {
	visit    requestVisit
	record   func(*requestVisit) // records the page view, and sets throttle; nil: there is none
	throttle string              // the Set-Cookie header of the throttle cookie; "": none
	status   *statusUpdate       // nil: the status cookie stays as it is
	stranger bool                // a guest sees a page of a site that has had no user so far
	set      bool
}

// Set records the page view and adds the cookies to the header of the response, at the first call only. It does
// neither for a response to a page view that is no page: an error, or anything but HTML. It adds no cookies if a
// shared cache may store the response, as with Cache-Control: public. Call it right before the header is
// written. status is that of the response, and start is the beginning of its body, nil if it is not known yet.
// Nil Cookies do nothing.
func (c *Cookies) Set(header http.Header, status int, start []byte) {
	if c == nil || c.set {
		return
	}
	c.set = true
	if c.visit.class == viewing && !isPage(c.visit.request, header, status, start) {
		return
	}
	if c.stranger {
		c.visit.engine.strangers.see(c.visit.engine.tracker)
	}
	if c.record != nil {
		c.record(&c.visit)
	}
	if sharedCacheMayStore(header) {
		return
	}
	if c.throttle != "" {
		header.Add("Set-Cookie", c.throttle)
	}
	if c.status != nil {
		c.status.apply(c.visit.engine, header)
	}
}

// sniffed is how many bytes of a body tell its type (http.DetectContentType).
const sniffed = 512

// Wrap returns a writer that sets the cookies right before w writes the headers. Without
// cookies it is w itself. The writer has the optional interfaces of w, such as
// [http.Flusher], and Unwrap.
//
// A handler may return without having written anything. Call [Cookies.Set] then too.
func (c *Cookies) Wrap(w http.ResponseWriter) http.ResponseWriter {
	if c == nil {
		return w
	}
	begin := func(start []byte) { c.Set(w.Header(), http.StatusOK, start) }
	return httpsnoop.Wrap(w, httpsnoop.Hooks{
		WriteHeader: func(next httpsnoop.WriteHeaderFunc) httpsnoop.WriteHeaderFunc {
			return func(status int) {
				if status >= 200 || status == http.StatusSwitchingProtocols { // others come before the answer
					c.Set(w.Header(), status, nil)
				}
				next(status)
			}
		},
		Write: func(next httpsnoop.WriteFunc) httpsnoop.WriteFunc {
			return func(b []byte) (int, error) { begin(b); return next(b) }
		},
		WriteString: func(next httpsnoop.WriteStringFunc) httpsnoop.WriteStringFunc {
			return func(s string) (int, error) { begin([]byte(s[:min(len(s), sniffed)])); return next(s) }
		},
		ReadFrom: func(next httpsnoop.ReadFromFunc) httpsnoop.ReadFromFunc {
			return func(from io.Reader) (int64, error) { begin(nil); return next(from) }
		},
		Flush: func(next httpsnoop.FlushFunc) httpsnoop.FlushFunc {
			return func() { begin(nil); next() }
		},
		FlushError: func(next httpsnoop.FlushErrorFunc) httpsnoop.FlushErrorFunc {
			return func() error { begin(nil); return next() }
		},
	})
}

// secure ends the attributes of a cookie of a page that came over TLS.
const secure = "; Secure"

// attributes returns the attributes of each cookie. Behind a proxy that ends TLS the
// scheme is the one that the proxy forwards, which may be that of a WebSocket. A client
// that makes one up changes its own cookies only.
func attributes(r *http.Request) string {
	const plain = "; Path=/; HttpOnly; SameSite=Lax"
	if r.TLS != nil {
		return plain + secure
	}
	for _, name := range [...]string{"X-Forwarded-Proto", "X-Forwarded-Protocol", "X-Url-Scheme"} {
		if scheme := header(r.Header, name); scheme != "" {
			if scheme == "https" || scheme == "wss" {
				return plain + secure
			}
			return plain
		}
	}
	if header(r.Header, "X-Forwarded-Ssl") == "on" {
		return plain + secure
	}
	return plain
}
