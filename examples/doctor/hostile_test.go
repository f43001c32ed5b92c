package main

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	neturl "net/url"
	"strings"
	"testing"
)

const widget = `<whos-online topic="site" src="/presence">`

// hostile returns a site whose page is all right, and whose endpoints are not.
func hostile(t *testing.T, endpoints http.HandlerFunc) string {
	t.Helper()
	return answers(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			fmt.Fprint(w, widget)
			return
		}
		endpoints(w, r)
	})
}

// Whatever the endpoints send, the doctor comes to an end, and prints short lines of text.
func TestHostileEndpoints(t *testing.T) {
	t.Parallel()
	endless := func(kind, piece string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", kind)
			for line := bytes.Repeat([]byte(piece), 5000); ; {
				if _, err := w.Write(line); err != nil {
					return
				}
			}
		}
	}
	problem := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusTeapot)
			fmt.Fprintf(w, `{"detail":%q}`, text)
		}
	}
	for name, endpoints := range map[string]http.HandlerFunc{
		"an endless line":      endless("text/event-stream", "x"),
		"endless events":       endless("text/event-stream", "event: state\ndata: {}\n\n"),
		"endless JSON":         endless("application/json", "["),
		"an endless problem":   endless("application/problem+json", "{"),
		"a long problem":       problem(strings.Repeat("x", 100_000)),
		"a problem that draws": problem("\x1b[2J\u202e\a"),
		"a welcome that draws": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "event: welcome\ndata: {\"heartbeat\":-1e300,\"user\":\"\\u001b[2J\",\"refused\":[\"\\u001b[2J\",\""+strings.Repeat("y", 5000)+"\"]}\n\n")
		},
		"not gzip": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			w.Header().Set("Content-Encoding", "gzip")
			fmt.Fprint(w, "event: welcome\ndata: {}\n\n")
		},
		"lies about a socket": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Connection", "Upgrade")
			w.Header().Set("Upgrade", "websocket")
			w.WriteHeader(http.StatusSwitchingProtocols)
		},
		"closes": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out, errs bytes.Buffer
			code := run(t.Context(), []string{"-for", "2s", hostile(t, endpoints)}, &out, &errs)
			if errs.Len() > 0 || code == 2 {
				t.Errorf("got code %d and %q, want verdicts", code, &errs)
			}
			for line := range strings.Lines(out.String()) {
				if strings.ContainsAny(line, "\x1b\a\u202e") || len(line) > 1000 {
					t.Errorf("got %.200q with %d bytes, want a short line of text", line, len(line))
				}
			}
		})
	}
}

// Cookies of the command line go to the site alone.
func TestCookiesStayWithTheSite(t *testing.T) {
	t.Parallel()
	other := answers(t, func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("got a request for %s with %v, want none", r.URL, r.Header)
	})
	other = strings.Replace(other, "127.0.0.1", "localhost", 1)
	url := hostile(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other+r.URL.Path, http.StatusTemporaryRedirect)
	})
	var out, errs bytes.Buffer
	if run(t.Context(), []string{"-for", "2s", "-cookie", "session=secret", url}, &out, &errs); strings.Contains(out.String(), "secret") {
		t.Errorf("got %s, want no secret", &out)
	}
}

// A redirect from https to http of the same host is refused: the cookies would go there in the
// clear.
func TestRedirectToLess(t *testing.T) {
	for to, want := range map[string]error{
		"https://site.example/home": nil, "http://site.example/": errPlain, "ws://site.example/": errPlain, "https://evil.example/": errElsewhere,
	} {
		page, _ := neturl.Parse("https://site.example/")
		v := new(network).visitor(page, nil)
		r, err := http.NewRequest(http.MethodGet, to, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := v.client.CheckRedirect(r, nil); !errors.Is(got, want) || want == nil && got != nil {
			t.Errorf("%s: got %v, want %v", to, got, want)
		}
	}
}
