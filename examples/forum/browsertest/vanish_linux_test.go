package browsertest_test

import (
	"net"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/chromedp/chromedp"

	"github.com/rollcall-go/rollcall/examples/forum/internal/forumtab"
	"github.com/rollcall-go/rollcall/examples/forum/internal/forumtest"
)

// TestVanished: without a proxy, a page none of whose timers fires stays without a beat,
// by what its machine acknowledges. A machine that sleeps acknowledges nothing: it is gone
// after the ttl, although nobody closed its stream.
func TestVanished(t *testing.T) {
	t.Parallel()
	const ttl = 6 * time.Second
	f, b := forumtest.Start(t, "-ttl", ttl.String(), "-grace", "1m", "-sweep", "100ms"), forumtab.New(t)
	network := newRelay(t, direct(t, f))
	alice := forumtab.NewTab(t, b.Ctx, network.url, chromedp.WithNewBrowserContext())
	watcher := f.Visitor(t).Stream("topic=site&observe=1")
	hidden(t, f, alice, watcher, ttl)
	if got := alice.Asked("POST beat"); got != 0 {
		t.Errorf("the page sent %d beats over a connection that proves itself; all: %q", got, alice.Requests())
	}

	alice.Breaks()
	network.deafen(t)
	asleep(t, watcher, ttl)
}

// deafen makes the kernel drop all that comes for the relay from its upstream, before TCP
// sees it, and say nothing by itself. To the upstream the clients' machines have vanished
// without a word.
func (r *relay) deafen(t *testing.T) {
	t.Helper()
	drop := []syscall.SockFilter{{Code: syscall.BPF_RET | syscall.BPF_K}}
	filter := syscall.SockFprog{Len: 1, Filter: &drop[0]}
	r.mu.Lock()
	defer r.mu.Unlock()
	for conn := range r.conns {
		conn := conn.(*net.TCPConn)
		if err := conn.SetKeepAlive(false); err != nil {
			t.Fatal(err)
		}
		raw, err := conn.SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		var errno syscall.Errno
		err = raw.Control(func(fd uintptr) {
			_, _, errno = syscall.Syscall6(syscall.SYS_SETSOCKOPT, fd, syscall.SOL_SOCKET, syscall.SO_ATTACH_FILTER,
				uintptr(unsafe.Pointer(&filter)), unsafe.Sizeof(filter), 0)
		})
		if err != nil || errno != 0 {
			t.Fatal(err, errno)
		}
	}
}
