package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rollcall-go/rollcall/bench/internal/frames"
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
	beat      time.Duration // 0: never
	frames    frames.Reader
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
		_, pings := p.frames.Add(b[before:])
		for _, ping := range pings {
			unix.Write(p.fd, frames.Client(frames.Pong, ping))
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
	Connection string  `json:"connection"`
	Beat       float64 `json:"beat"` // seconds
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
	p.beat = time.Duration(w.Beat * float64(time.Second))
	if p.beat > 0 {
		c.beats.agenda.add(p.beat, p)
	}
	return true, nil
}

// body is what a page's beat says.
func (p *page) body() string {
	b, _ := json.Marshal(map[string]any{"connection": p.token, "idle": false})
	return string(b)
}
