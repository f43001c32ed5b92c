package readers

import (
	"bytes"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rollcall-go/rollcall/bench/internal/diff"
)

// A conn is one reader: a socket and some counts.
type conn struct {
	fd      int
	n       int     // among all readers
	head    *head   // until the body begins
	body    unframe // from then on
	hello   []byte  // said after the head
	stalled bool    // reads nothing any more
	closed  bool

	rest   [diff.Readable]byte // the end of what came, if a change may go on behind it
	nrest  int
	count  int    // changes since the last reset
	sum    uint64 // of their users' numbers
	bytes  int
	states int
	diffs  int
	tail   []byte // the latest bytes, of a reader who keeps them
}

// take counts what came. The room before p is free, as much as a conn keeps.
func (s *Set) take(c *conn, buf []byte, from, to int) {
	p := buf[from:to]
	c.bytes += len(p)
	if c.head != nil {
		var body unframe
		if p, body = c.head.add(p); body == nil {
			return
		}
		if !c.head.ok() {
			s.refused++
			if s.firstRefusal == "" {
				s.firstRefusal = string(c.head.bytes[:min(len(c.head.bytes), 300)])
			}
		}
		c.head, c.body = nil, body
		if c.hello != nil {
			unix.Write(c.fd, c.hello)
		}
		// The rest of the first bytes lies elsewhere: bring it back.
		from, to = diff.Readable, diff.Readable+copy(buf[diff.Readable:], p)
		p = buf[from:to]
	}
	p = c.body.payload(p)
	if s.events {
		c.states += bytes.Count(p, stateName)
		c.diffs += bytes.Count(p, diffName)
	}
	if c.tail != nil {
		c.tail = append(c.tail, p...)
		c.tail = c.tail[max(0, len(c.tail)-tailMost):]
	}
	if c.nrest > 0 { // in place, p lies at from
		from -= c.nrest
		copy(buf[from:], c.rest[:c.nrest])
		p = buf[from : from+c.nrest+len(p)]
		c.nrest = 0
	}
	s.scan(c, p)
}

var (
	stateName = []byte(`"truncated":`)
	diffName  = []byte(`"leaves":`)
)

// tailMost is more than a state of a hundred users or a diff of a thousand.
const tailMost = 256 << 10

// scan counts the changes in p.
func (s *Set) scan(c *conn, p []byte) {
	before := c.count
	for {
		i := bytes.IndexByte(p, diff.Mark)
		if i < 0 {
			break
		}
		p = p[i:]
		if len(p) < diff.Readable {
			c.nrest = copy(c.rest[:], p)
			break
		}
		if !digit(p[1]) || !digit(p[2]) { // a byte of a frame's header
			p = p[1:]
			continue
		}
		c.count++
		c.sum += number(p[diff.NumberAt:diff.NumberEnd])
		if p[diff.KindAt] == diff.KindJoin {
			s.lag.Add(time.Duration(s.now - int64(number(p[diff.TimeAt:diff.TimeAt+19]))))
		}
		p = p[diff.Readable:]
	}
	if s.reached != nil {
		for n := before; n < c.count; n++ {
			s.reached[n%len(s.reached)]++
		}
	}
}

func digit(b byte) bool { return b >= '0' && b <= '9' }

// number reads decimal digits.
func number(p []byte) (n uint64) {
	for _, d := range p {
		n = n*10 + uint64(d-'0')
	}
	return n
}
