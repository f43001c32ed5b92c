package handlers

import (
	"io"
	"os"
	"syscall"

	"github.com/rollcall-go/rollcall/internal/wait"
)

// shardsWork reports that this system has a poller.
const shardsWork = true

// A poller reports which of many sockets have something to read or have room again. It
// is Linux's epoll, edge-triggered, so that each change is reported once.
type poller struct {
	fd   int
	file *os.File // the file of fd: Go's own poller waits for fd through it
	raw  syscall.RawConn
	buf  [128]syscall.EpollEvent
}

// An edge is a poller's report about a socket. The socket may have been closed since, and its number may
// belong to another one.
type edge struct {
	fd       int
	readable bool // readable, or closed
	writable bool
	hungUp   bool // the other end sends no more, or is gone
}

func newPoller() (*poller, error) {
	fd, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	if err := syscall.SetNonblock(fd, true); err != nil {
		syscall.Close(fd)
		return nil, os.NewSyscallError("fcntl", err)
	}
	p := &poller{fd: fd, file: os.NewFile(uintptr(fd), "epoll")}
	if p.raw, err = p.file.SyscallConn(); err != nil {
		p.file.Close()
		return nil, err
	}
	return p, nil
}

// watch begins to report on a socket: at once, and at each change until the socket is closed.
func (p *poller) watch(fd int) error {
	const edgeTriggered = 1 << 31 // syscall.EPOLLET is negative
	event := syscall.EpollEvent{
		Events: syscall.EPOLLIN | syscall.EPOLLOUT | syscall.EPOLLRDHUP | edgeTriggered,
		Fd:     int32(fd),
	}
	return os.NewSyscallError("epoll_ctl", syscall.EpollCtl(p.fd, syscall.EPOLL_CTL_ADD, fd, &event))
}

// wait wakes ready when edges may return some. It returns after close. It occupies no thread, because it waits
// through Go's own poller.
func (p *poller) wait(ready wait.Wakeup) {
	p.raw.Read(func(uintptr) bool {
		ready.Wake()
		return false // keep waiting
	})
}

// edges appends the changes since the previous call.
func (p *poller) edges(to []edge) []edge {
	for {
		n, err := syscall.EpollWait(p.fd, p.buf[:], 0)
		if err == syscall.EINTR {
			continue
		}
		for _, e := range p.buf[:max(n, 0)] {
			const gone = syscall.EPOLLRDHUP | syscall.EPOLLHUP | syscall.EPOLLERR
			to = append(to, edge{
				fd:       int(e.Fd),
				readable: e.Events&(syscall.EPOLLIN|gone) != 0,
				writable: e.Events&syscall.EPOLLOUT != 0,
				hungUp:   e.Events&gone != 0,
			})
		}
		if n < len(p.buf) {
			return to
		}
	}
}

// close makes wait return.
func (p *poller) close() { p.file.Close() }

// descriptor returns the number of a connection's socket. It is valid until the
// connection is closed.
func descriptor(conn syscall.Conn) (fd int, ok bool) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, false
	}
	err = raw.Control(func(n uintptr) { fd = int(n) })
	return fd, err == nil
}

// write writes as much of b as the socket has room for.
func write(fd int, b []byte) (n int, err error) {
	for n < len(b) {
		m, err := syscall.Write(fd, b[n:])
		switch {
		case err == nil:
			n += m
		case err == syscall.EAGAIN:
			return n, nil
		case err != syscall.EINTR:
			return n, err
		}
	}
	return n, nil
}

// read reads the bytes that have arrived. It returns 0 and no error if there are none. It returns an error at
// the end of the input or if the connection is broken.
func read(fd int, b []byte) (n int, err error) {
	for {
		n, err := syscall.Read(fd, b)
		switch {
		case err == nil && n == 0:
			return 0, io.EOF
		case err == nil:
			return n, nil
		case err == syscall.EAGAIN:
			return 0, nil
		case err != syscall.EINTR:
			return 0, err
		}
	}
}

// closeWrite sends the end of the output to the client.
func closeWrite(fd int) { _ = syscall.Shutdown(fd, syscall.SHUT_WR) }
