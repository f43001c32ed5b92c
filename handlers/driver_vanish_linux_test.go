package handlers_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/presence"
)

// deafen makes the kernel drop all that comes for a socket, before TCP sees it. To the other
// end the machine has vanished without a word. hear undoes it.
func (p *peer) deafen() {
	p.t.Helper()
	drop := []syscall.SockFilter{{Code: syscall.BPF_RET | syscall.BPF_K}}
	filter := syscall.SockFprog{Len: 1, Filter: &drop[0]}
	p.control(func(fd uintptr) syscall.Errno {
		_, _, errno := syscall.Syscall6(syscall.SYS_SETSOCKOPT, fd, syscall.SOL_SOCKET, syscall.SO_ATTACH_FILTER,
			uintptr(unsafe.Pointer(&filter)), unsafe.Sizeof(filter), 0)
		return errno
	})
}

func (p *peer) hear() {
	p.t.Helper()
	p.control(func(fd uintptr) syscall.Errno {
		var none int32
		_, _, errno := syscall.Syscall6(syscall.SYS_SETSOCKOPT, fd, syscall.SOL_SOCKET, syscall.SO_DETACH_FILTER,
			uintptr(unsafe.Pointer(&none)), unsafe.Sizeof(none), 0)
		return errno
	})
}

func (p *peer) control(set func(fd uintptr) syscall.Errno) {
	p.t.Helper()
	raw, err := p.conn.SyscallConn()
	if err != nil {
		p.t.Fatal(err)
	}
	var errno syscall.Errno
	if err := raw.Control(func(fd uintptr) { errno = set(fd) }); err != nil || errno != 0 {
		p.t.Fatal(err, errno)
	}
}

// mute keeps a client's kernel from saying anything by itself.
func (p *peer) mute() *peer {
	p.t.Helper()
	if err := p.conn.SetKeepAlive(false); err != nil {
		p.t.Fatal(err)
	}
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

// A client whose machine vanishes without a word is gone a TTL after its last
// acknowledgement, without beats and without a grace: with nothing under way, and with
// diffs under way.
func TestVanishedClient(t *testing.T) {
	const ttl = 3 * time.Second
	for name, busy := range map[string]bool{"quiet": false, "busy": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTCPSite(t, setup{presence: presence.Config{TTL: ttl, Grace: time.Minute, MergeWindow: time.Millisecond}, handlers: handlers.Config{Authorize: anyTopic}})
			s.sweeps()
			p := s.peer(overSSE, request{path: "beat=auto&topic=site&topic=other", user: "alice"}).mute()
			p.until(`"beat":0,`)
			p.until(`"cursor":`)
			time.Sleep(2 * ttl) // acknowledgements alone keep the user
			if got := s.names("site"); got != "alice" {
				t.Fatalf("after two TTLs without beats: got %q online, want alice", got)
			}
			if busy {
				stop := make(chan struct{})
				var done sync.WaitGroup
				done.Go(func() {
					for i := 0; ; i++ {
						select {
						case <-stop:
							return
						case <-time.After(100 * time.Millisecond):
							s.tracker.Seen("other", presence.User{ID: "bob", Name: time.Now().String()}, presence.Device{})
						}
					}
				})
				t.Cleanup(func() {
					close(stop)
					done.Wait()
				})
			}
			p.deafen()
			if got := s.goneAfter(); got < ttl/2 {
				t.Errorf("gone after %v, want the TTL of %v after the last acknowledgement", got, ttl)
			}
		})
	}
}

// A client that cannot be reached for less than half of the TTL is not lost: its connection
// goes on.
func TestShortSilence(t *testing.T) {
	t.Parallel()
	s := newTCPSite(t, setup{presence: presence.Config{TTL: 12 * time.Second, Grace: 100 * time.Millisecond}})
	s.sweeps()
	p := s.peer(overSSE, request{path: "beat=auto", user: "alice"}).mute()
	p.until(`"beat":0,`)
	p.until("event: heartbeat") // its acknowledgement is the last word
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

// A plain TCP proxy acknowledges for a client that has vanished behind it. If the site says
// so the page beats, and is gone a TTL after the last beat.
func TestVanishedBehindProxy(t *testing.T) {
	const ttl = 3 * time.Second
	for name, said := range map[string]bool{"with the site's word": true, "without": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTCPSite(t, setup{presence: presence.Config{TTL: ttl, Grace: time.Minute}, handlers: handlers.Config{
				Proxied: func(*http.Request) bool { return said },
			}})
			s.sweeps()
			s.dial = plainProxy(t, s.dial)
			p := s.peer(overSSE, request{path: "beat=auto", user: "alice"}).mute()
			if said {
				p.until(`"beat":1.333,`)
			} else {
				p.until(`"beat":0,`)
			}
			p.deafen()
			if said {
				if got := s.goneAfter(); got < ttl/3 {
					t.Errorf("gone after %v, want a TTL of %v", got, ttl)
				}
				return
			}
			time.Sleep(2 * ttl) // what the word is for
			if got := s.names("site"); got != "alice" {
				t.Errorf("got %q online, want alice, for whom the proxy answers", got)
			}
		})
	}
}

// plainProxy passes bytes on, and adds nothing. It returns how to dial it.
func plainProxy(t *testing.T, dial dialer) dialer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
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
