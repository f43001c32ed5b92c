package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"

	"golang.org/x/sys/unix"

	"github.com/rollcall-go/rollcall/bench/internal/frames"
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

// say sends a text.
func (s socket) say(text string) error {
	_, err := s.Write(frames.Client(frames.Text, []byte(text)))
	return err
}
