package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/rollcall-go/rollcall/examples/forum/internal/forumtest"
)

// All of the README's metrics are on /metrics of a running forum, named as
// Prometheus wants them.
func TestMetrics(t *testing.T) {
	t.Parallel()
	f := forumtest.Start(t, "-webhook", "http://127.0.0.1:9/") // its metrics are those of a consumer
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
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile("(?m)^\\| `(presence_[a-z_]+)").FindAllStringSubmatch(string(readme), -1)
	if len(names) < 30 {
		t.Errorf("the README lists %d metrics, want 30 or more", len(names))
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
