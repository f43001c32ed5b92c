package templates_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"
	echomiddleware "github.com/labstack/echo/v4/middleware"

	"github.com/rollcall-go/rollcall/internal/pipes"
	"github.com/rollcall-go/rollcall/templates"
)

// scriptURL returns the path of the script below the prefix.
func (s *site) scriptURL() string {
	s.Helper()
	for _, link := range assetURL.FindAllStringSubmatch(s.page(`{{presenceHead}}`, guest), -1) {
		if link[2] == "presence" && link[3] == "js" {
			return link[1]
		}
	}
	s.Fatal("the head has no script")
	return ""
}

func TestAssetsArePacked(t *testing.T) {
	bubble(t, templates.Config{}, func(s *site) {
		for _, link := range assetURL.FindAllStringSubmatch(s.page(`{{presenceHead}}`, guest), -1) {
			plain := s.get("GET", link[1])
			want := body(t, plain)
			packed := s.get("GET", link[1], "Accept-Encoding", "gzip, deflate, br, zstd")
			length := packed.ContentLength
			content := body(t, packed)
			if got := packed.Header.Get("Content-Encoding"); got != "gzip" || int64(len(content)) != length || len(content) > len(want)/2 {
				t.Errorf("%s: got Content-Encoding %q, %d of %d bytes, want gzip and less than half of %d", link[1], got, len(content), length, len(want))
			}
			if got := unpack(t, content); got != want {
				t.Errorf("%s: got other content packed than not packed", link[1])
			}
			for _, r := range []*http.Response{plain, packed} {
				if got := r.Header.Values("Vary"); len(got) != 1 || got[0] != "Accept-Encoding" {
					t.Errorf("%s: got Vary %q, want Accept-Encoding", link[1], got)
				}
			}
			etag, plainTag := packed.Header.Get("ETag"), plain.Header.Get("ETag")
			if etag == plainTag || !strings.HasPrefix(etag, "W/") || strings.HasPrefix(plainTag, "W/") {
				t.Errorf("%s: got ETag %q packed and %q not packed, want two, the first weak", link[1], etag, plainTag)
			}
			for _, known := range []string{etag, plainTag} {
				r := s.get("GET", link[1], "Accept-Encoding", "gzip", "If-None-Match", known)
				if r.StatusCode != 304 || body(t, r) != "" || r.Header.Get("Vary") == "" {
					t.Errorf("%s with the ETag %s: got %d, Vary %q, want 304", link[1], known, r.StatusCode, r.Header.Get("Vary"))
				}
			}
			head := s.get("HEAD", link[1], "Accept-Encoding", "gzip")
			if head.StatusCode != 200 || head.ContentLength != length || head.Header.Get("Content-Encoding") != "gzip" || body(t, head) != "" {
				t.Errorf("%s: HEAD: got %d, %d bytes, Content-Encoding %q, want what GET has", link[1], head.StatusCode, head.ContentLength, head.Header.Get("Content-Encoding"))
			}
			part := s.get("GET", link[1], "Accept-Encoding", "gzip", "Range", "bytes=10-19")
			if got := body(t, part); part.StatusCode != 200 || got != content {
				t.Errorf("%s: a range: got %d and %d bytes, want the whole file", link[1], part.StatusCode, len(got))
			}
		}
	})
}

func unpack(t *testing.T, content string) string {
	t.Helper()
	r, err := gzip.NewReader(strings.NewReader(content))
	noError(t, err)
	plain, err := io.ReadAll(r)
	noError(t, err)
	return string(plain)
}

// A browser gets packed files only if it accepts them.
func TestAssetsAreNotPacked(t *testing.T) {
	bubble(t, templates.Config{}, func(s *site) {
		script := s.scriptURL()
		for accept, want := range map[string]string{
			"": "", "identity": "", "br": "", "gzip;q=0": "", "gzip; q=0.0, br": "", "xgzip": "", "gzip;q=x": "", "*": "",
			"gzip": "gzip", "br, GZIP;q=0.5": "gzip", "deflate,gzip": "gzip",
		} {
			if got := s.get("GET", script, "Accept-Encoding", accept).Header.Get("Content-Encoding"); got != want {
				t.Errorf("Accept-Encoding %q: got Content-Encoding %q, want %q", accept, got, want)
			}
		}
		small := s.get("GET", "/assets/presence.0123456789abcdef.css", "Accept-Encoding", "identity")
		if got := small.Header.Get("Content-Encoding"); got != "" || body(t, small) == "" {
			t.Errorf("the style: got Content-Encoding %q, want none", got)
		}
	})
}

// A packerBehind packs answers as older libraries do: it sets the header first.
func packerBehind(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		gz := gzip.NewWriter(w)
		defer gz.Close()
		next.ServeHTTP(plainWriter{w, gz}, r)
	})
}

// A plainWriter writes to another writer. Its name does not say what that does.
type plainWriter struct {
	http.ResponseWriter
	to io.Writer
}

func (w plainWriter) WriteHeader(code int) {
	w.Header().Del("Content-Length")
	w.ResponseWriter.WriteHeader(code)
}
func (w plainWriter) Write(b []byte) (int, error) { return w.to.Write(b) }

func (w plainWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// A gzipResponseWriter is named like those of chi, klauspost and NYTimes.
type gzipResponseWriter struct{ plainWriter }

// A loggedWriter can be unwrapped, as most writers can. An oldWriter cannot.
type loggedWriter struct{ http.ResponseWriter }

func (w *loggedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

type oldWriter struct{ http.ResponseWriter }

func wrapped(next http.Handler, wrap func(http.ResponseWriter) http.ResponseWriter) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { next.ServeHTTP(wrap(w), r) })
}

// namedPacker packs answers as newer libraries do: it sets the header with the first byte.
func namedPacker(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		gz := gzip.NewWriter(w)
		defer gz.Close()
		next.ServeHTTP(gzipResponseWriter{plainWriter{headerWriter{w}, gz}}, r)
	})
}

type headerWriter struct{ http.ResponseWriter }

func (w headerWriter) WriteHeader(code int) {
	w.Header().Set("Content-Encoding", "gzip")
	w.ResponseWriter.WriteHeader(code)
}

// Whatever stands before the handler, a browser unpacks the script once and has it.
func TestAssetsAreNeverPackedTwice(t *testing.T) {
	inEcho := func(use ...echo.MiddlewareFunc) func(http.Handler) http.Handler {
		return func(h http.Handler) http.Handler {
			e := echo.New()
			e.Use(use...)
			e.GET("/*", echo.WrapHandler(h))
			return e
		}
	}
	logged := func(w http.ResponseWriter) http.ResponseWriter { return &loggedWriter{w} }
	old := func(w http.ResponseWriter) http.ResponseWriter { return &oldWriter{w} }
	for name, tt := range map[string]struct {
		site func(http.Handler) http.Handler
		here bool // packed by the handler
	}{
		"alone":                   {func(h http.Handler) http.Handler { return h }, true},
		"in Echo":                 {inEcho(), true},
		"a writer with Unwrap":    {func(h http.Handler) http.Handler { return wrapped(h, logged) }, true},
		"Echo's gzip":             {inEcho(echomiddleware.Gzip()), false},
		"Echo's gzip, MinLength":  {inEcho(echomiddleware.GzipWithConfig(echomiddleware.GzipConfig{MinLength: 2048})), false},
		"Echo's gzip, and logged": {inEcho(echomiddleware.Gzip(), echo.WrapMiddleware(func(h http.Handler) http.Handler { return wrapped(h, logged) })), false},
		"Echo's gzip, behind a writer without Unwrap": {inEcho(echomiddleware.Gzip(), echo.WrapMiddleware(func(h http.Handler) http.Handler { return wrapped(h, old) })), false},
		//lint:ignore SA1019 sites have this middleware, and streams must get along with it
		"Echo's gzip and its timeout":    {inEcho(echomiddleware.Gzip(), echomiddleware.TimeoutWithConfig(echomiddleware.TimeoutConfig{Timeout: time.Minute})), false},
		"one that sets the header first": {packerBehind, false},
		"one with a name":                {namedPacker, false},
		"one with a name, and logged":    {func(h http.Handler) http.Handler { return namedPacker(wrapped(h, logged)) }, false},
		"a writer without Unwrap":        {func(h http.Handler) http.Handler { return wrapped(h, old) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, templates.Config{}, func(s *site) {
				script := s.scriptURL()
				want := body(t, s.get("GET", script))
				server := &http.Server{Handler: tt.site(newWidgets(s, nil, s.tracker, s.cfg).Handler())}
				packed := overPipe(s.T, server, script)
				if here := strings.HasPrefix(packed.Header.Get("ETag"), "W/"); here != tt.here {
					t.Errorf("got packed by the handler: %v, want %v", here, tt.here)
				}
				got := body(t, packed)
				if packed.Header.Get("Content-Encoding") == "gzip" {
					got = unpack(t, got)
				}
				if got != want {
					t.Errorf("got %d bytes that begin %.20q, want the script, %d bytes", len(got), got, len(want))
				}
				if got := packed.Header.Values("Vary"); len(got) != 1 || got[0] != "Accept-Encoding" {
					t.Errorf("got Vary %q, want Accept-Encoding once", got)
				}
			})
		})
	}
}

// overPipe asks a server as a browser does that accepts gzip.
func overPipe(t *testing.T, server *http.Server, path string) *http.Response {
	t.Helper()
	network := pipes.New()
	go server.Serve(network.Listen())
	t.Cleanup(func() { server.Close() })
	transport := &http.Transport{DialContext: network.Dial}
	t.Cleanup(transport.CloseIdleConnections)
	r, err := http.NewRequest("GET", "http://site.test"+path, nil)
	noError(t, err)
	r.Header.Set("Accept-Encoding", "gzip")
	response, err := transport.RoundTrip(r)
	noError(t, err)
	return response
}

// A writer that says that there is nothing behind it is not packed for.
func TestAssetsBehindNothing(t *testing.T) {
	bubble(t, templates.Config{}, func(s *site) {
		w := behindNothing{httptest.NewRecorder()}
		r := httptest.NewRequest(http.MethodGet, "/assets/presence.0123456789abcdef.css", nil)
		r.Header.Set("Accept-Encoding", "gzip")
		newWidgets(t, nil, s.tracker, s.cfg).Handler().ServeHTTP(w, r)
		if got := w.Result().Header.Get("Content-Encoding"); w.Code != http.StatusOK || got != "" {
			t.Errorf("got status %d and encoding %q, want 200 and none", w.Code, got)
		}
	})
}

type behindNothing struct{ *httptest.ResponseRecorder }

func (behindNothing) Unwrap() http.ResponseWriter { return nil }
