package handlers

import (
	"crypto/sha1"
	"encoding/base64"
	"net/http"
	"strings"

	"github.com/rollcall-go/rollcall/internal/problem"
)

// checkHandshake returns a problem unless a request opens a WebSocket (RFC 6455
// §4.2.1).
func checkHandshake(r *http.Request) error {
	if !r.ProtoAtLeast(1, 1) || !hasToken(r.Header["Connection"], "Upgrade") || !hasToken(r.Header["Upgrade"], "websocket") {
		return problem.New(http.StatusUpgradeRequired, "This path accepts only WebSocket. Use events or poll instead.").
			With("Upgrade", "websocket")
	}
	if r.Header.Get("Sec-WebSocket-Version") != "13" {
		return problem.New(http.StatusUpgradeRequired, "This path accepts only version 13 of WebSocket.").
			With("Upgrade", "websocket").With("Sec-WebSocket-Version", "13")
	}
	key, err := base64.StdEncoding.DecodeString(r.Header.Get("Sec-WebSocket-Key"))
	if err != nil || len(key) != 16 {
		return badRequest("The header Sec-WebSocket-Key is 16 bytes in base64.")
	}
	return nil
}

// hasToken reports whether a header of comma-separated tokens holds one.
func hasToken(header []string, token string) bool {
	for _, line := range header {
		for t := range strings.SplitSeq(line, ",") {
			if strings.EqualFold(strings.TrimSpace(t), token) {
				return true
			}
		}
	}
	return false
}

// headSocket returns the answer that turns the connection of a checked request into a
// WebSocket (RFC 6455 §4.2.2). It has the header that middleware has set, such as
// cookies. The subprotocol is confirmed to clients that offer it.
func headSocket(header http.Header, r *http.Request) []byte {
	const magic = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
	sum := sha1.Sum([]byte(r.Header.Get("Sec-WebSocket-Key") + magic))
	more := map[string]string{
		"Connection":           "Upgrade",
		"Upgrade":              "websocket",
		"Sec-Websocket-Accept": base64.StdEncoding.EncodeToString(sum[:]),
	}
	if hasToken(r.Header["Sec-Websocket-Protocol"], subprotocol) {
		more["Sec-Websocket-Protocol"] = subprotocol
	}
	header = header.Clone()
	for name := range header {
		if strings.HasPrefix(name, "Content-") || strings.HasPrefix(name, "Sec-Websocket-") {
			delete(header, name)
		}
	}
	return answerHead("HTTP/1.1 101 Switching Protocols\r\n", header, more)
}
