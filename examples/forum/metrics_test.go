package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/rollcall-go/rollcall/examples/forum/internal/forumtest"
)

// All metrics of the library are on /metrics of a running forum, named as
// Prometheus wants them.
func TestMetrics(t *testing.T) {
	t.Parallel()
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	t.Cleanup(receiver.Close)
	f := forumtest.Start(t, "-webhook", receiver.URL) // its metrics are those of a consumer
	alice := f.User(t, "alice")
	alice.Stream("topic=site&topic=thread:1").Join("alice")
	res := f.Visitor(t).Get("/metrics")
	problems, err := promlint.New(strings.NewReader(res.Body)).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		if strings.HasPrefix(p.Metric, "presence_") {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
	page, err := os.ReadFile("../../handlers/metrics/testdata/families.txt")
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile("(?m)^\\| `(presence_[a-z_]+)").FindAllStringSubmatch(string(page), -1)
	if len(names) < 30 {
		t.Errorf("families.txt lists %d metrics, want 30 or more", len(names))
	}
	for _, name := range names {
		if !strings.Contains(res.Body, "# HELP "+name[1]+" ") {
			t.Errorf("%s is not on /metrics", name[1])
		}
	}
	for _, want := range []string{`presence_connections{transport="sse"} 1`, `presence_users_online{kind="thread"} 1`, `presence_connected_users 1`, "go_goroutines ", "process_open_fds "} {
		if !strings.Contains(res.Body, "\n"+want) {
			t.Errorf("got no line %s", want)
		}
	}
}

// The metrics are for programs of the forum's machine and for its staff. Whatever a proxy says of a
// visitor's address, the visitor is a stranger.
func TestMetricsAreForOperators(t *testing.T) {
	t.Parallel()
	f := forumtest.Start(t, "-staff", "sam")
	asks := func(v *forumtest.Visitor, header, value string) int {
		t.Helper()
		r, err := http.NewRequest(http.MethodGet, v.URL+"/metrics", nil)
		if err != nil {
			t.Fatal(err)
		}
		if header != "" {
			r.Header.Set(header, value)
		}
		res, err := v.Client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		body, _ := io.ReadAll(res.Body)
		if res.StatusCode == http.StatusOK != strings.Contains(string(body), "presence_") {
			t.Errorf("%s %s: got %d and %s", header, value, res.StatusCode, body)
		}
		return res.StatusCode
	}
	guest := f.Visitor(t)
	if got := asks(guest, "", ""); got != http.StatusOK {
		t.Errorf("a program of this machine: got %d, want 200", got)
	}
	for _, header := range [][2]string{
		{"X-Forwarded-For", "203.0.113.9"}, {"X-Forwarded-For", "127.0.0.1"}, {"X-Forwarded-For", "127.0.0.1, 10.0.0.5"}, {"X-Forwarded-For", ""},
		{"Forwarded", "for=127.0.0.1"}, {"X-Real-IP", "127.0.0.1"}, {"X-Forwarded-Proto", "https"}, {"Via", "1.1 proxy"},
	} {
		if got := asks(guest, header[0], header[1]); got != http.StatusForbidden {
			t.Errorf("%q: got %d, want 403", header, got)
		}
	}
	for name, want := range map[string]int{"Sam": http.StatusOK, "Mallory": http.StatusForbidden} {
		if got := asks(f.User(t, name), "X-Forwarded-For", "203.0.113.9"); got != want {
			t.Errorf("%s through a proxy: got %d, want %d", name, got, want)
		}
	}
}
