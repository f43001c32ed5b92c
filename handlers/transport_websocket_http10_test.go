package handlers_test

import (
	"bufio"
	"io"
	"net/http"
	"testing"
)

// WebSocket begins with HTTP/1.1 (RFC 6455 §4.2.1): a client, or a proxy, that
// speaks 1.0 would not understand the answer.
func TestSocketOverHTTP10(t *testing.T) {
	onSite(t, setup{}, func(t *testing.T, s *site) {
		head := "GET /presence/ws HTTP/1.0\r\nHost: forum.test\r\n"
		for name, value := range handshake {
			head += name + ": " + value + "\r\n"
		}
		conn, err := s.dial(t.Context(), "", "")
		noError(t, err)
		defer conn.Close()
		if _, err := io.WriteString(conn, head+"\r\n"); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: http.MethodGet})
		noError(t, err)
		body, _ := io.ReadAll(resp.Body)
		wantProblem(t, resp, string(body), http.StatusUpgradeRequired)
	})
}
