package handlers_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"syscall"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/middleware/nethttp"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
)

// beating returns a site with streams that beat, and their tokens: through Beats, or through
// the site's middleware. The site's identify takes no time.
func beating(b *testing.B, front bool) (http.Handler, []presence.Token) {
	b.Helper()
	tracker, err := track.New(memstore.New(), track.Config{MaxConnectionsPerUser: -1})
	noError(b, err)
	b.Cleanup(func() { tracker.Close(context.Background()) })
	live := handlers.New(tracker, handlers.Config{MaxRate: -1})
	site := nethttp.Presence(tracker, func(r *http.Request) (presence.User, bool) {
		c, err := r.Cookie("name")
		if err != nil {
			return presence.User{}, false
		}
		return presence.User{ID: presence.UserID(c.Value)}, true
	})(live)
	if front {
		site = live.Beats(site)
	}
	tokens := make([]presence.Token, 100)
	for i := range tokens {
		conn, err := tracker.Connect(b.Context(), track.ConnectOptions{
			Visitor: presence.Visitor{User: presence.User{ID: presence.UserID(fmt.Sprint("user", i))}}, Topics: []presence.Topic{"site"}, Beat: true,
		})
		noError(b, err)
		tokens[i] = conn.Token()
	}
	return site, tokens
}

func beatRequest(token presence.Token) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/presence/beat", bytes.NewBufferString(`{"connection":"`+string(token)+`","idle":false}`))
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	r.Header.Set("Cookie", "name=user1")
	return r
}

// BenchmarkBeat is a beat without HTTP.
func BenchmarkBeat(b *testing.B) {
	for name, front := range map[string]bool{"Beats": true, "middleware": false} {
		b.Run(name, func(b *testing.B) {
			site, tokens := beating(b, front)
			w := &nowhere{header: make(http.Header)}
			r := beatRequest(tokens[1])
			body := `{"connection":"` + string(tokens[1]) + `","idle":false}`
			from := bytes.NewReader(nil)
			r.Body = io.NopCloser(from)
			b.ReportAllocs()
			for b.Loop() {
				from.Reset([]byte(body))
				site.ServeHTTP(w, r)
				if w.status != http.StatusNoContent {
					b.Fatalf("got status %d, want 204", w.status)
				}
			}
		})
	}
}

// BenchmarkBeatHTTP is a beat with HTTP over TCP. It reports the CPU of the process, which is
// that of the server and of a client that does no more than write and read. "echo" is that
// client with a server that does no more either: half of its CPU is the client's.
func BenchmarkBeatHTTP(b *testing.B) {
	for _, tt := range []struct {
		name              string
		front, empty, raw bool
	}{{name: "Beats", front: true}, {name: "middleware"}, {name: "empty handler", empty: true}, {name: "echo", raw: true}} {
		b.Run(tt.name, func(b *testing.B) {
			site, tokens := beating(b, tt.front)
			if tt.empty {
				site = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					io.Copy(io.Discard, r.Body)
					w.WriteHeader(http.StatusNoContent)
				})
			}
			l, err := net.Listen("tcp", "127.0.0.1:0")
			noError(b, err)
			server := &http.Server{Handler: site}
			if tt.raw {
				go echoes(l)
				b.Cleanup(func() { l.Close() })
			} else {
				go server.Serve(l)
				b.Cleanup(func() { server.Close() })
			}
			b.ReportAllocs()
			b.ResetTimer()
			before := usedCPU()
			b.RunParallel(func(pb *testing.PB) {
				conn, err := net.Dial("tcp", l.Addr().String())
				if err != nil {
					b.Error(err)
					return
				}
				defer conn.Close()
				body := `{"connection":"` + string(tokens[1]) + `","idle":false}`
				ask := []byte(fmt.Sprintf("POST /presence/beat HTTP/1.1\r\nHost: forum.test\r\nSec-Fetch-Site: same-origin\r\nOrigin: http://forum.test\r\n"+
					"Content-Type: text/plain;charset=UTF-8\r\nUser-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0\r\n"+
					"Accept: */*\r\nAccept-Encoding: gzip, deflate\r\nCookie: name=user1\r\nContent-Length: %d\r\n\r\n%s", len(body), body))
				var answer [1 << 10]byte
				for pb.Next() {
					if _, err := conn.Write(ask); err != nil {
						b.Error(err)
						return
					}
					n, err := conn.Read(answer[:])
					if err != nil || !bytes.HasPrefix(answer[:n], []byte("HTTP/1.1 204")) {
						b.Errorf("got %q, %v", answer[:n], err)
						return
					}
				}
			})
			b.ReportMetric(float64(usedCPU()-before)/float64(b.N), "cpu-ns/op")
		})
	}
}

// echoes answers each piece of input with a fixed answer.
func echoes(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer conn.Close()
			var b [4 << 10]byte
			for {
				if _, err := conn.Read(b[:]); err != nil {
					return
				}
				if _, err := conn.Write([]byte("HTTP/1.1 204 No Content\r\nDate: Mon, 23 Nov 2026 01:00:00 GMT\r\n\r\n")); err != nil {
					return
				}
			}
		}()
	}
}

// usedCPU returns the CPU time of the process.
func usedCPU() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
