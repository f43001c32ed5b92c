package core

import (
	"io"
	"net/http"

	"github.com/felixge/httpsnoop"
)

// Cookies are the cookies that a response to a page view is to set. They are set when its
// headers are written and not before, because only then the headers say whether a shared
// cache may store the response and hand its cookies to other visitors. Cookies belong to
// one request, and may not be used concurrently.
type Cookies struct {
	*engine
	throttle string        // the Set-Cookie header of the throttle cookie; "": none
	status   *statusUpdate // nil: the status cookie stays as it is
	set      bool
}

// Set adds the cookies to the header of the response, at the first call only. It adds none
// if a shared cache may store the response, as with Cache-Control: public. Call it right
// before the header is written. Nil Cookies add nothing.
func (c *Cookies) Set(header http.Header) {
	if c == nil || c.set {
		return
	}
	c.set = true
	if sharedCacheMayStore(header) {
		return
	}
	if c.throttle != "" {
		header.Add("Set-Cookie", c.throttle)
	}
	if c.status != nil {
		c.status.apply(c.engine, header)
	}
}

// Wrap returns a writer that sets the cookies right before w writes the headers. Without
// cookies it is w itself. The writer has the optional interfaces of w, such as
// [http.Flusher], and Unwrap.
//
// A handler may return without having written anything. Call [Cookies.Set] then too.
func (c *Cookies) Wrap(w http.ResponseWriter) http.ResponseWriter {
	if c == nil {
		return w
	}
	return httpsnoop.Wrap(w, httpsnoop.Hooks{
		WriteHeader: func(next httpsnoop.WriteHeaderFunc) httpsnoop.WriteHeaderFunc {
			return func(status int) {
				if status >= 200 || status == http.StatusSwitchingProtocols { // others come before the answer
					c.Set(w.Header())
				}
				next(status)
			}
		},
		Write: func(next httpsnoop.WriteFunc) httpsnoop.WriteFunc {
			return func(b []byte) (int, error) { c.Set(w.Header()); return next(b) }
		},
		WriteString: func(next httpsnoop.WriteStringFunc) httpsnoop.WriteStringFunc {
			return func(s string) (int, error) { c.Set(w.Header()); return next(s) }
		},
		ReadFrom: func(next httpsnoop.ReadFromFunc) httpsnoop.ReadFromFunc {
			return func(from io.Reader) (int64, error) { c.Set(w.Header()); return next(from) }
		},
		Flush: func(next httpsnoop.FlushFunc) httpsnoop.FlushFunc {
			return func() { c.Set(w.Header()); next() }
		},
		FlushError: func(next httpsnoop.FlushErrorFunc) httpsnoop.FlushErrorFunc {
			return func() error { c.Set(w.Header()); return next() }
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
