package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/examples/forum/internal/forumtest"
	"github.com/rollcall-go/rollcall/internal/redistest"
)

// A rawStream is a client of which the test sees every byte.
type rawStream struct {
	conn  net.Conn
	lines *bufio.Reader
}

// openRaw opens a stream, a WebSocket or a long poll of a user, and reads the head of
// the answer if there is one yet.
func openRaw(t *testing.T, f *forumtest.Forum, name, path, header string) *rawStream {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(f.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(forumtest.Patience))
	fmt.Fprintf(conn, "GET /presence/%s HTTP/1.1\r\nHost: forum\r\nCookie: %s=%s\r\n%s\r\n", path, cookieName, name, header)
	return &rawStream{conn, bufio.NewReaderSize(conn, 64<<10)}
}

// rest reads to the end.
func (s *rawStream) rest(t *testing.T) string {
	t.Helper()
	text, err := io.ReadAll(s.lines)
	if err != nil {
		t.Errorf("the stream was cut: %v after %.200q", err, text)
	}
	return string(text)
}

const upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"

// TestDrain: a forum that is told to stop tells every stream to come back, each
// at another time, and refuses new ones; on another node nobody who comes back is
// seen to leave, and the others leave once, after the grace.
func TestDrain(t *testing.T) {
	t.Parallel()
	const grace = 6 * time.Second // in which half of them come back, on a slow machine too
	redis := redistest.Start(t)
	flags := []string{"-redis", redis.URL(), "-grace", grace.String(), "-ttl", "30s", "-sweep", "200ms"}
	a, b := forumtest.Start(t, flags...), forumtest.Start(t, flags...)
	watcher := b.Visitor(t).Stream("topic=site")

	streams := make(map[string]*rawStream)
	for i := range 6 {
		name := fmt.Sprint("sse", i)
		streams[name] = openRaw(t, a, name, "events?topic=site", "")
	}
	streams["ws"] = openRaw(t, a, "ws", "ws?topic=site", upgrade)
	streams["poll"] = openRaw(t, a, "poll", "poll?topic=site&wait=50", "")
	here := map[string]bool{}
	watcher.Until("all to be there", func(e forumtest.Event) bool {
		for name := range e.Joins {
			here[name] = true
		}
		for name := range e.Users {
			here[name] = true
		}
		return len(here) == len(streams)
	})
	first, err := http.ReadResponse(openRaw(t, a, "poll", "poll?topic=site&wait=50", "").lines, nil) // a state with all of them
	if err != nil {
		t.Fatal(err)
	}
	var polled struct{ Cursor string }
	if err := json.NewDecoder(first.Body).Decode(&polled); err != nil {
		t.Fatal(err)
	}
	openRaw(t, a, "", "events?topic=site", "") // a guest who reads nothing
	polling := openRaw(t, a, "poll", "poll?topic=site&wait=50&cursor="+polled.Cursor, "")
	a.WantConnections(t, "map[poll:1 sse:7 websocket:1]")

	begin := time.Now()
	stopped := make(chan struct{})
	var took time.Duration
	go func() {
		defer close(stopped)
		a.Stop(t, syscall.SIGTERM)
		took = time.Since(begin)
	}()
	defer func() { <-stopped }()
	waits := map[string]bool{}
	for name, s := range streams {
		switch {
		case strings.HasPrefix(name, "sse"):
			text := s.rest(t)
			last := text[strings.LastIndex(text, "retry: "):]
			wait, _, _ := strings.Cut(strings.TrimPrefix(last, "retry: "), "\n")
			waits[wait] = true
			if strings.Contains(last, "event:") {
				t.Errorf("%s: the last word was %q, want when to come back", name, last)
			}
		case name == "ws":
			if text := s.rest(t); !strings.Contains(text, "\x03\xe9") { // 1001, going away
				t.Errorf("the WebSocket ended with %.300q, want a close frame with 1001", text)
			}
		}
	}
	if len(waits) < 3 {
		t.Errorf("six streams come back after %v ms, want different times", waits)
	}
	if res, err := http.ReadResponse(polling.lines, nil); err != nil || res.StatusCode != http.StatusOK && res.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("long poll: got %v, %v, want an answer", res, err)
	}
	for i := range 3 { // half come back
		defer b.User(t, fmt.Sprint("sse", i)).Stream("topic=site").Close()
	}
	<-stopped
	if took > stopTime+time.Second {
		t.Errorf("stopping took %v, want at most %v", took, stopTime)
	}

	left := map[string]int{}
	watcher.Until("the others to leave", func(e forumtest.Event) bool {
		for name := range e.Leaves {
			left[name]++
		}
		return len(left) == 5
	})
	if took := time.Since(begin); took < grace {
		t.Errorf("they left after %v, want the grace of %v", took, grace)
	}
	for _, name := range []string{"sse3", "sse4", "sse5", "ws", "poll"} {
		if left[name] != 1 {
			t.Errorf("%s was seen to leave %d times, want once; all: %v", name, left[name], left)
		}
	}
}

// TestStopping: a forum that waits for its last streams to end answers pages,
// takes no new streams, and tells a load balancer so.
func TestStopping(t *testing.T) {
	config, err := parseConfig(nil, none)
	if err != nil {
		t.Fatal(err)
	}
	s, err := newSite(config, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	get := func(path string) *http.Response {
		res, err := http.Get(server.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		return res
	}
	if res := get("/healthz"); res.StatusCode != http.StatusOK {
		t.Errorf("/healthz: got %s, want 200", res.Status)
	}
	if err := s.close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]int{"/healthz": 503, "/": 200, "/presence/events?topic=site": 503, "/presence/poll?topic=site": 503} {
		res := get(path)
		if res.StatusCode != want {
			t.Errorf("%s: got %s, want %d", path, res.Status, want)
		}
		if strings.HasPrefix(path, "/presence") && (res.Header.Get("Retry-After") == "" || res.Header.Get("Content-Type") != "application/problem+json") {
			t.Errorf("%s: got the headers %v, want Retry-After and a problem", path, res.Header)
		}
	}
}
