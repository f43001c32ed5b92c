package main

import (
	_ "embed"
	"encoding/binary"
	"time"

	"github.com/rollcall-go/rollcall/bench/internal/frames"
)

//go:embed hocuspocus.mjs
var hocuspocusServer []byte

// Kinds of messages of Hocuspocus.
const (
	hocuspocusAwareness = 1
	hocuspocusAuth      = 2
)

// openHocuspocus opens the document, as a provider does. The answer to the token has its scope.
func openHocuspocus(addr string, _ int) (s socket, rest []byte, err error) {
	s, _, err = dialWebSocket(addr, "/")
	if err != nil {
		return s, nil, err
	}
	auth := append(appendText(nil, topic), hocuspocusAuth, 0)
	_, err = s.Write(frames.Client(frames.Binary, appendText(auth, "token")))
	if err != nil {
		s.Close()
	}
	return s, nil, err
}

// sayHocuspocus sets the member's state of awareness. Each state has a number that grows.
func sayHocuspocus(m *member, at time.Time) error {
	update := binary.AppendUvarint([]byte{1}, uint64(1000+m.n))
	update = binary.AppendUvarint(update, uint64(m.clock))
	update = appendText(update, word(m.n, at))
	message := append(appendText(nil, topic), hocuspocusAwareness)
	message = binary.AppendUvarint(message, uint64(len(update)))
	_, err := m.Write(frames.Client(frames.Binary, append(message, update...)))
	return err
}

// appendText appends a text as lib0 encodes it: its length, seven bits a byte, and its bytes.
func appendText(b []byte, text string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}
