package bridge_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/r3labs/sse/v2"

	"github.com/rollcall-go/rollcall/handlers/bridge"
	"github.com/rollcall-go/rollcall/internal/leak"
	"github.com/rollcall-go/rollcall/internal/pipes"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
)

func TestMain(m *testing.M) { leak.VerifyTestMain(m) }

// A site runs an r3labs server with a bridge, over a network in memory without
// buffers: who does not read stops the writer at once.
type site struct {
	t       *testing.T
	tracker *track.Tracker
	events  *sse.Server
	bridge  *bridge.Bridge
	network *pipes.Network
	cancel  context.CancelFunc
	ran     chan error
}

func newSite(t *testing.T, cfg bridge.Config, around func(http.Handler) http.Handler, before ...func(*bridge.Bridge)) *site {
	t.Helper()
	tracker, err := track.New(memstore.New(), track.Config{MergeWindow: -1})
	if err != nil {
		t.Fatal(err)
	}
	s := &site{t: t, tracker: tracker, events: sse.New(), network: pipes.New(), ran: make(chan error, 1)}
	s.events.BufferSize = 8
	if s.bridge, err = bridge.New(tracker, s.events, cfg); err != nil {
		t.Fatal(err)
	}
	for _, f := range before {
		f(s.bridge)
	}
	var handler http.Handler = s.events
	if around != nil {
		handler = around(handler)
	}
	server := &http.Server{Handler: handler}
	served := make(chan struct{})
	go func() {
		defer close(served)
		server.Serve(s.network.Listen())
	}()
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	go func() { s.ran <- s.bridge.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		server.Close()
		<-served
		time.Sleep(time.Second) // the server lets its subscribers go
		s.events.Close()
		if err := tracker.Close(context.Background()); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Second)
	})
	return s
}

// see records page views that are a diff each.
func (s *site) see(users ...string) {
	for _, id := range users {
		s.tracker.Seen(presence.Site, presence.User{ID: presence.UserID(id)}, presence.Device{})
		time.Sleep(20 * time.Millisecond)
	}
}

// A subscriber applies what comes, and checks that each event follows the one
// before.
type subscriber struct {
	t       *testing.T
	stalled atomic.Bool
	resume  chan struct{}

	mu     sync.Mutex
	states int
	diffs  int
	beats  int // other events
	cursor string
	id     int
	users  map[string]bool
}

func (s *site) subscribe(stream string) *subscriber {
	c := &subscriber{t: s.t, resume: make(chan struct{}), users: make(map[string]bool)}
	ctx, cancel := context.WithCancel(context.Background())
	transport := &http.Transport{DisableCompression: true, DialContext: s.network.Dial}
	client := sse.NewClient("http://site.test/events", sse.ClientMaxBufferSize(1<<20))
	client.Connection = &http.Client{Transport: transport}
	client.ReconnectStrategy = never{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = client.SubscribeWithContext(ctx, stream, c.take)
	}()
	s.t.Cleanup(func() {
		c.goOn()
		cancel()
		<-done
		transport.CloseIdleConnections()
	})
	time.Sleep(50 * time.Millisecond)
	return c
}

type never struct{}

func (never) NextBackOff() time.Duration { return -1 }
func (never) Reset()                     {}

func (c *subscriber) goOn() {
	if c.stalled.Swap(false) {
		close(c.resume)
	}
}

func (c *subscriber) take(m *sse.Event) {
	if c.stalled.Load() {
		<-c.resume
	}
	var data struct {
		Cursor, Prev         string
		Users, Joins, Leaves map[string]any
	}
	if err := json.Unmarshal(m.Data, &data); err != nil {
		c.t.Errorf("got %q, which is no event: %v", m.Data, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if id, err := strconv.Atoi(string(m.ID)); err != nil || id <= c.id {
		c.t.Errorf("got id %q after %d, want a larger number", m.ID, c.id)
	} else {
		c.id = id
	}
	if c.cursor == "" && string(m.Event) != "state" {
		return // its state is still to come
	}
	switch string(m.Event) {
	case "state":
		c.states++
		clear(c.users)
		for id := range data.Users {
			c.users[id] = true
		}
	case "diff":
		c.diffs++
		if data.Prev != c.cursor {
			c.t.Errorf("got a diff from %s at %s", data.Prev, c.cursor)
		}
		for id := range data.Joins {
			c.users[id] = true
		}
		for id := range data.Leaves {
			delete(c.users, id)
		}
	default:
		c.beats++
		if data.Cursor != c.cursor {
			c.t.Errorf("got a %s at %s, want %s", m.Event, data.Cursor, c.cursor)
		}
	}
	c.cursor = data.Cursor
}

func (c *subscriber) got() (states, diffs, users, beats int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.states, c.diffs, len(c.users), c.beats
}

func (c *subscriber) want(what string, states, diffs, users int) {
	c.t.Helper()
	if s, d, u, _ := c.got(); s != states || diffs >= 0 && d != diffs || u != users {
		c.t.Errorf("%s: got %d states, %d diffs and %d users, want %d, %d and %d", what, s, d, u, states, diffs, users)
	}
}

// A subscriber gets a state and then each diff; another who comes gets a state,
// which the first gets too.
func TestBridge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, bridge.Config{Stream: func(t presence.Topic) string { return "presence-" + string(t) }}, nil)
		s.see("alice")
		time.Sleep(2 * time.Second)
		first := s.subscribe("presence-site")
		time.Sleep(time.Second)
		s.see("bob", "carol")
		first.want("the first", 1, 2, 3)
		second := s.subscribe("presence-site")
		third := s.subscribe("presence-site") // within a second of the second
		time.Sleep(2 * time.Second)
		s.see("dave")
		first.want("the first, after others came", 3, 3, 4)
		second.want("the second", 2, 1, 4)
		third.want("the third", 1, 1, 4)
		time.Sleep(40 * time.Second)
		if _, _, _, got := first.got(); got < 2 || got > 4 {
			t.Errorf("got %d heartbeats in 40 s of silence, want 2, and perhaps one for the totals", got)
		}
		s.cancel()
		if err := <-s.ran; err != nil {
			t.Errorf("Run: got %v, want nil", err)
		}
	})
}

// Whatever ends the bridge's connection but the tracker's own end, the stream goes on,
// and those on it get a state.
func TestBridgeGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var conns []*track.Connection
		s := newSite(t, bridge.Config{}, nil, func(b *bridge.Bridge) {
			b.Watch(func(conn *track.Connection) { conns = append(conns, conn) })
		})
		time.Sleep(2 * time.Second) // its first state is nobody's
		reader := s.subscribe("site")
		time.Sleep(2 * time.Second)
		s.see("alice")
		reader.want("before", 1, 1, 1)
		for n := 1; n <= 3; n++ {
			if len(conns) != n {
				t.Fatalf("got %d connections, want %d", len(conns), n)
			}
			conns[n-1].Close()
			time.Sleep(6 * time.Second)
			s.see(fmt.Sprint("user", n))
			reader.want("afterwards", 1+n, 1+n, 1+n)
		}
		if err := s.tracker.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if err := <-s.ran; !errors.Is(err, presence.ErrClosed) {
			t.Errorf("after the tracker closed: got %v, want ErrClosed", err)
		}
	})
}

// While a subscriber does not read, the server is stuck; nothing else is, and
// nothing piles up. When it reads again, it has the roster of now.
func TestStuckServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, bridge.Config{Limit: 1000}, nil)
		s.see("first")
		slow := s.subscribe("site")
		time.Sleep(time.Second)
		slow.want("before", 1, 0, 1)
		slow.stalled.Store(true)

		ctx, cancel := context.WithCancel(t.Context())
		told := 0
		done := make(chan struct{})
		go func() {
			defer close(done)
			for range s.tracker.Changes(ctx, presence.Site, "") {
				told++
			}
		}()
		time.Sleep(time.Second)
		for i := range 500 {
			s.see(fmt.Sprintf("user%d", i))
		}
		if connections := s.tracker.Stats().Connections; connections != 2 {
			t.Errorf("got %d connections, want the bridge's and the other reader's", connections)
		}
		cancel()
		<-done
		if told != 501 {
			t.Errorf("another reader was told %d times, want 501: a state and each diff", told)
		}
		slow.goOn()
		time.Sleep(5 * time.Second)
		if _, diffs, _, _ := slow.got(); diffs > 150 {
			t.Errorf("got %d diffs that were kept, want the server's own buffers at most", diffs)
		}
		slow.want("after", 2, -1, 501)
	})
}

// With a deadline, others on the stream wait no longer than that.
func TestDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, bridge.Config{Limit: 1000}, func(h http.Handler) http.Handler { return bridge.Deadline(h, 10*time.Second) })
		slow, other := s.subscribe("site"), s.subscribe("site")
		time.Sleep(2 * time.Second)
		slow.stalled.Store(true)
		for i := range 300 {
			s.see(fmt.Sprintf("user%d", i))
		}
		if _, _, users, _ := other.got(); users == 300 {
			t.Error("nobody waited: this shows nothing")
		}
		time.Sleep(11 * time.Second)
		if _, _, users, _ := other.got(); users != 300 {
			t.Errorf("got %d users after the deadline, want 300", users)
		}
	})
}

// The site's own hook and streams are left as they were.
func TestOtherStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker, err := track.New(memstore.New(), track.Config{})
		if err != nil {
			t.Fatal(err)
		}
		server := sse.New()
		defer server.Close()
		var came []string
		server.OnSubscribe = func(id string, _ *sse.Subscriber) { came = append(came, id) }
		server.CreateStream("news")
		b, err := bridge.New(tracker, server, bridge.Config{Topics: []presence.Topic{"site", "thread:1"}})
		if err != nil {
			t.Fatal(err)
		}
		server.OnSubscribe("news", nil)
		server.OnSubscribe("site", nil)
		if fmt.Sprint(came) != "[news site]" {
			t.Errorf("the site's hook: got %v, want both", came)
		}
		for _, cfg := range []bridge.Config{
			{}, // there is a stream site already
			{Topics: []presence.Topic{"a b"}},
			{Topics: []presence.Topic{"a", "b"}, Stream: func(presence.Topic) string { return "one" }},
		} {
			if _, err := bridge.New(tracker, server, cfg); err == nil {
				t.Errorf("%v: got no error, want one", cfg.Topics)
			}
		}
		ran := make(chan error)
		go func() { ran <- b.Run(t.Context()) }()
		time.Sleep(time.Second)
		if err := tracker.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if err := <-ran; !errors.Is(err, presence.ErrClosed) {
			t.Errorf("after the tracker closed: got %v, want ErrClosed", err)
		}
	})
}

// A bridge reads as nobody, so it refuses the topics that only users have.
func TestBridgeHasNoOwnTopics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker, err := track.New(memstore.New(), track.Config{Directory: presencetest.NewMemoryDirectory()})
		if err != nil {
			t.Fatal(err)
		}
		defer tracker.Close(context.Background())
		for topic, want := range map[presence.Topic]error{"people": presence.ErrGuest, "peoples": nil} {
			server := sse.New()
			if _, err := bridge.New(tracker, server, bridge.Config{Topics: []presence.Topic{topic}}); !errors.Is(err, want) {
				t.Errorf("%s: got %v, want %v", topic, err, want)
			}
			server.Close()
		}
	})
}
