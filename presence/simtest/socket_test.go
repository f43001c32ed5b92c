package simtest_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/gobwas/ws"

	"github.com/rollcall-go/rollcall/presence"
)

// A socket is a WebSocket of a page.
type socket struct {
	*wire
	words chan []byte // frames to the server

	unsubscribed time.Time // when a topic was last given up
}

// openSocket opens a WebSocket.
func (p *page) openSocket(ctx context.Context, at *process) (stream, error) {
	d := ws.Dialer{NetDial: at.site.network.Dial, Timeout: httpWait}
	if p.person != nil {
		d.Header = ws.HandshakeHeaderHTTP(http.Header{"User": {p.person.id}})
	}
	conn, early, _, err := d.Dial(ctx, "ws://site.test/presence/ws?"+p.query(url.Values{"cursor": {string(p.resumes())}}).Encode())
	if err != nil {
		return nil, err
	}
	if early == nil {
		early = bufio.NewReader(conn)
	}
	ctx, cancel := context.WithCancel(ctx)
	s := &socket{wire: newWire(cancel), words: make(chan []byte, 64)}
	p.w.running.Go(func() {
		defer cancel()
		s.over(s.read(early))
	})
	p.w.running.Go(func() {
		defer conn.Close()
		s.write(ctx, conn)
	})
	return s, nil
}

// write sends words. A pipe has no buffer, so that this must not wait for what is read.
func (s *socket) write(ctx context.Context, to net.Conn) {
	for {
		select {
		case frame := <-s.words:
			stop := context.AfterFunc(ctx, func() { _ = to.Close() })
			_, err := to.Write(frame)
			stop()
			if err != nil {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

func (s *socket) send(op ws.OpCode, payload []byte) {
	frame, err := ws.CompileFrame(ws.MaskFrame(ws.NewFrame(op, true, payload)))
	if err != nil {
		panic(err)
	}
	select {
	case s.words <- frame:
	case <-s.done:
	}
}

func (s *socket) read(from io.Reader) error {
	for {
		f, err := ws.ReadFrame(from)
		if err != nil {
			return err
		}
		switch f.Header.OpCode {
		case ws.OpPing:
			s.send(ws.OpPong, f.Payload)
		case ws.OpClose:
			return io.EOF
		case ws.OpText:
			var e struct {
				Event presence.EventType
				ID    presence.Cursor
				Data  json.RawMessage
			}
			if err := json.Unmarshal(f.Payload, &e); err != nil {
				return err
			}
			if err := s.event(presence.Event{Type: e.Event, ID: e.ID, Data: e.Data}); err != nil {
				return err
			}
		}
	}
}
