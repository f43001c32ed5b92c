package browser_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/r3labs/sse/v2"

	"github.com/rollcall-go/rollcall/examples/forum/internal/forumtest"
	"github.com/rollcall-go/rollcall/examples/forum/suites/internal/forumtab"
	"github.com/rollcall-go/rollcall/internal/bound"
	"github.com/rollcall-go/rollcall/internal/need"
)

// An arrival is one event as a client got it.
type arrival struct {
	Event    string
	ID       string
	Protocol string // of a WebSocket
	Data     struct {
		Cursor, Prev string
		Joins        map[string]any
	}
}

// A follower is a client that others wrote, as it follows the site's topic.
type follower struct {
	t       *testing.T
	make    string
	browser func() *forumtab.Browser
	origin  string
	got     chan arrival
	cursor  string // of the topic
	id      string // of the connection
	ended   chan struct{}
}

// clients are the makes of clients. Some come back by themselves when their
// connection breaks; the others are started again, from the last id.
var clients = []struct {
	make    string
	start   func(*follower)
	returns bool
}{
	{"curl", (*follower).curl, false},
	{"r3labs", (*follower).r3labs, false},
	{"eventsource", (*follower).node, true},
	{"ws", (*follower).node, true},
	{"EventSource", (*follower).chromium, true},
	{"WebSocket", (*follower).chromium, true},
}

// Clients that others wrote read the state, each diff, and, after their connection
// broke, the one diff that they missed, on every way to the forum. Behind an nginx
// that buffers, the welcome comes only since it heeds X-Accel-Buffering.
func TestClientsThatOthersWrote(t *testing.T) {
	t.Parallel()
	browser := sync.OnceValue(func() *forumtab.Browser { return forumtab.New(t) })
	for way, to := range map[string]func(*testing.T, *forumtest.Forum) upstream{
		"direct": direct, "nginx": behindNginx("off"), "nginx that buffers": behindNginx("on"),
	} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			forum := forumtest.Start(t)
			upstream := to(t, forum)
			for i, c := range clients {
				t.Run(c.make, func(t *testing.T) {
					t.Parallel()
					relay := newRelay(t, upstream)
					f := &follower{t: t, make: c.make, browser: browser, origin: relay.url, got: make(chan arrival, 1000)}
					letter := string('a' + rune(i)) // others follow the same topic
					c.start(f)
					f.begin()
					forum.User(t, letter+"lice").Get("/")
					f.until(letter + "lice")

					relay.cut()
					forum.User(t, letter+"ob").Get("/")
					if !c.returns {
						f.finish()
						c.start(f)
					}
					f.until(letter + "ob")
				})
			}
		})
	}
}

func (f *follower) next() arrival {
	f.t.Helper()
	select {
	case a := <-f.got:
		if a.ID != "" {
			f.id = a.ID
		}
		return a
	case <-time.After(forumtest.Patience):
		f.t.Fatalf("%s: nothing came any more", f.make)
		return arrival{}
	}
}

// begin reads the welcome and the state.
func (f *follower) begin() {
	f.t.Helper()
	welcome, state := f.next(), f.next()
	if welcome.Event != "welcome" || state.Event != "state" {
		f.t.Fatalf("%s: got %s and %s first, want the welcome and a state", f.make, welcome.Event, state.Event)
	}
	if strings.EqualFold(f.make, "WebSocket") || f.make == "ws" {
		if welcome.Protocol != "presence.v1" {
			f.t.Errorf("%s: got protocol %q, want presence.v1", f.make, welcome.Protocol)
		}
	}
	f.cursor = state.Data.Cursor
}

// until reads on to a user's join: diffs, each of which follows the one before.
func (f *follower) until(user string) {
	f.t.Helper()
	for {
		a := f.next()
		switch a.Event {
		case "diff":
			if a.Data.Prev != f.cursor {
				f.t.Errorf("%s: got a diff from %s at %s", f.make, a.Data.Prev, f.cursor)
			}
			f.cursor = a.Data.Cursor
			if forumtest.Has(a.Data.Joins, user) {
				return
			}
		case "welcome", "heartbeat":
		default:
			f.t.Fatalf("%s: got %s, want diffs until %s joins", f.make, a.Event, user)
		}
	}
}

// finish reads what has come until the connection broke.
func (f *follower) finish() {
	f.t.Helper()
	select {
	case <-f.ended:
	case <-time.After(forumtest.Patience):
		f.t.Fatalf("%s: goes on over a connection that was cut", f.make)
	}
	for len(f.got) > 0 {
		if a := f.next(); a.Event == "diff" {
			f.cursor = a.Data.Cursor
		}
	}
}

// curl reads the lines of an event stream.
func (f *follower) curl() {
	f.t.Helper()
	curl := need.Program(f.t, "curl", "curl")
	f.run(func(line string, a *arrival) bool {
		field, value, _ := strings.Cut(line, ": ")
		switch field {
		case "event":
			*a = arrival{Event: value}
		case "id":
			a.ID = value
		case "data":
			return json.Unmarshal([]byte(value), &a.Data) == nil
		}
		return false
	}, curl, "-sN", "-H", "Last-Event-ID: "+f.id, f.origin+"/presence/events?topic=site&observe=1")
}

// node runs a package of npm's.
func (f *follower) node() {
	f.t.Helper()
	need.Package(f.t, f.make)
	f.run(func(line string, a *arrival) bool {
		*a = arrival{}
		return json.Unmarshal([]byte(line), a) == nil
	}, need.Program(f.t, "node", "node", "nodejs"), "testdata/follow.mjs", filepath.Dir(need.Package(f.t, "")), f.make, f.origin)
}

// run runs a program, and takes an arrival for each line that completes one.
func (f *follower) run(read func(line string, a *arrival) bool, name string, args ...string) {
	f.t.Helper()
	cmd := bound.To(exec.Command(name, args...), syscall.SIGKILL)
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		f.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		f.t.Fatal(err)
	}
	done := make(chan struct{})
	f.ended = done
	go func() {
		defer close(done)
		var a arrival
		for lines := bufio.NewReader(stdout); ; {
			line, err := lines.ReadString('\n')
			if err == io.EOF {
				return
			}
			if read(strings.TrimSuffix(line, "\n"), &a) {
				f.got <- a
			}
		}
	}()
	f.t.Cleanup(func() {
		cmd.Process.Kill()
		<-done
		cmd.Wait()
	})
}

// r3labs reads by a Go client, which does not come back after a stream that ended
// without a fault.
func (f *follower) r3labs() {
	f.t.Helper()
	client := sse.NewClient(f.origin + "/presence/events?topic=site&observe=1")
	client.LastEventID.Store([]byte(f.id))
	client.ReconnectStrategy = once{} // its own would go on after the test
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	f.ended = done
	go func() {
		defer close(done)
		_ = client.SubscribeRawWithContext(ctx, func(m *sse.Event) {
			a := arrival{Event: string(m.Event), ID: string(m.ID)}
			if json.Unmarshal(m.Data, &a.Data) == nil {
				f.got <- a
			}
		})
	}()
	f.t.Cleanup(func() {
		cancel()
		<-done
		client.Connection.CloseIdleConnections()
	})
}

// once is a policy of r3labs's client.
type once struct{}

func (once) NextBackOff() time.Duration { return -1 }
func (once) Reset()                     {}

// chromium reads in a page of the forum's own that has no stream itself.
func (f *follower) chromium() {
	f.t.Helper()
	need.Chromium(f.t)
	script, err := os.ReadFile("testdata/follow.js")
	if err != nil {
		f.t.Fatal(err)
	}
	ctx, end := chromedp.NewContext(f.browser().Ctx, chromedp.WithNewBrowserContext())
	f.t.Cleanup(end)
	if err := chromedp.Do(ctx); err != nil { // the tab lives as long as the context of the first call
		f.t.Fatal(err)
	}
	page := forumtab.Of(f.t, ctx, f.origin)
	page.Open("/healthz")
	forumtab.Eval[bool](page, string(script)+`; arrived = []; follow(`+f.make+`, location.origin, (e) => arrived.push(e)); true`)
	ctx, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			all, err := chromedp.Run(ctx, chromedp.Evaluate[[]arrival](`arrived.splice(0)`))
			if err != nil {
				return
			}
			for _, a := range all {
				f.got <- a
			}
			time.Sleep(20 * time.Millisecond)
		}
	}()
	f.t.Cleanup(func() { stop(); <-done })
}
