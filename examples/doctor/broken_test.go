package main

import (
	"bytes"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/internal/redistest"
	"github.com/rollcall-go/rollcall/presence"
)

// verdicts runs the doctor, and returns what each check found. On a busy machine the doctor may
// say that it does not know what the test wants to know: then it is run again.
func verdicts(t *testing.T, known func(map[string]verdict) bool, args ...string) (found map[string]verdict, code int) {
	t.Helper()
	for range 5 {
		var out, errs bytes.Buffer
		code = run(t.Context(), append([]string{"-json"}, args...), &out, &errs)
		if found = readJSON(t, &out); errs.Len() == 0 && known(found) {
			return found, code
		}
		t.Logf("examined again: %s%v", &errs, found)
	}
	t.Fatal("the doctor does not know")
	return nil, 0
}

func readJSON(t *testing.T, out *bytes.Buffer) (found map[string]verdict) {
	t.Helper()
	found = make(map[string]verdict)
	for lines := json.NewDecoder(out); ; {
		var line struct {
			Check string
			verdict
		}
		if err := lines.Decode(&line); err == io.EOF {
			return found
		} else if err != nil {
			t.Fatal(err)
		}
		found[line.Check] = line.verdict
	}
}

// behind returns a wiring behind an nginx that has further lines, and names addresses.
func behind(http, location string) func(*testing.T) string {
	return func(t *testing.T) string {
		site := wiring{config: handlers.Config{ClientIP: handlers.ForwardedFor()}}.serve(t)
		return nginx(t, site, http, addresses+location)
	}
}

// served returns a function that serves a wiring.
func served(w wiring) func(*testing.T) string { return w.serve }

// csrf refuses requests that change something, for want of a token.
func csrf(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			http.Error(w, "missing csrf token", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// hurried is a proxy whose clock is an hour ahead.
func hurried(t *testing.T) string {
	to, err := url.Parse(wiring{config: handlers.Config{ClientIP: handlers.ForwardedFor()}}.serve(t))
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{
		ErrorLog: log.New(io.Discard, "", 0),
		Rewrite:  func(r *httputil.ProxyRequest) { r.SetURL(to); r.Out.Host = r.In.Host },
		ModifyResponse: func(r *http.Response) error {
			r.Header.Set("Date", time.Now().Add(time.Hour).UTC().Format(http.TimeFormat))
			return nil
		},
	}
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	return server.URL
}

func public(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "public, max-age=60")
		next.ServeHTTP(w, r)
	})
}

// secure starts a server with TLS, and with HTTP/2.
func secure(s *httptest.Server) {
	s.EnableHTTP2 = true
	s.StartTLS()
}

// Each site has one mistake. The check that it belongs to names it, and no other does.
func TestBrokenSites(t *testing.T) {
	t.Parallel()
	const short = "-for=2s"
	for name, tt := range map[string]struct {
		site  func(*testing.T) string
		args  []string
		check string // empty: nothing is wrong
		says  string
		cure  string
	}{
		"healthy":                 {served(wiring{}), []string{short}, "", "", ""},
		"healthy behind nginx":    {behind("", upgrades), []string{short}, "", "", ""},
		"healthy by HTTP/2":       {served(wiring{start: secure, server: func(s *httptest.Server) { s.Config.ConnContext = handlers.ConnContext }}), []string{short, "-insecure"}, "", "", ""},
		"healthy, signed in":      {served(wiring{}), []string{short, "-cookie", "session=alice"}, "", "", ""},
		"healthy, another prefix": {served(wiring{prefix: "/live", mount: "/live/"}), []string{short}, "", "", ""},

		"nginx that buffers": {
			behind("", upgrades+"proxy_ignore_headers X-Accel-Buffering;"), []string{short},
			"buffering", "first event had not come after", "proxy_buffering off",
		},
		"nginx that drops Set-Cookie": {
			behind("", upgrades+"proxy_hide_header Set-Cookie;"), []string{short},
			"cookies", "does not arrive", "proxy_hide_header",
		},
		"nginx that drops Cookie": {
			behind("", upgrades+`proxy_set_header Cookie "";`), []string{short},
			"cookies", "does not get the cookies", "proxy_set_header Cookie",
		},
		"nginx that cuts after 5 s": {
			behind("", upgrades+"proxy_read_timeout 5s;"), []string{"-for=9s"},
			"timeout", "was cut after", "proxy_read_timeout 60s",
		},
		"nginx that compresses": {
			behind("gzip on; gzip_types text/event-stream; gzip_min_length 0; gzip_proxied any;", upgrades), []string{short},
			"compression", "compressed (gzip)", "gzip_types",
		},
		"nginx without Upgrade": {
			behind("", ""), []string{short}, "websocket", "does not get through: status 426", "Upgrade",
		},
		"nginx that counts requests": {
			behind("limit_req_zone $server_port zone=all:1m rate=1r/s; limit_req zone=all burst=3 nodelay; limit_req_status 429;", upgrades), []string{short},
			"limits", "too many", "MaxRate",
		},
		"nginx that refuses nearly all requests": {
			behind("limit_req_zone $server_port zone=all:1m rate=1r/m; limit_req zone=all burst=2 nodelay; limit_req_status 429;", upgrades), []string{short},
			"limits", "too many", "MaxRate",
		},
		"nginx that caches pages": {
			behind("proxy_cache_path cache keys_zone=pages:1m; proxy_cache_valid 200 1m;",
				upgrades+"proxy_ignore_headers Set-Cookie Cache-Control; proxy_cache pages; proxy_cache_key $uri;"), []string{short},
			"cache", "Two new visitors got the same cookie", "private",
		},
		"nginx that changes Host": {
			behind("", upgrades+"proxy_set_header Sec-Fetch-Site ''; proxy_set_header Referer http://site.example/;"), []string{short}, // as over plain HTTP
			"origin", "for one of another origin", "proxy_set_header Host",
		},
		"unnamed proxy": {
			func(t *testing.T) string { return nginx(t, wiring{}.serve(t), "", addresses+upgrades) }, []string{short},
			"address", "share its address", "ClientIP",
		},
		"unnamed proxy, signed in": {
			func(t *testing.T) string { return nginx(t, wiring{}.serve(t), "", addresses+upgrades) }, []string{short, "-cookie", "session=alice"},
			"address", "share its address", "ClientIP",
		},
		"HTTP/2 without ConnContext": {
			served(wiring{start: secure}), []string{short, "-insecure"},
			"http2", "megabytes", "handlers.ConnContext",
		},
		"CSRF check": {
			served(wiring{live: csrf}), []string{short}, "beats", `refuses the beats of pages (POST /presence/beat): status 403`, "CSRF",
		},
		"no Authorize": {
			served(wiring{page: home + `{{whosOnline "thread:42"}}`}), []string{short},
			"topics", "thread:42", "handlers.Config.Authorize",
		},
		"no Authorize at all": {
			served(wiring{config: handlers.Config{Authorize: func(*http.Request, presence.Visitor, presence.Topic) bool { return false }}}), []string{short},
			"topics", "may follow nothing", "handlers.Config.Authorize",
		},
		"no middleware": {
			served(wiring{bare: true}), []string{short}, "middleware", "not passed the presence middleware", "mount both",
		},
		"no middleware before the page": {
			served(wiring{onlyLive: true}), []string{short}, "middleware", "the page has not", "before the pages",
		},
		"no widget": {
			served(wiring{page: "<h1>Home</h1>", prefix: "/live", mount: "/live/"}), []string{short, "-prefix", "/live/"},
			"widget", "no presence, although the endpoints answer at /live", "whosOnline",
		},
		"wrong prefix": {
			served(wiring{mount: "/live/"}), []string{short}, "endpoints", "no presence endpoints at /presence", "track.Config.Prefix",
		},
		"StripPrefix": {
			served(wiring{live: func(h http.Handler) http.Handler { return http.StripPrefix("/presence", h) }}), []string{short},
			"endpoints", "does not serve the path", "StripPrefix",
		},
		"presence before the sessions": {
			served(wiring{sessions: true}), []string{short, "-cookie", "session=alice"},
			"sessions", "sign nobody in", "inside of your sessions",
		},
		"answers collected": {
			served(wiring{live: func(h http.Handler) http.Handler { return http.TimeoutHandler(h, time.Minute, "late") }}), []string{short},
			"stream", "collects answers", "Unwrap",
		},
		"no script": {
			served(wiring{live: func(h http.Handler) http.Handler {
				mux := http.NewServeMux()
				mux.Handle("/", h)
				mux.Handle("/presence/assets/", http.NotFoundHandler())
				return mux
			}}), []string{short},
			"script", "cannot be loaded: status 404", "handlers.Config.Widget",
		},
		"public page with a user": {
			served(wiring{pages: public}), []string{short, "-cookie", "session=alice"},
			"cache", "names its user, alice", "Cache-Control: private",
		},
		"skewed clock": {
			hurried, []string{short}, "clock", "ahead of this machine's", "NTP",
		},
		"Redis that evicts": {
			served(wiring{}), []string{short, "-redis", "evicts"},
			"store", "allkeys-lru", "noeviction",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for i, arg := range tt.args {
				if arg == "evicts" {
					tt.args[i] = redistest.Start(t, "--maxmemory-policy", "allkeys-lru").URL()
				}
			}
			found, code := verdicts(t, knows(tt.check), append(tt.args, tt.site(t)+"/")...)
			for check, v := range found {
				if v.State == isWrong && check != tt.check {
					t.Errorf("%s: got %q, want nothing wrong", check, v.Says)
				}
			}
			got := found[tt.check]
			switch {
			case tt.check == "" && code != 0:
				t.Errorf("exit code: got %d, want 0", code)
			case tt.check == "":
				wantAll(t, found)
			case got.State != isWrong || !strings.Contains(got.Says, tt.says) || !strings.Contains(got.Cure, tt.cure) || code != 1:
				t.Errorf("%s: got %+v and code %d, want it wrong, saying %q with the cure %q, and code 1", tt.check, got, code, tt.says, tt.cure)
			}
		})
	}
}

// knows returns whether a check has a verdict; all checks, if it is empty, but for those that
// need more time or a flag.
func knows(check string) func(map[string]verdict) bool {
	if check == "" {
		return allKnown("sessions", "store", "timeout")
	}
	return func(found map[string]verdict) bool { return found[check].State != isUnknown }
}

// allKnown returns whether all checks have a verdict, but for some.
func allKnown(but ...string) func(map[string]verdict) bool {
	return func(found map[string]verdict) bool {
		for check, v := range found {
			if v.State == isUnknown && !slices.Contains(but, check) {
				return false
			}
		}
		return true
	}
}

// wantAll wants a verdict of each check.
func wantAll(t *testing.T, found map[string]verdict) {
	t.Helper()
	if len(found) != len(checks()) {
		t.Errorf("got %d verdicts, want %d", len(found), len(checks()))
	}
}
