package peers

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	coder "github.com/coder/websocket"
	"github.com/gobwas/ws"
	"github.com/gobwas/ws/wsutil"
	"github.com/gorilla/websocket"
	"github.com/lxzan/gws"

	"github.com/rollcall-go/rollcall/bench/internal/diff"
)

// Libraries of WebSockets leave the fan-out to whoever uses them. Here each has
// what its examples show: gws its Broadcaster, the others a channel and a
// goroutine a reader, who is given up when the channel is full.
var (
	gwsPeer     = Peer{Name: "gws", Module: "github.com/lxzan/gws", Path: "/", Framing: WebSocket, New: newGWS}
	gorillaPeer = Peer{Name: "gorilla", Module: "github.com/gorilla/websocket", Path: "/", Framing: WebSocket, New: newGorilla}
	gobwasPeer  = Peer{Name: "gobwas/ws", Module: "github.com/gobwas/ws", Path: "/", Framing: WebSocket, New: newGobwas}
	coderPeer   = Peer{Name: "coder/websocket", Module: "github.com/coder/websocket", Path: "/", Framing: WebSocket, New: newCoder}
)

const (
	hubQueue  = 64 // messages that wait for a reader
	writeWait = 10 * time.Second
)

// A hub sends each message to every reader's channel.
type hub[M any] struct {
	httpServer
	pad     string
	prepare func([]byte) M
	mu      sync.Mutex
	readers map[chan M]struct{}
}

func newHub[M any](o Options, prepare func([]byte) M) *hub[M] {
	return &hub[M]{pad: strings.Repeat("x", o.Padding), prepare: prepare, readers: make(map[chan M]struct{})}
}

func (h *hub[M]) Publish(first, end int) {
	for n := first; n < end; n++ {
		m := h.prepare(diff.Append(nil, n, time.Now(), h.pad))
		h.mu.Lock()
		for c := range h.readers {
			select {
			case c <- m:
			default:
				delete(h.readers, c)
				close(c)
			}
		}
		h.mu.Unlock()
	}
}

// pump writes messages until the reader is given up or a write fails.
func (h *hub[M]) pump(write func(M) error) {
	c := make(chan M, hubQueue)
	h.mu.Lock()
	h.readers[c] = struct{}{}
	h.mu.Unlock()
	for m := range c {
		if write(m) != nil {
			break
		}
	}
	h.mu.Lock()
	delete(h.readers, c)
	h.mu.Unlock()
}

func newGorilla(o Options) (Server, error) {
	h := newHub(o, func(b []byte) *websocket.PreparedMessage {
		m, err := websocket.NewPreparedMessage(websocket.TextMessage, b)
		if err != nil {
			panic(err) // it has no errors without compression
		}
		return m
	})
	upgrader := websocket.Upgrader{ReadBufferSize: 1024, WriteBufferSize: 1024}
	h.server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := upgrader.Upgrade(w, r, nil)
		if err != nil {
			return
		}
		go func() {
			defer conn.Close()
			for {
				if _, _, err := conn.NextReader(); err != nil {
					return
				}
			}
		}()
		go func() {
			defer conn.Close()
			h.pump(func(m *websocket.PreparedMessage) error {
				conn.SetWriteDeadline(time.Now().Add(writeWait))
				return conn.WritePreparedMessage(m)
			})
		}()
	})
	return h, nil
}

func newGobwas(o Options) (Server, error) {
	h := newHub(o, func(b []byte) []byte { return b })
	h.server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, _, _, err := ws.UpgradeHTTP(r, w)
		if err != nil {
			return
		}
		go func() {
			defer conn.Close()
			for {
				if _, _, err := wsutil.ReadClientData(conn); err != nil {
					return
				}
			}
		}()
		go func() {
			defer conn.Close()
			h.pump(func(m []byte) error {
				conn.SetWriteDeadline(time.Now().Add(writeWait))
				return wsutil.WriteServerText(conn, m)
			})
		}()
	})
	return h, nil
}

func newCoder(o Options) (Server, error) {
	h := newHub(o, func(b []byte) []byte { return b })
	h.server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := coder.Accept(w, r, &coder.AcceptOptions{CompressionMode: coder.CompressionDisabled})
		if err != nil {
			return
		}
		defer conn.CloseNow()
		ctx := conn.CloseRead(context.Background())
		h.pump(func(m []byte) error {
			ctx, cancel := context.WithTimeout(ctx, writeWait)
			defer cancel()
			return conn.Write(ctx, coder.MessageText, m)
		})
	})
	return h, nil
}

// gwsServer sends with the library's own Broadcaster.
type gwsServer struct {
	httpServer
	gws.BuiltinEventHandler
	pad     string
	mu      sync.Mutex
	readers map[*gws.Conn]struct{}
}

func newGWS(o Options) (Server, error) {
	s := &gwsServer{pad: strings.Repeat("x", o.Padding), readers: make(map[*gws.Conn]struct{})}
	upgrader := gws.NewUpgrader(s, &gws.ServerOption{})
	s.server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if conn, err := upgrader.Upgrade(w, r); err == nil {
			go conn.ReadLoop()
		}
	})
	return s, nil
}

func (s *gwsServer) OnOpen(c *gws.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readers[c] = struct{}{}
}

func (s *gwsServer) OnClose(c *gws.Conn, _ error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.readers, c)
}

func (s *gwsServer) Publish(first, end int) {
	for n := first; n < end; n++ {
		b := gws.NewBroadcaster(gws.OpcodeText, diff.Append(nil, n, time.Now(), s.pad))
		s.mu.Lock()
		for c := range s.readers {
			b.Broadcast(c)
		}
		s.mu.Unlock()
		b.Close()
	}
}
