package main

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
)

// patience is how long a test waits for output.
const patience = time.Minute

// A screen records what watch prints.
type screen struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// until waits for a line; the line is given without its time.
func (s *screen) until(t *testing.T, line string) {
	t.Helper()
	want := regexp.MustCompile(`(?m)^\d\d:\d\d:\d\d  ` + line + `$`)
	for deadline := time.Now().Add(patience); !want.MatchString(s.String()); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("got\n%s\nwant a line %s", s, line)
		}
	}
}

// serve runs a site at an address, until stop is called.
func serve(t *testing.T, addr string) (tracker *track.Tracker, listening string, stop func()) {
	t.Helper()
	tracker, err := track.New(memstore.New(), track.Config{Grace: 500 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: handlers.New(tracker, handlers.Config{
		Authorize: func(_ *http.Request, _ presence.Visitor, topic presence.Topic) bool { return topic != "secret" },
	})}
	go server.Serve(listener)
	stop = sync.OnceFunc(func() {
		if err := tracker.Close(context.Background()); err != nil {
			t.Error(err)
		}
		server.Close()
	})
	t.Cleanup(stop)
	return tracker, listener.Addr().String(), stop
}

func TestWatch(t *testing.T) {
	tracker, addr, stop := serve(t, "127.0.0.1:0")
	tracker.Seen(presence.Site, presence.User{ID: "alice", Name: "Al\u202eice"}, presence.Device{})
	for {
		if view, err := tracker.View(t.Context(), presence.Site); err == nil && view.Total == 1 {
			break
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out, errs screen
	code := make(chan int)
	go func() {
		code <- run(ctx, []string{"-url", "http://" + addr + "/presence", "-topic", "site", "-topic", "thread:1", "-header", "X-A: b"}, &out, &errs)
	}()
	out.until(t, `site         1 online: Al\x{FFFD}ice`)
	out.until(t, `thread:1     0 online`)
	tracker.Seen(presence.Site, presence.User{ID: "bob", Name: "Bob"}, presence.Device{})
	out.until(t, `site         \+ Bob +2 online`)
	tracker.SetStatus(t.Context(), "bob", presence.Away)
	out.until(t, `site         ~ Bob +away`)
	tracker.SignOut(t.Context(), "bob")
	out.until(t, `site         - Bob +1 online, last seen \d\d:\d\d:\d\d`)

	stop()
	tracker, _, _ = serve(t, addr)
	tracker.Seen(presence.Site, presence.User{ID: "carol", Name: "Carol"}, presence.Device{})
	out.until(t, `site         - Al\x{FFFD}ice +\d online`)
	out.until(t, `site         \+ Carol +1 online`)
	cancel()
	if got := <-code; got != 0 || errs.String() != "" {
		t.Errorf("got exit code %d and %q, want 0 and nothing", got, errs.String())
	}
	if strings.Contains(out.String(), "\u202e") {
		t.Errorf("got a character that turns the line around in %q, want none", out.String())
	}
}

func TestWatchExits(t *testing.T) {
	_, addr, _ := serve(t, "127.0.0.1:0")
	site := "http://" + addr + "/presence"
	for _, tt := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"-url", site, "-topic", "secret"}, 1, "watch: the server answers 403 Forbidden"},
		{[]string{"-url", site + "/nothing"}, 1, "watch: the server answers 404 Not Found"},
		{[]string{"-topic", "a b"}, 2, `watch: invalid value "a b" for flag -topic`},
		{[]string{"-header", "nothing"}, 2, `watch: invalid value "nothing" for flag -header`},
		{[]string{"-url", "nowhere"}, 1, `watch: "nowhere" is no URL`},
		{[]string{"more"}, 2, `watch: unexpected argument "more"`},
		{[]string{"-help"}, 0, "  -header header"},
	} {
		var out, errs screen
		if code := run(t.Context(), tt.args, &out, &errs); code != tt.code || !strings.HasPrefix(errs.String(), tt.want) || out.String() != "" {
			t.Errorf("%q: got %d, %q and %q, want %d and %s", tt.args, code, errs.String(), out.String(), tt.code, tt.want)
		}
	}
}
