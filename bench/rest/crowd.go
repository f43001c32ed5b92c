package main

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rollcall-go/rollcall/bench/internal/usage"
)

// A Crowd is the browsers of users, as a process: a socket each, and one epoll for all of them.
// Every second user has a WebSocket, the others have Server-Sent Events. Its methods are called
// over net/rpc.
type Crowd struct {
	Crowding
	to    unix.SockaddrInet4
	epoll int

	mu    sync.Mutex
	pages map[int]*page // by descriptor
	open  []*page       // the one who has been there for longest first
	sight Sight
	since int64

	waiting int // pages that were refused, and will be opened again
	err     error

	beats beats
}

// A Crowding says what kind of crowd it is.
type Crowding struct {
	Plan  plan
	Index int    // of the node at which it is
	Addr  string // of that node, or of a proxy before it
	// Path is what pages open; {user}, {name} and {topics} stand for what they say.
	SSE, WebSocket string
	// Header is what browsers send with each request; {user} stands for the user.
	Header string
	// Threads are the topics beside "site", where they are not those of the plan.
	Threads int
}

// Begin makes the crowd. Nobody is there yet.
func (c *Crowd) Begin(b Crowding, _ *string) error {
	c.Crowding = b
	addr, err := net.ResolveTCPAddr("tcp4", b.Addr)
	if err != nil {
		return err
	}
	c.to = unix.SockaddrInet4{Port: addr.Port, Addr: [4]byte(addr.IP.To4())}
	if c.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return err
	}
	c.pages = make(map[int]*page)
	c.beats.begin(c)
	c.Seen(true, nil)
	go c.run()
	return nil
}

// Open lets users come, and returns when all have their first events.
func (c *Crowd) Open(o Open, _ *struct{}) error {
	if err := paced(len(o.Users), o.Within, func(i int) error { return c.come(o.Users[i]) }); err != nil {
		return err
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		c.mu.Lock()
		waiting, err := c.waiting, c.err
		for _, p := range c.open {
			if !p.welcomed {
				waiting++
			}
		}
		c.mu.Unlock()
		switch {
		case err != nil:
			return err
		case waiting == 0:
			return nil
		case time.Now().After(end):
			return fmt.Errorf("%d pages have no welcome", waiting)
		}
	}
}

// come opens the page of a user.
func (c *Crowd) come(user int) error {
	p, err := c.dial(user)
	if err != nil {
		return fmt.Errorf("user %d: %w", user, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pages[p.fd] = p
	c.open = append(c.open, p)
	return unix.EpollCtl(c.epoll, unix.EPOLL_CTL_ADD, p.fd, &unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLRDHUP, Fd: int32(p.fd)})
}

// Churn lets users come and go.
func (c *Crowd) Churn(o Churn, done *Churned) error {
	return paced(int(o.Rate*o.For.Seconds()), o.For, func(i int) error {
		c.mu.Lock()
		first := c.open[0]
		c.open = c.open[1:]
		c.remove(first)
		c.mu.Unlock()
		begin := time.Now()
		user := o.First + i*o.Step
		err := c.come(user)
		c.mu.Lock()
		defer c.mu.Unlock()
		done.Went, done.Came = append(done.Went, first.user), append(done.Came, user)
		done.Slowest = max(done.Slowest, time.Since(begin))
		return err
	})
}

// Held returns who is here.
func (c *Crowd) Held(_ struct{}, users *[]int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.open {
		*users = append(*users, p.user)
	}
	return nil
}

// remove closes a page's socket. The caller holds mu.
func (c *Crowd) remove(p *page) {
	if c.pages[p.fd] == p {
		delete(c.pages, p.fd)
		unix.Close(p.fd)
	}
}

// run reads from whoever has something, for ever.
func (c *Crowd) run() {
	events := make([]unix.EpollEvent, 256)
	buf := make([]byte, 256<<10)
	for {
		n, err := unix.EpollWait(c.epoll, events, -1)
		if err != nil && err != unix.EINTR {
			c.fail(err)
			return
		}
		c.mu.Lock()
		for _, e := range events[:max(n, 0)] {
			if p := c.pages[int(e.Fd)]; p != nil {
				c.read(p, buf)
			}
		}
		c.mu.Unlock()
	}
}

// again opens a page again that was refused because the server was busy, as its script does. The
// caller holds mu.
func (c *Crowd) again(p *page) {
	c.remove(p)
	c.open = slices.DeleteFunc(c.open, func(o *page) bool { return o == p })
	c.waiting++
	time.AfterFunc(time.Second, func() {
		err := c.come(p.user)
		c.mu.Lock()
		c.waiting--
		c.mu.Unlock()
		if err != nil {
			c.fail(err)
		}
	})
}

func (c *Crowd) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = err
	}
}

// read takes what came to a page. The caller holds mu.
func (c *Crowd) read(p *page, buf []byte) {
	kept := copy(buf, p.rest)
	n, err := unix.Read(p.fd, buf[kept:])
	switch {
	case err == unix.EAGAIN || err == unix.EINTR:
		return
	case err != nil || n == 0:
		c.sight.Ended++
		c.remove(p)
		if !p.welcomed && c.err == nil {
			c.err = fmt.Errorf("user %d was refused: %.300q", p.user, p.rest)
		}
		return
	}
	c.sight.Bytes += n
	c.sight.Events++
	rest, err := p.take(buf[:kept+n], kept, c)
	if errors.Is(err, errBusy) {
		c.sight.Refused++
		c.again(p)
		return
	}
	if err != nil && c.err == nil {
		c.err = err
	}
	p.rest = append(p.rest[:0], rest...)
}

// Heard returns what the pages got, and begins anew where asked. Its Events are reads.
func (c *Crowd) Heard(reset bool, s *Sight) error { return c.Seen(reset, s) }

// Seen is Heard.
func (c *Crowd) Seen(reset bool, s *Sight) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s != nil {
		*s = c.sight
	}
	if reset {
		c.sight, c.since = Sight{}, time.Now().UnixNano()
	}
	return c.err
}

// Usage returns what the process used. Its Stats have the requests that pages sent since they
// are open, and the bytes of these.
func (c *Crowd) Usage(collect bool, u *usage.Usage) (err error) {
	*u, err = usage.Now(collect)
	u.Stats = c.beats.stats()
	return err
}
