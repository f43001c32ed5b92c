package main

import (
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Whoever begins a request and leaves it at that does not hold a connection for ever.
func TestStalledRequests(t *testing.T) {
	for name, request := range map[string]string{
		"header": "POST /login HTTP/1.1\nHost: forum",
		"form":   "POST /login HTTP/1.1\nHost: forum\nContent-Type: application/x-www-form-urlencoded\nContent-Length: 10\n\nname",
		"beat":   "POST /presence/beat HTTP/1.1\nHost: forum\nContent-Length: 100\n\n{",
		"status": "PUT /presence/status HTTP/1.1\nHost: forum\nTransfer-Encoding: chunked\n\n5\n{\"sta",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				logger := slog.New(slog.DiscardHandler)
				c, err := parseConfig(nil, func(string) string { return "" })
				if err != nil {
					t.Fatal(err)
				}
				s, err := newSite(c, logger)
				if err != nil {
					t.Fatal(err)
				}
				defer s.close(t.Context())
				ours, theirs := net.Pipe()
				defer ours.Close()
				server := newServer(s, logger)
				defer server.Close()
				conns := make(oneConn, 1)
				conns <- theirs
				go server.Serve(conns)
				defer close(conns)

				begin := time.Now()
				if _, err := io.WriteString(ours, strings.ReplaceAll(request, "\n", "\r\n")); err != nil {
					t.Fatal(err)
				}
				ours.SetReadDeadline(begin.Add(time.Minute))
				if answer, err := io.ReadAll(ours); err != nil {
					t.Errorf("got %v after %v and %q, want the connection's end", err, time.Since(begin), answer)
				}
				if got, most := time.Since(begin), 12*time.Second; got > most {
					t.Errorf("got the connection's end after %v, want it within %v", got, most)
				}
			})
		})
	}
}

// oneConn is a listener that has the connections which are sent to it, until it
// is closed.
type oneConn chan net.Conn

func (l oneConn) Accept() (net.Conn, error) {
	if c, ok := <-l; ok {
		return c, nil
	}
	return nil, http.ErrServerClosed
}

func (oneConn) Close() error   { return nil }
func (oneConn) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "pipe"} }
