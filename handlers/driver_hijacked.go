package handlers

import (
	"bytes"
	"context"
	"io"
	"net"
	"time"
)

// hijacked is the line of a connection that net/http has given away.
type hijacked struct {
	conn     net.Conn
	deadline time.Duration // of one write; negative: none
}

func (l *hijacked) write(b []byte) error {
	if l.deadline > 0 {
		l.conn.SetWriteDeadline(time.Now().Add(l.deadline))
	}
	_, err := l.conn.Write(b)
	if err != nil {
		abort(l.conn) // what was written may end within a frame
	}
	return err
}

// attendHijacked drives a stream over a connection that net/http has given away,
// of which it had read something already, and closes it.
func (s *stream) attendHijacked(ctx context.Context, conn net.Conn, sent []byte) {
	defer conn.Close()
	defer s.h.rescue()
	control(conn, bound)
	said, over, heard := make(chan []byte), make(chan struct{}), make(chan struct{})
	go func() {
		defer s.h.rescue()
		defer close(heard)
		defer close(said)
		b := make([]byte, 1<<10)
		for p := sent; ; {
			if len(p) > 0 {
				select {
				case said <- p:
				case <-over:
					return
				}
			}
			n, err := conn.Read(b)
			if err != nil {
				return
			}
			p = bytes.Clone(b[:n])
		}
	}()
	func() {
		defer close(over)
		s.attend(ctx, &hijacked{conn: conn, deadline: s.h.cfg.WriteDeadline}, said)
	}()

	// What the client still sends is read until it closes too: if it were left
	// unread, its network would throw away our last word.
	conn.SetReadDeadline(time.Now().Add(partTime))
	<-heard
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		half.CloseWrite()
	}
	io.Copy(io.Discard, conn)
}
