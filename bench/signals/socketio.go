package main

import (
	_ "embed"
	"time"
)

//go:embed socketio.js
var socketIOServer []byte

func openSocketIO(addr string, _ int) (s socket, rest []byte, err error) {
	s, rest, err = dialWebSocket(addr, "/socket.io/?EIO=4&transport=websocket")
	if err != nil {
		return s, nil, err
	}
	if _, err = s.await(rest, `"sid"`); err == nil {
		err = s.say("40")
	}
	if err != nil {
		s.Close()
	}
	return s, nil, err
}

func saySocketIO(m *member, at time.Time) error {
	return m.socket.say(`42["typing",` + word(m.n, at) + `]`)
}
