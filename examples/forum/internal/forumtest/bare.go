package forumtest

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

// A BareClient speaks HTTP/1.1 over bare sockets, so it can send what net/http would never send. It acts as a
// proxy on this machine, which names the address that its requests come from.
type BareClient struct {
	Addr string // of the forum
	From string // the visitor's address; empty: this machine's own
	Wait time.Duration
	conn net.Conn // kept open between requests; nil: closed
	read *bufio.Reader
}

// answerMost is how much of a body a BareClient reads.
const answerMost = 1 << 20

// Head returns a request up to the end of its headers. Each of more is a header
// line.
func (c *BareClient) Head(method, target, cookie string, more ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: %s\r\n", method, target, c.Addr)
	if c.From != "" {
		fmt.Fprintf(&b, "X-Forwarded-For: %s\r\n", c.From)
	}
	if cookie != "" {
		fmt.Fprintf(&b, "Cookie: %s\r\n", cookie)
	}
	for _, line := range more {
		b.WriteString(line + "\r\n")
	}
	return b.String() + "\r\n"
}

// Dial opens a socket with a deadline after the client's wait.
func (c *BareClient) Dial() (net.Conn, error) {
	conn, err := net.DialTimeout("tcp", c.Addr, c.Wait)
	if err != nil {
		return nil, err
	}
	return conn, conn.SetDeadline(time.Now().Add(c.Wait))
}

// Do sends a request over the kept connection, and returns the answer. If the forum has closed the connection,
// Do opens a new one, once.
func (c *BareClient) Do(method, target, cookie, body string) (status int, header http.Header, text string, err error) {
	request := c.Head(method, target, cookie)
	if method != http.MethodGet {
		request = c.Head(method, target, cookie, "Content-Type: application/json", fmt.Sprint("Content-Length: ", len(body))) + body
	}
	for range 2 {
		kept := c.conn != nil
		if !kept {
			if c.conn, err = c.Dial(); err != nil {
				c.conn = nil
				return 0, nil, "", err
			}
			c.read = bufio.NewReader(c.conn)
		}
		_ = c.conn.SetDeadline(time.Now().Add(c.Wait))
		_, err = io.WriteString(c.conn, request)
		var res *http.Response
		if err == nil {
			res, err = http.ReadResponse(c.read, nil)
		}
		if err == nil {
			var content []byte
			content, err = io.ReadAll(io.LimitReader(res.Body, answerMost))
			if err != nil || res.Close || len(content) == answerMost {
				c.Close()
			}
			return res.StatusCode, res.Header, string(content), err
		}
		c.Close()
		if !kept {
			return 0, nil, "", err
		}
	}
	return 0, nil, "", err
}

func (c *BareClient) Close() {
	if c.conn != nil {
		c.conn.Close()
		c.conn = nil
	}
}

// Raw sends some bytes over a socket of their own. It returns the statuses of the answers, up to the given
// number.
func (c *BareClient) Raw(request string, answers int) (statuses []int, err error) {
	conn, err := c.Dial()
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	var sending sync.WaitGroup
	sending.Go(func() { _, _ = io.WriteString(conn, request) })
	defer sending.Wait()
	defer conn.Close() // ends the goroutine that still sends
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

// A BareStream is an event stream over a bare socket.
type BareStream struct {
	Conn  net.Conn
	lines *bufio.Reader
	Token string // the token in the welcome
}

// errRefused is the error for a stream that the forum refuses.
var errRefused = errors.New("refused")

// Stream opens an event stream and reads its welcome. If life is true, the socket has no deadline after that.
func (c *BareClient) Stream(query, cookie string, life bool) (s *BareStream, status int, err error) {
	conn, err := c.Dial()
	if err != nil {
		return nil, 0, err
	}
	defer func() {
		if err != nil {
			conn.Close()
		}
	}()
	if _, err := io.WriteString(conn, c.Head(http.MethodGet, "/presence/events?"+query, cookie)); err != nil {
		return nil, 0, err
	}
	res, err := http.ReadResponse(bufio.NewReaderSize(conn, 2<<10), nil)
	if err != nil {
		return nil, 0, err
	}
	if res.StatusCode != http.StatusOK {
		return nil, res.StatusCode, errRefused
	}
	s = &BareStream{Conn: conn, lines: bufio.NewReader(res.Body)}
	typ, data, err := s.Next()
	if err != nil {
		return nil, res.StatusCode, err
	}
	if _, rest, ok := strings.Cut(data, `"connection":"`); typ == "welcome" && ok {
		s.Token, _, _ = strings.Cut(rest, `"`)
	}
	if life {
		err = conn.SetDeadline(time.Time{})
	}
	return s, res.StatusCode, err
}

// Next returns the next event. A line that is no field of an event stream is an
// error.
func (s *BareStream) Next() (typ, data string, err error) {
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
		case "id", "retry", ":": // ignored
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

// Socket opens a WebSocket. Its input is discarded.
func (c *BareClient) Socket(query, cookie string) (net.Conn, int, error) {
	conn, err := c.Dial()
	if err != nil {
		return nil, 0, err
	}
	_, err = io.WriteString(conn, c.Head(http.MethodGet, "/presence/ws?"+query, cookie, "Connection: Upgrade", "Upgrade: websocket",
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
	go func() { _, _ = io.Copy(io.Discard, conn) }() // until the socket is closed
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
	OpContinue = 0x0
	OpText     = 0x1
	OpPing     = 0x9
)

// Frame returns a masked WebSocket frame.
func Frame(op byte, last bool, payload []byte) []byte {
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

func Text(message string) []byte { return Frame(OpText, true, []byte(message)) }

// MadeUp returns n random bytes in base64url.
func MadeUp(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b)
	return base64.RawURLEncoding.EncodeToString(b)
}

// GuestCookie is the cookie of a guest who is new to the forum.
func GuestCookie() string { return "presence=0." + MadeUp(12) + ".-" }

func UserCookie(name string) string { return CookieName + "=" + name }

// Long returns a unique value of n bytes for a parameter.
func Long(n int) string {
	begin := MadeUp(12)
	return begin + string(bytes.Repeat([]byte{'x'}, n-len(begin)))
}
