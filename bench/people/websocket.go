package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
)

// dialWebSocket opens a WebSocket, and returns the connection with what came behind the head
// of the answer.
func dialWebSocket(addr, path string) (net.Conn, *bufio.Reader, error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, nil, err
	}
	fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n", path, addr)
	r := bufio.NewReader(conn)
	answer, err := http.ReadResponse(r, nil)
	if err == nil && answer.StatusCode != http.StatusSwitchingProtocols {
		body, _ := io.ReadAll(io.LimitReader(answer.Body, 200))
		err = fmt.Errorf("%s: %s", answer.Status, body)
	}
	if err != nil {
		conn.Close()
		return nil, nil, err
	}
	return conn, r, nil
}

// say sends a text as a client does, masked with zeros.
func say(w io.Writer, text string) error {
	b := []byte{0x81}
	switch n := len(text); {
	case n < 126:
		b = append(b, 0x80|byte(n))
	case n < 1<<16:
		b = binary.BigEndian.AppendUint16(append(b, 0x80|126), uint16(n))
	default:
		b = binary.BigEndian.AppendUint64(append(b, 0x80|127), uint64(n))
	}
	b = append(b, 0, 0, 0, 0)
	_, err := w.Write(append(b, text...))
	return err
}

// awaitText reads until a text has come.
func awaitText(r *bufio.Reader, text string) error {
	var all []byte
	b := make([]byte, 4096)
	for {
		n, err := r.Read(b)
		all = append(all, b[:n]...)
		switch {
		case bytes.Contains(all, []byte(text)):
			return nil
		case err != nil:
			return fmt.Errorf("got %.200q and %w, want %q", all, err, text)
		}
		all = all[max(0, len(all)-4096):]
	}
}

// quoted returns ids as the elements of an array in JSON.
func quoted(persons []int) string {
	ids := make([]string, len(persons))
	for i, p := range persons {
		ids[i] = `"` + personID(p) + `"`
	}
	return strings.Join(ids, ",")
}
