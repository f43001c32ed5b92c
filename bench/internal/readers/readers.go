// Package readers is the lean client: thousands of readers of one server in one
// goroutine, which counts changes and measures how late they are, and does not
// parse what it reads.
package readers

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rollcall-go/rollcall/bench/internal/diff"
	"github.com/rollcall-go/rollcall/bench/internal/hist"
	"github.com/rollcall-go/rollcall/bench/internal/peers"
)

// A Set is readers of one server. Its methods are called over net/rpc, one at a
// time; a goroutine of its own reads meanwhile.
type Set struct {
	acks *os.File // told how far the slowest reader is

	mu      sync.Mutex
	epoll   int
	conns   map[int]*conn
	events  bool
	now     int64
	lag     hist.Hist
	reached []int // by a change's number, how many have it; nil: nobody asks
	min     int   // changes that all have
	healthy int   // readers who read
	ended   int   // connections that the server ended
	refused int

	firstRefusal string
	last         time.Time // when the latest bytes came
	err          error
}

// NewSet returns a Set, and starts its goroutine. With acks, it writes there how
// many changes every healthy reader has, as eight bytes each time.
func NewSet(acks *os.File) (*Set, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	s := &Set{acks: acks, epoll: fd, conns: make(map[int]*conn)}
	go s.run()
	return s, nil
}

// Dial says which readers come, and how.
type Dial struct {
	Addr        string
	Path        string
	Framing     peers.Framing
	Hello       string
	LastEventID string
	First, N    int           // {n} in Path is First and the N-1 numbers after it
	Topics      int           // {topic} in Path is {n} modulo this
	Within      time.Duration // spread over this long; 0: as fast as it goes
	Receive     int           // bytes of the kernel's receive buffer; 0: as it is
	Stalled     bool          // they read nothing but the head of the answer
	Events      bool          // count states and diffs
}

const dialers = 16

// Dial connects readers, and returns when nothing has come to them for a while.
func (s *Set) Dial(d Dial, _ *struct{}) error {
	addr, err := net.ResolveTCPAddr("tcp4", d.Addr)
	if err != nil {
		return err
	}
	to := &unix.SockaddrInet4{Port: addr.Port, Addr: [4]byte(addr.IP.To4())}
	s.mu.Lock()
	s.events = s.events || d.Events
	s.mu.Unlock()
	var wg sync.WaitGroup
	errs := make(chan error, dialers)
	begin := time.Now()
	for i := range dialers {
		wg.Go(func() {
			for n := i; n < d.N; n += dialers {
				if d.Within > 0 {
					time.Sleep(time.Until(begin.Add(d.Within * time.Duration(n) / time.Duration(d.N))))
				}
				if err := s.connect(&d, to, d.First+n); err != nil {
					select {
					case errs <- err:
					default:
					}
					return
				}
			}
		})
	}
	wg.Wait()
	select {
	case err := <-errs:
		return err
	default:
		return s.settle(250*time.Millisecond, 30*time.Second)
	}
}

func (s *Set) connect(d *Dial, to unix.Sockaddr, n int) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("socket %d: %w", n, err)
	}
	if d.Receive > 0 {
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, d.Receive)
	}
	if err := unix.Connect(fd, to); err != nil {
		return fmt.Errorf("connect %d: %w", n, err)
	}
	if _, err := unix.Write(fd, d.request(n)); err != nil {
		return fmt.Errorf("request %d: %w", n, err)
	}
	unix.SetNonblock(fd, true)
	c := &conn{fd: fd, n: n, head: &head{}}
	switch {
	case d.Framing == peers.HTTP2:
		c.head, c.body = nil, &http2{}
	case d.Hello != "":
		c.hello = textFrame(d.Hello)
	}
	if d.Stalled {
		s.stall(c)
		return nil
	}
	if n == 0 {
		c.tail = make([]byte, 0, 2*tailMost)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conns[fd] = c
	s.healthy++
	return unix.EpollCtl(s.epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)})
}

// stall keeps a reader that never reads on.
func (s *Set) stall(c *conn) {
	unix.SetNonblock(c.fd, false)
	b := make([]byte, 1)
	for c.head != nil && !bytes.HasSuffix(c.head.bytes, []byte("\r\n\r\n")) {
		if n, err := unix.Read(c.fd, b); n <= 0 || err != nil {
			break
		}
		c.head.add(b)
	}
	unix.Write(c.fd, c.hello)
	c.stalled = true
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conns[c.fd] = c
}

// settle waits until all have their answer, and nothing came for a while.
func (s *Set) settle(quiet, most time.Duration) error {
	for end := time.Now().Add(most); ; time.Sleep(10 * time.Millisecond) {
		s.mu.Lock()
		waiting := 0
		for _, c := range s.conns {
			if c.bytes == 0 && !c.stalled {
				waiting++
			}
		}
		calm, err, refused, why := time.Since(s.last) > quiet, s.err, s.refused, s.firstRefusal
		s.mu.Unlock()
		switch {
		case err != nil:
			return err
		case refused > 0:
			return fmt.Errorf("%d readers were refused: %s", refused, why)
		case calm && waiting == 0:
			return nil
		case time.Now().After(end):
			return fmt.Errorf("%d readers have no answer", waiting)
		}
	}
}

const readMost = 256 << 10

// run reads from whoever has something, for ever.
func (s *Set) run() {
	events := make([]unix.EpollEvent, 256)
	buf := make([]byte, diff.Readable+readMost)
	for {
		n, err := unix.EpollWait(s.epoll, events, 50)
		if err != nil && err != unix.EINTR {
			s.mu.Lock()
			s.err = err
			s.mu.Unlock()
			return
		}
		s.mu.Lock()
		for _, e := range events[:max(n, 0)] {
			if c := s.conns[int(e.Fd)]; c != nil {
				s.read(c, buf)
			}
		}
		s.acknowledge()
		s.mu.Unlock()
	}
}

// read takes all that came to a reader. The caller holds mu.
func (s *Set) read(c *conn, buf []byte) {
	n, err := unix.Read(c.fd, buf[diff.Readable:])
	now := time.Now()
	s.now, s.last = now.UnixNano(), now
	switch {
	case err == unix.EAGAIN || err == unix.EINTR:
	case err != nil || n == 0:
		s.ended++
		s.remove(c)
	default:
		s.take(c, buf, diff.Readable, diff.Readable+n)
	}
}

func (s *Set) remove(c *conn) {
	unix.Close(c.fd)
	delete(s.conns, c.fd)
	c.closed = true
	if !c.stalled {
		s.healthy--
	}
}

// acknowledge says how far the slowest healthy reader is. The caller holds mu.
func (s *Set) acknowledge() {
	if s.reached == nil {
		return
	}
	before := s.min
	for s.healthy > 0 && s.reached[s.min%len(s.reached)] >= s.healthy {
		s.reached[s.min%len(s.reached)] = 0
		s.min++
	}
	if s.min > before {
		s.acks.Write(binary.LittleEndian.AppendUint64(nil, uint64(s.min)))
	}
}
