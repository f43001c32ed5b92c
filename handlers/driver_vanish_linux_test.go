package handlers_test

import (
	"context"
	"io"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/internal/need"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/track"
)

// deafen makes the kernel drop all that comes for a socket, before TCP sees it. To the other
// end the machine has vanished without a word. hear undoes it.
func (p *peer) deafen() {
	p.t.Helper()
	drop := []syscall.SockFilter{{Code: syscall.BPF_RET | syscall.BPF_K}}
	//lint:ignore SA1019 the alternative is a dependency for one call
	p.control(func(fd uintptr) error { return syscall.AttachLsf(int(fd), drop) })
}

func (p *peer) hear() {
	p.t.Helper()
	//lint:ignore SA1019 the alternative is a dependency for one call
	p.control(func(fd uintptr) error { return syscall.DetachLsf(int(fd)) })
}

func (p *peer) control(set func(fd uintptr) error) {
	p.t.Helper()
	raw, err := p.conn.SyscallConn()
	noError(p.t, err)
	var failed error
	if err := raw.Control(func(fd uintptr) { failed = set(fd) }); err != nil || failed != nil {
		p.t.Fatal(err, failed)
	}
}

// mute keeps a client's kernel from saying anything by itself.
func (p *peer) mute() *peer {
	p.t.Helper()
	noError(p.t, p.conn.SetKeepAlive(false))
	return p
}

// sweeps has a site swept all the time.
func (s *site) sweeps() {
	stop := make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() {
		for tick := time.NewTicker(50 * time.Millisecond); ; {
			select {
			case <-tick.C:
				_, _ = s.tracker.Sweep(s.t.Context())
			case <-stop:
				tick.Stop()
				return
			}
		}
	})
	s.t.Cleanup(func() {
		close(stop)
		done.Wait()
	})
}

// goneAfter waits until nobody is in the site, and returns how long that took.
func (s *site) goneAfter() time.Duration {
	s.t.Helper()
	begin := time.Now()
	eventually(s.t, "the user is gone", func() bool { return s.names("site") == "" })
	return time.Since(begin)
}

// A client whose machine vanishes without a word is gone a TTL after its last beat, or over a
// WebSocket after its last answer to a ping, and without a grace. It does not matter whether
// something stands between that acknowledges for it, and whether diffs are under way.
func TestVanishedClient(t *testing.T) {
	need.Slow(t, "it waits for silence in real time")
	const ttl = 3 * time.Second
	for _, tt := range []struct {
		name          string
		over          transport
		beat          string
		proxied, busy bool
	}{
		{"SSE", overSSE, `"beat":1.333,`, false, false},
		{"SSE, busy", overSSE, `"beat":1.333,`, false, true},
		{"SSE behind a proxy", overSSE, `"beat":1.333,`, true, false},
		{"WebSocket", overSocket, `"beat":0,`, false, false},
		{"WebSocket, busy", overSocket, `"beat":0,`, false, true},
		{"WebSocket behind a proxy", overSocket, `"beat":0,`, true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newTCPSite(t, setup{presence: track.Config{TTL: ttl, Grace: time.Minute, MergeWindow: time.Millisecond}, handlers: handlers.Config{Authorize: anyTopic}})
			s.sweeps()
			if tt.busy {
				s.changes("other")
			}
			if tt.proxied {
				s.dial = plainProxy(t, s.dial)
			}
			p := s.peer(tt.over, request{path: "beat=auto&topic=site&topic=other", user: "alice"}).mute()
			p.until(tt.beat)
			p.until(`"cursor":`)
			if got := s.names("site"); got != "alice" {
				t.Fatalf("got %q online, want alice", got)
			}
			p.deafen()
			if got := s.goneAfter(); got < ttl/3 || got > 3*ttl {
				t.Errorf("gone after %v, want the TTL of %v after the last word", got, ttl)
			}
		})
	}
}

// Answers to pings alone keep a client whose stream a shard drives.
func TestPongsOverTCP(t *testing.T) {
	need.Slow(t, "it waits for silence in real time")
	t.Parallel()
	const ttl = 3 * time.Second
	s := newTCPSite(t, setup{presence: track.Config{TTL: ttl, Grace: time.Minute}})
	s.sweeps()
	c := s.talk(request{path: "ws?beat=auto", user: "alice"})
	beatOf(t, c.listener)
	_, vanish := c.answers()
	time.Sleep(2 * ttl)
	if got := s.names("site"); got != "alice" {
		t.Fatalf("after two TTLs: got %q online, want alice", got)
	}
	vanish()
	s.goneAfter()
}

// A stream without beats outlives a silence of five seconds.
func TestShortSilence(t *testing.T) {
	need.Slow(t, "it waits for silence in real time")
	t.Parallel()
	s := newTCPSite(t, setup{presence: track.Config{TTL: 12 * time.Second, Grace: 100 * time.Millisecond}})
	s.sweeps()
	p := s.peer(overSSE, request{user: "alice"}).mute()
	p.until("event: heartbeat")
	p.deafen()
	time.Sleep(5 * time.Second)
	p.hear()
	p.until("event: heartbeat")
	time.Sleep(2 * time.Second)
	p.until("event: heartbeat")
	if got := s.names("site"); got != "alice" {
		t.Errorf("got %q online, want alice", got)
	}
}

// changes makes something happen in a topic all the time.
func (s *site) changes(topic presence.Topic) {
	stop := make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(100 * time.Millisecond):
				s.tracker.Seen(topic, presence.User{ID: "bob", Name: time.Now().String()}, presence.Device{})
			}
		}
	})
	s.t.Cleanup(func() {
		close(stop)
		done.Wait()
	})
}

// plainProxy passes bytes on, and adds nothing. It returns how to dial it.
func plainProxy(t *testing.T, dial dialer) dialer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	noError(t, err)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := dial(t.Context(), "", "")
			if err != nil {
				in.Close()
				return
			}
			t.Cleanup(func() {
				in.Close()
				out.Close()
			})
			go io.Copy(in, out)
			go io.Copy(out, in)
		}
	}()
	return func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", l.Addr().String())
	}
}

type dialer = func(ctx context.Context, network, addr string) (net.Conn, error)
