package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"

	"golang.org/x/sys/unix"
)

// A socket is a connection without a goroutine of its own: a file descriptor. It blocks until
// a room takes it.
type socket int

// dial opens a connection.
func dial(addr string) (socket, error) {
	to, err := net.ResolveTCPAddr("tcp4", addr)
	if err != nil {
		return 0, err
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	if err := unix.Connect(fd, &unix.SockaddrInet4{Port: to.Port, Addr: [4]byte(to.IP.To4())}); err != nil {
		unix.Close(fd)
		return 0, err
	}
	unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
	unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 15}) // while it blocks
	return socket(fd), nil
}

func (s socket) Read(b []byte) (int, error) {
	n, err := unix.Read(int(s), b)
	for err == unix.EINTR {
		n, err = unix.Read(int(s), b)
	}
	if n == 0 && err == nil {
		return 0, io.EOF
	}
	return max(n, 0), err
}

func (s socket) Write(b []byte) (int, error) {
	n, err := unix.Write(int(s), b)
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	return max(n, 0), err
}

func (s socket) Close() error { return unix.Close(int(s)) }

// await reads until a text has come, and returns what came behind it. It begins with what has
// come already.
func (s socket) await(come []byte, text string) (rest []byte, err error) {
	b := make([]byte, 4096)
	for {
		if i := bytes.Index(come, []byte(text)); i >= 0 {
			return come[i+len(text):], nil
		}
		n, err := s.Read(b)
		if err != nil {
			return nil, fmt.Errorf("got %.300q and %w, want %q", come, err, text)
		}
		if come = append(come, b[:n]...); len(come) > 1<<20 {
			return nil, errors.New("an endless answer")
		}
	}
}

// dialWebSocket opens a WebSocket. The rest is what came behind the head of the answer.
func dialWebSocket(addr, path string) (s socket, rest []byte, err error) {
	if s, err = dial(addr); err != nil {
		return s, nil, err
	}
	fmt.Fprintf(s, "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n", path, addr)
	if rest, err = s.await(nil, "\r\n\r\n"); err != nil {
		s.Close()
	}
	return s, rest, err
}

// Kinds of WebSocket frames.
const (
	opText   = 1
	opBinary = 2
	opClose  = 8
	opPing   = 9
	opPong   = 10
)

// clientFrame is a frame as a client sends it, masked with zeros.
func clientFrame(op byte, payload []byte) []byte {
	b := []byte{0x80 | op}
	if n := len(payload); n < 126 {
		b = append(b, 0x80|byte(n))
	} else {
		b = binary.BigEndian.AppendUint16(append(b, 0x80|126), uint16(n))
	}
	return append(append(b, 0, 0, 0, 0), payload...)
}

// say sends a text.
func (s socket) say(text string) error {
	_, err := s.Write(clientFrame(opText, []byte(text)))
	return err
}

// frames follows the frames that a server sends, and cares for pings.
type frames struct {
	head []byte // of the frame, as far as it came
	left int    // bytes of its payload that are to come
	ping []byte // the payload of a ping, as far as it came
	op   byte
}

// add takes what came. It returns how many frames of data began in it, and the pings that are
// complete.
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
		switch {
		case f.op <= opBinary:
			began++
		case f.op == opPing && size == 0:
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
