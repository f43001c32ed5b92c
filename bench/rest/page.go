package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// A page is a socket of the crowd. It does what the script of a page does at rest: it reads,
// answers pings, and beats as welcome says.
type page struct {
	user      int
	fd        int
	opened    int64
	websocket bool
	welcomed  bool
	rest      []byte // what came, until the welcome is whole; from then on what may go on
	token     string
	cookie    string        // that came with the stream
	beat      time.Duration // 0: the connection proves itself
	frames    frames
}

// source is the address of a user's computer. Each has one, as visitors of a site do.
func source(user int) [4]byte {
	return [4]byte{127, 1 + byte(user/250/250%250), 1 + byte(user/250%250), 1 + byte(user%250)}
}

// dial opens a page's socket, and sends its request.
func (c *Crowd) dial(user int) (*page, error) {
	p := &page{user: user, opened: time.Now().UnixNano(), websocket: user/c.Plan.Nodes%2 == 1 && c.WebSocket != ""}
	var err error
	if p.fd, err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0); err != nil {
		return nil, err
	}
	_ = unix.SetsockoptInt(p.fd, unix.IPPROTO_IP, unix.IP_BIND_ADDRESS_NO_PORT, 1)
	err = unix.Bind(p.fd, &unix.SockaddrInet4{Addr: source(user)})
	if err == nil {
		err = unix.Connect(p.fd, &c.to)
	}
	if err == nil {
		_, err = unix.Write(p.fd, c.request(p))
	}
	if err == nil {
		err = unix.SetNonblock(p.fd, true)
	}
	if err != nil {
		unix.Close(p.fd)
		return nil, err
	}
	return p, nil
}

func (c *Crowd) request(p *page) []byte {
	topics := "topic=site&topic=" + url.QueryEscape(string(c.thread(p.user)))
	fill := strings.NewReplacer("{topics}", topics, "{user}", userID(p.user), "{name}", stamp(time.Now(), c.Index))
	if p.websocket {
		return fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
			"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n%s\r\n", fill.Replace(c.WebSocket), c.Addr, fill.Replace(c.Header))
	}
	return fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: %s\r\nAccept: text/event-stream\r\n%s\r\n", fill.Replace(c.SSE), c.Addr, fill.Replace(c.Header))
}

func (c *Crowd) thread(user int) string {
	if c.Threads > 0 {
		return "thread:" + strconv.Itoa(1+user%c.Threads)
	}
	return string(c.Plan.thread(user))
}

// errBusy is a server that asks the page to come again.
var errBusy = errors.New("the server is busy")

var endOfHead = []byte("\r\n\r\n")

// take takes what came, of which the first bytes had come before. It returns what it wants to
// see again, in front of what comes next.
func (p *page) take(b []byte, before int, c *Crowd) (rest []byte, err error) {
	if !p.welcomed {
		end := bytes.Index(b, endOfHead)
		if end < 0 {
			return b, nil
		}
		if bytes.HasPrefix(b, []byte("HTTP/1.1 503")) {
			return nil, errBusy
		}
		if !bytes.HasPrefix(b, []byte("HTTP/1.1 200")) && !bytes.HasPrefix(b, []byte("HTTP/1.1 101")) {
			return nil, fmt.Errorf("user %d was refused: %.600q", p.user, b)
		}
		p.cookie = setCookie(b[:end])
		body := b[end+len(endOfHead):]
		whole, err := p.welcome(body, c)
		if !whole || err != nil {
			return b, err
		}
		b, before = body, 0
	}
	if p.websocket {
		_, pings := p.frames.add(b[before:])
		for _, ping := range pings {
			unix.Write(p.fd, clientFrame(opPong, ping))
		}
	}
	for { // stamps; one that is cut is seen again
		i := bytes.IndexByte(b, mark)
		if i < 0 {
			return nil, nil
		}
		if b = b[i:]; len(b) < stampLen {
			return b, nil
		}
		if at, node, ok := readStamp(b); ok && node != c.Index && at >= max(c.since, p.opened) {
			c.sight.Lag.Add(time.Duration(time.Now().UnixNano() - at))
		}
		b = b[1:]
	}
}

// setCookie returns the first cookie that a head sets.
func setCookie(head []byte) string {
	_, after, _ := strings.Cut(string(head), "\r\nSet-Cookie: ")
	value, _, _ := strings.Cut(after, ";")
	return value
}

// A welcome is what a page reads in its first event.
type welcome struct {
	Connection string   `json:"connection"`
	Heartbeat  float64  `json:"heartbeat"` // seconds
	Beat       *float64 `json:"beat"`      // nil: an older server
}

// welcome reads the welcome, if it is whole.
func (p *page) welcome(body []byte, c *Crowd) (whole bool, err error) {
	start := bytes.Index(body, []byte(`{"connection"`))
	if start < 0 {
		return false, nil
	}
	var w welcome
	if err := json.NewDecoder(bytes.NewReader(body[start:])).Decode(&w); err != nil {
		if strings.Contains(err.Error(), "EOF") {
			return false, nil
		}
		return false, fmt.Errorf("user %d: %w in %.300q", p.user, err, body[start:])
	}
	if p.token = w.Connection; p.token == "" {
		return false, fmt.Errorf("user %d: no token in %.300q", p.user, body[start:])
	}
	p.welcomed = true
	if w.Beat != nil {
		p.beat = time.Duration(*w.Beat * float64(time.Second))
	} else if strings.Contains(c.SSE, "beat=1") {
		p.beat = time.Duration(w.Heartbeat * float64(time.Second))
	}
	if p.beat > 0 {
		c.beats.agenda.add(p.beat, p)
	}
	return true, nil
}

// Kinds of WebSocket frames.
const (
	opPing = 9
	opPong = 10
)

// clientFrame is a short frame as a client sends it, masked with zeros.
func clientFrame(op byte, payload []byte) []byte {
	return append([]byte{0x80 | op, 0x80 | byte(len(payload)), 0, 0, 0, 0}, payload...)
}

// frames follows the frames that a server sends, and cares for pings.
type frames struct {
	head []byte // of the frame, as far as it came
	left int    // bytes of its payload that are to come
	ping []byte // the payload of a ping, as far as it came
	op   byte
}

// add takes what came. It returns how many frames began in it, and the pings that are whole.
func (f *frames) add(p []byte) (began int, pings [][]byte) {
	for len(p) > 0 {
		if f.left > 0 {
			n := min(f.left, len(p))
			if f.op == opPing {
				f.ping = append(f.ping, p[:n]...)
			}
			p, f.left = p[n:], f.left-n
			if f.left == 0 && f.op == opPing {
				pings = append(pings, f.ping)
			}
			continue
		}
		f.head = append(f.head, p[0])
		p = p[1:]
		size, whole := headSize(f.head)
		if !whole {
			continue
		}
		f.op, f.left, f.ping, f.head = f.head[0]&15, size, nil, f.head[:0]
		began++
		if f.op == opPing && size == 0 {
			pings = append(pings, nil)
		}
	}
	return began, pings
}

// headSize returns the size of the payload, if the head of the frame is whole.
func headSize(head []byte) (size int, whole bool) {
	if len(head) < 2 {
		return 0, false
	}
	switch n := int(head[1] & 127); {
	case n == 126 && len(head) == 4:
		return int(binary.BigEndian.Uint16(head[2:])), true
	case n == 127 && len(head) == 10:
		return int(binary.BigEndian.Uint64(head[2:])), true
	case n < 126:
		return n, true
	}
	return 0, false
}

// body is what a page's beat says.
func (p *page) body() string {
	b, _ := json.Marshal(map[string]any{"connection": p.token, "idle": false})
	return string(b)
}
