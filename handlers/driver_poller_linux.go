package handlers

import (
	"io"
	"os"
	"syscall"
	"time"
)

// shardsWork says that there is a poller for this system.
const shardsWork = true

// A poller tells which of many sockets have something to read, or have room to
// write again: Linux's epoll, edge-triggered, so that a socket is named once.
type poller struct {
	fd   int
	file *os.File // of fd: it lets Go's own poller wait for ours
	raw  syscall.RawConn
	buf  [128]syscall.EpollEvent
}

// An edge is what a poller says of a socket. It may say it of one that was closed
// meanwhile, and whose number another has.
type edge struct {
	fd       int
	readable bool // or closed
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

// add names a socket from now on, until it is closed, and at once.
func (p *poller) add(fd int) error {
	const edgeTriggered = 1 << 31 // syscall.EPOLLET is negative
	event := syscall.EpollEvent{
		Events: syscall.EPOLLIN | syscall.EPOLLOUT | syscall.EPOLLRDHUP | edgeTriggered,
		Fd:     int32(fd),
	}
	return os.NewSyscallError("epoll_ctl", syscall.EpollCtl(p.fd, syscall.EPOLL_CTL_ADD, fd, &event))
}

// watch sends to ready when edges may have some, until close. A thread of the
// system is not needed for that: Go's poller watches ours.
func (p *poller) watch(ready chan<- struct{}) {
	p.raw.Read(func(uintptr) bool {
		select {
		case ready <- struct{}{}:
		default:
		}
		return false // there is always more to wait for
	})
}

// edges appends what has happened since it was called last.
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

// close ends watch.
func (p *poller) close() { p.file.Close() }

// descriptor returns the number of a connection's socket, which stays the
// connection's until that is closed.
func descriptor(conn syscall.Conn) (fd int, ok bool) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, false
	}
	err = raw.Control(func(n uintptr) { fd = int(n) })
	return fd, err == nil
}

// What the kernel keeps of a socket: so much that the client has not taken (it
// doubles sendBuffer), and for how long if it takes nothing at all.
const (
	sendBuffer  = 32 << 10
	userTimeout = 30 * time.Second
)

// Options that syscall lacks.
const (
	tcpUserTimeout  = 0x12 // TCP_USER_TIMEOUT
	tcpNotSentLowat = 0x19 // TCP_NOTSENT_LOWAT
)

// bound limits what the socket of a stream may cost. Where that fails it costs more.
func bound(fd int) {
	_ = syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_SNDBUF, sendBuffer)
	_ = syscall.SetsockoptInt(fd, syscall.IPPROTO_TCP, tcpUserTimeout, int(userTimeout.Milliseconds()))
}

// boundShared does so for a socket that carries other answers as well, which may
// be large and have far to go: what is on its way is not limited, only what waits
// here since the client takes nothing.
func boundShared(fd int) {
	_ = syscall.SetsockoptInt(fd, syscall.IPPROTO_TCP, tcpNotSentLowat, sendBuffer)
	_ = syscall.SetsockoptInt(fd, syscall.IPPROTO_TCP, tcpUserTimeout, int(userTimeout.Milliseconds()))
}

// write writes as much of b as there is room for.
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

// read reads what there is, and returns 0 and no error where there is nothing. At
// the end, or if the connection is broken, it returns an error.
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

// closeWrite tells the client that nothing follows.
func closeWrite(fd int) { _ = syscall.Shutdown(fd, syscall.SHUT_WR) }
