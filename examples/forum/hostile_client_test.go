package main

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// A bareClient speaks HTTP/1.1 over bare sockets: it may say what net/http would
// never send. It stands behind a proxy on this machine, which names the address
// that its requests come from.
type bareClient struct {
	addr string // of the forum
	from string // the visitor's address; empty: this machine's own
	wait time.Duration
	conn net.Conn // kept open between requests; nil: closed
	read *bufio.Reader
}

// answerMost is how much of a body a bareClient reads.
const answerMost = 1 << 20

// head returns a request up to the end of its headers. Each of more is a header
// line.
func (c *bareClient) head(method, target, cookie string, more ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: %s\r\n", method, target, c.addr)
	if c.from != "" {
		fmt.Fprintf(&b, "X-Forwarded-For: %s\r\n", c.from)
	}
	if cookie != "" {
		fmt.Fprintf(&b, "Cookie: %s\r\n", cookie)
	}
	for _, line := range more {
		b.WriteString(line + "\r\n")
	}
	return b.String() + "\r\n"
}

// dial opens a socket that lives for at most the client's wait.
func (c *bareClient) dial() (net.Conn, error) {
	conn, err := net.DialTimeout("tcp", c.addr, c.wait)
	if err != nil {
		return nil, err
	}
	return conn, conn.SetDeadline(time.Now().Add(c.wait))
}

// do sends a request over the connection that is kept, and returns the answer. A
// connection that the forum has closed is opened again, once.
func (c *bareClient) do(method, target, cookie, body string) (status int, header http.Header, text string, err error) {
	request := c.head(method, target, cookie)
	if method != http.MethodGet {
		request = c.head(method, target, cookie, "Content-Type: application/json", fmt.Sprint("Content-Length: ", len(body))) + body
	}
	for range 2 {
		kept := c.conn != nil
		if !kept {
			if c.conn, err = c.dial(); err != nil {
				c.conn = nil
				return 0, nil, "", err
			}
			c.read = bufio.NewReader(c.conn)
		}
		_ = c.conn.SetDeadline(time.Now().Add(c.wait))
		_, err = io.WriteString(c.conn, request)
		var res *http.Response
		if err == nil {
			res, err = http.ReadResponse(c.read, nil)
		}
		if err == nil {
			var content []byte
			content, err = io.ReadAll(io.LimitReader(res.Body, answerMost))
			if err != nil || res.Close || len(content) == answerMost {
				c.close()
			}
			return res.StatusCode, res.Header, string(content), err
		}
		c.close()
		if !kept {
			return 0, nil, "", err
		}
	}
	return 0, nil, "", err
}

func (c *bareClient) close() {
	if c.conn != nil {
		c.conn.Close()
		c.conn = nil
	}
}

// raw sends some bytes over a socket of their own, and returns the statuses of the
// answers, at most so many.
func (c *bareClient) raw(request string, answers int) (statuses []int, err error) {
	conn, err := c.dial()
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	var sending sync.WaitGroup
	sending.Go(func() { _, _ = io.WriteString(conn, request) })
	defer sending.Wait()
	defer conn.Close() // ends what still sends
	read := bufio.NewReader(conn)
	for len(statuses) < answers {
		res, err := http.ReadResponse(read, nil)
		if err != nil {
			return statuses, err
		}
		statuses = append(statuses, res.StatusCode)
		if _, err := io.Copy(io.Discard, io.LimitReader(res.Body, answerMost)); err != nil {
			return statuses, err
		}
	}
	return statuses, nil
}

// A bareStream is an event stream over a bare socket.
type bareStream struct {
	conn  net.Conn
	lines *bufio.Reader
	token string // from the welcome
}

// errRefused is the answer to a stream that was not opened.
var errRefused = errors.New("refused")

// stream opens an event stream and reads its welcome. With life the socket has no
// deadline afterwards.
func (c *bareClient) stream(query, cookie string, life bool) (s *bareStream, status int, err error) {
	conn, err := c.dial()
	if err != nil {
		return nil, 0, err
	}
	defer func() {
		if err != nil {
			conn.Close()
		}
	}()
	if _, err := io.WriteString(conn, c.head(http.MethodGet, "/presence/events?"+query, cookie)); err != nil {
		return nil, 0, err
	}
	res, err := http.ReadResponse(bufio.NewReaderSize(conn, 2<<10), nil)
	if err != nil {
		return nil, 0, err
	}
	if res.StatusCode != http.StatusOK {
		return nil, res.StatusCode, errRefused
	}
	s = &bareStream{conn: conn, lines: bufio.NewReader(res.Body)}
	typ, data, err := s.next()
	if err != nil {
		return nil, res.StatusCode, err
	}
	if _, rest, ok := strings.Cut(data, `"connection":"`); typ == "welcome" && ok {
		s.token, _, _ = strings.Cut(rest, `"`)
	}
	if life {
		err = conn.SetDeadline(time.Time{})
	}
	return s, res.StatusCode, err
}

// next returns the next event. A line that is no field of an event stream is an
// error.
func (s *bareStream) next() (typ, data string, err error) {
	for {
		line, err := s.lines.ReadString('\n')
		if err != nil {
			return "", "", err
		}
		field, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch field {
		case "event":
			typ = value
		case "data":
			data = value
		case "id", "retry", ":": // a comment
		case "":
			if typ != "" || data != "" {
				return typ, data, nil
			}
		default:
			if !strings.HasPrefix(line, ":") {
				return "", "", fmt.Errorf("no field of an event stream: %.100q", line)
			}
		}
	}
}

// socket opens a WebSocket. What comes over it is thrown away.
func (c *bareClient) socket(query, cookie string) (net.Conn, int, error) {
	conn, status, err := c.socketRead(query, cookie)
	if err == nil {
		go func() { _, _ = io.Copy(io.Discard, conn) }() // until the socket is closed
	}
	return conn, status, err
}

// socketRead opens a WebSocket whose caller reads what comes over it. What came
// together with the answer is lost.
func (c *bareClient) socketRead(query, cookie string) (net.Conn, int, error) {
	conn, err := c.dial()
	if err != nil {
		return nil, 0, err
	}
	_, err = io.WriteString(conn, c.head(http.MethodGet, "/presence/ws?"+query, cookie, "Connection: Upgrade", "Upgrade: websocket",
		"Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: "+base64.StdEncoding.EncodeToString(make([]byte, 16))))
	if err != nil {
		conn.Close()
		return nil, 0, err
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || res.StatusCode != http.StatusSwitchingProtocols {
		conn.Close()
		return nil, status(res), errors.Join(err, errRefused)
	}
	return conn, res.StatusCode, nil
}

func status(res *http.Response) int {
	if res == nil {
		return 0
	}
	return res.StatusCode
}

// Opcodes of WebSocket frames (RFC 6455 §5.2).
const (
	opContinue = 0x0
	opText     = 0x1
	opPing     = 0x9
)

// frame returns a masked WebSocket frame.
func frame(op byte, last bool, payload []byte) []byte {
	if last {
		op |= 0x80
	}
	b := []byte{op}
	switch n := len(payload); {
	case n < 126:
		b = append(b, 0x80|byte(n))
	case n < 1<<16:
		b = binary.BigEndian.AppendUint16(append(b, 0x80|126), uint16(n))
	default:
		b = binary.BigEndian.AppendUint64(append(b, 0x80|127), uint64(n))
	}
	return append(append(b, 0, 0, 0, 0), payload...) // a mask of zeros leaves the payload as it is
}

func text(message string) []byte { return frame(opText, true, []byte(message)) }

// madeUp returns n random bytes in base64url.
func madeUp(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b)
	return base64.RawURLEncoding.EncodeToString(b)
}

// guestCookie is the cookie of a guest who is new to the forum.
func guestCookie() string { return "presence=0." + madeUp(12) + ".-" }

func userCookie(name string) string { return cookieName + "=" + name }

// long returns a parameter's value of n bytes that no other call returns.
func long(n int) string {
	begin := madeUp(12)
	return begin + string(bytes.Repeat([]byte{'x'}, n-len(begin)))
}
