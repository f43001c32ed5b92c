package main

import (
	"context"
	"sync"

	"github.com/gorilla/websocket"
)

// A socket is a WebSocket of text messages.
type socket struct {
	conn *websocket.Conn
	stop func() bool
	mu   sync.Mutex // for writes
}

// dialSocket opens a WebSocket, which closes when ctx ends.
func dialSocket(ctx context.Context, address string) (*socket, error) {
	conn, _, err := websocket.DefaultDialer.DialContext(ctx, address, nil)
	if err != nil {
		return nil, err
	}
	return &socket{conn: conn, stop: context.AfterFunc(ctx, func() { conn.NetConn().Close() })}, nil
}

func (s *socket) say(text string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conn.WriteMessage(websocket.TextMessage, []byte(text))
}

func (s *socket) read() ([]byte, error) {
	_, b, err := s.conn.ReadMessage()
	return b, err
}

func (s *socket) close() {
	s.stop()
	s.conn.NetConn().Close()
}
