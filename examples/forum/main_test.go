package main

import (
	"bytes"
	"context"
	"html"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/examples/forum/internal/forumtest"
)

// none is an environment without variables.
func none(string) string { return "" }

// ended returns a context that is over, so that a forum that starts in spite of
// its flags stops again.
func ended(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

func TestBadFlags(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want string // in the message
	}{
		{[]string{"-ttl", "soon"}, "-ttl"},
		{[]string{"-ttl", "45"}, "-ttl"},
		{[]string{"-ttl", "99ms"}, "-ttl: must be at least 100ms"},
		{[]string{"-grace", "0"}, "-grace"},
		{[]string{"-node-ttl", "99ms"}, "-node-ttl: must be at least 100ms"},
		{[]string{"-sweep", "-1s"}, "-sweep"},
		{[]string{"-age", "1ns"}, "-age"},
		{[]string{"-throttle", ""}, "-throttle"},
		{[]string{"-throttle", "3m"}, "-throttle: must be at most half of -age, so 2m30s"},
		{[]string{"-age", "1m59s"}, "-throttle"},
		{[]string{"-age"}, "-age"},
		{[]string{"-addr", "localhost"}, "-addr"},
		{[]string{"-addr", "localhost:65536"}, "-addr"},
		{[]string{"-addr", "localhost:-1"}, "-addr"},
		{[]string{"-node", "a b"}, "-node"},
		{[]string{"-node", strings.Repeat("n", 65)}, "-node"},
		{[]string{"-redis", "http://localhost"}, "-redis"},
		{[]string{"-redis", "redis://h:99999"}, "-redis"},
		{[]string{"-sql", "mysql://u:fifteen letters@h/d"}, "-sql (or SQL_URL): must be file:PATH or postgres://"},
		{[]string{"-sql", "forum.db"}, "-sql"},
		{[]string{"-sql", "file:"}, "-sql"},
		{[]string{"-sql", "file::memory:"}, "-sql"},
		{[]string{"-sql", "file:x?mode=memory"}, "-sql"},
		{[]string{"-sql", "file:/no/such/directory/forum.db"}, `there is no directory "/no/such/directory"`},
		{[]string{"-sql", "postgres://u:fifteen letters@h:99999/d"}, "-sql"},
		{[]string{"-sql", "postgres://u:fifteen%20letters@h/d?sslmode=perhaps"}, "-sql"},
		{[]string{"-nodes", "a"}, "-nodes"},
		{[]string{"-secret", "fifteen letters"}, "-secret (or SECRET): has 15 bytes, and must have at least 16"},
		{[]string{"-ttl", "5\n5s"}, "-ttl"},
		{[]string{"-tenants"}, "-tenants"},
		{[]string{"-tenants", ","}, "-tenants: it names none"},
		{[]string{"-tenants", "acme,Globex"}, `-tenants: "Globex" must be 1-32 of a-z 0-9 -`},
		{[]string{"serve"}, `"serve"`},
	} {
		var stdout, stderr bytes.Buffer
		code := run(ended(t), tt.args, none, &stdout, &stderr)
		got := stderr.String()
		if code != 2 || stdout.Len() > 0 || strings.Count(got, "\n") != 1 || !strings.Contains(got, tt.want) {
			t.Errorf("%q: got exit code %d, output %q and message %q, want 2, none and one line with %q",
				tt.args, code, &stdout, got, tt.want)
		}
		if strings.Contains(got, "fifteen") {
			t.Errorf("%q: the message %q holds the secret", tt.args, got)
		}
	}
}

func TestBadEnvironment(t *testing.T) {
	for name, value := range map[string]string{"ADDR": "nowhere", "REDIS_URL": "http://localhost", "SECRET": "fifteen letters", "SQL_URL": "sqlite:x", "NODE_TTL": "10"} {
		var stdout, stderr bytes.Buffer
		code := run(ended(t), nil, func(key string) string {
			if key == name {
				return value
			}
			return ""
		}, &stdout, &stderr)
		if code != 2 || stdout.Len() > 0 || strings.Count(stderr.String(), "\n") != 1 {
			t.Errorf("%s=%s: got exit code %d and message %q, want 2 and one line", name, value, code, &stderr)
		}
	}
}

func TestFlags(t *testing.T) {
	env := func(key string) string {
		return map[string]string{"ADDR": "127.0.0.1:7070", "APP": "4.13.0", "NODE_TTL": "7s"}[key]
	}
	got, err := parseConfig(nil, env)
	want := config{
		addr: "127.0.0.1:7070", app: "4.13.0", throttle: time.Minute, age: 5 * time.Minute,
		ttl: 45 * time.Second, nodeTTL: 7 * time.Second, grace: 10 * time.Second, sweep: time.Second,
		mail: mailConfig{after: 5 * time.Minute},
	}
	if err != nil || got != want {
		t.Errorf("no flags: got %+v and error %v, want %+v", got, err, want)
	}
	got, err = parseConfig(strings.Fields("-addr :0 -node n_1-A -sql file:forum.db -throttle 100ms -age 200ms -secret sixteen-letters! -ttl 100ms -node-ttl 300ms -grace 100ms -sweep 200ms -mail-after 2m -tenants acme,globex -app 5"), env)
	want = config{
		addr: ":0", node: "n_1-A", tenants: "acme,globex", app: "5", sql: "file:forum.db", secret: "sixteen-letters!", throttle: 100 * time.Millisecond, age: 200 * time.Millisecond,
		ttl: 100 * time.Millisecond, nodeTTL: 300 * time.Millisecond, grace: 100 * time.Millisecond, sweep: 200 * time.Millisecond,
		mail: mailConfig{after: 2 * time.Minute},
	}
	if err != nil || got != want {
		t.Errorf("all flags: got %+v and error %v, want %+v", got, err, want)
	}
	if got, err := parseConfig(nil, none); err != nil || got.addr != "127.0.0.1:8080" {
		t.Errorf("address: got %q and error %v, want 127.0.0.1:8080", got.addr, err)
	}
}

func TestHelp(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if code := run(t.Context(), []string{"-help"}, none, &stdout, &stderr); code != 0 || stderr.Len() > 0 {
		t.Errorf("-help: got exit code %d and message %q, want 0 and none", code, &stderr)
	}
	for _, flag := range []string{"addr", "redis", "sql", "node", "secret", "throttle", "age", "ttl", "node-ttl", "grace", "sweep", "app", "tenants"} {
		if !strings.Contains(stdout.String(), "  -"+flag+" ") {
			t.Errorf("-help: got %q, want -%s in it", &stdout, flag)
		}
	}
}

// TestApp: pages and streams say which build of the site they are of.
func TestApp(t *testing.T) {
	t.Parallel()
	v := forumtest.Start(t, "-app", `4.13 "beta"`).Visitor(t)
	if page := v.Get("/").Body; !strings.Contains(page, html.EscapeString(`"app":"4.13 \"beta\""`)) {
		t.Errorf("want the build in the head\n%.2000s", page)
	}
	if got := v.RawStream("topic=site", 1); !strings.Contains(got, `"app":"4.13 \"beta\""`) {
		t.Errorf("got %s, want the build in welcome", got)
	}
	for _, bad := range []string{"a\nb", strings.Repeat("x", 65), "\xff"} {
		var stdout, stderr bytes.Buffer
		if code := run(ended(t), []string{"-app", bad}, none, &stdout, &stderr); code != 2 || !strings.Contains(stderr.String(), "-app") {
			t.Errorf("%q: got exit code %d and %q, want 2 and a line that names the flag", bad, code, &stderr)
		}
	}
}

func TestExitCodes(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, tt := range []struct {
		flag, value string
		code        int
		want        string
	}{
		{"-addr", taken.Addr().String(), 1, taken.Addr().String()},
		{"-ttl", "1ms", 2, "-ttl"},
	} {
		out, err := forumtest.Command(t.Context(), tt.flag, tt.value).CombinedOutput()
		code := 0
		if exit, ok := err.(interface{ ExitCode() int }); ok {
			code = exit.ExitCode()
		}
		if code != tt.code || !strings.Contains(string(out), tt.want) {
			t.Errorf("%s %s: got exit code %d and %q, want %d and %q in it", tt.flag, tt.value, code, out, tt.code, tt.want)
		}
	}
}

// TestStops: also with a stream open, a signal ends the forum at once.
func TestStops(t *testing.T) {
	t.Parallel()
	took := time.Hour // by the quicker one: a machine may have other things to do
	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		f := forumtest.Start(t)
		guest, user := f.Visitor(t).Stream("topic=site"), f.User(t, "alice").Stream("topic=site&topic=thread:1")
		begin := time.Now()
		f.Stop(t, signal)
		took = min(took, time.Since(begin))
		for _, s := range []*forumtest.Stream{guest, user} {
			s.Drain()
		}
	}
	if took > stopTime-time.Second {
		t.Errorf("stopping took %v, want well under %v", took, stopTime)
	}
}

// TestAddresses: the printed line names where one gets in.
func TestAddresses(t *testing.T) {
	t.Parallel()
	for addr, host := range map[string]string{
		"127.0.0.1:0": "http://127.0.0.1:",
		"localhost:0": "http://localhost:",
		":0":          "http://localhost:",
	} {
		f := forumtest.Start(t, "-addr", addr)
		if !strings.HasPrefix(f.URL, host) || strings.HasSuffix(f.URL, ":0") {
			t.Errorf("-addr %s: got %s, want %s and a port", addr, f.URL, host)
		}
		if res := f.Visitor(t).Get("/healthz"); res.Status != http.StatusOK {
			t.Errorf("GET %s/healthz: got %d, want 200", f.URL, res.Status)
		}
	}
}
