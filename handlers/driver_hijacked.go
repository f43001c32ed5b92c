package handlers

import (
	"bytes"
	"context"
	"io"
	"net"
	"time"
)

// A hijacked is the sink of a connection that was taken from net/http.
type hijacked struct {
	conn     net.Conn
	deadline time.Duration // of one write; negative: none
}

func (h *hijacked) write(b []byte) error {
	if h.deadline > 0 {
		h.conn.SetWriteDeadline(time.Now().Add(h.deadline))
	}
	_, err := h.conn.Write(b)
	if err != nil {
		abort(h.conn) // the bytes written so far may end within a frame
	}
	return err
}

// runHijacked drives a stream over a connection that was taken from net/http, and closes the connection. input
// has the bytes that were already read from it.
func (s *stream) runHijacked(ctx context.Context, conn net.Conn, input []byte) {
	defer conn.Close()
	defer s.streams.faults.recoverStream()
	control(conn, limitSocket)
	read, ended, readerDone := make(chan []byte), make(chan struct{}), make(chan struct{})
	go func() {
		defer s.streams.faults.recoverStream()
		defer close(readerDone)
		defer close(read)
		b := make([]byte, 1<<10)
		for p := input; ; {
			if len(p) > 0 {
				select {
				case read <- p:
				case <-ended:
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
		defer close(ended)
		s.run(ctx, &hijacked{conn: conn, deadline: s.streams.cfg.WriteDeadline}, read)
	}()

	// Input is read until the client closes too: with unread input, the kernel would
	// discard the last bytes.
	conn.SetReadDeadline(time.Now().Add(partTime))
	<-readerDone
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		half.CloseWrite()
	}
	io.Copy(io.Discard, conn)
}
