package handlers_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
)

// BenchmarkIdle measures the memory and goroutines of an idle stream. That includes the
// test's own end of it: one net.Conn, about 0.5 KB, and no goroutine.
func BenchmarkIdle(b *testing.B) {
	for name, head := range map[string]string{
		"sse": "GET /presence/events?observe=1 HTTP/1.1\r\nHost: forum.test\r\nUser-Agent: bench\r\nAccept: text/event-stream\r\n\r\n",
		"ws": "GET /presence/ws?observe=1 HTTP/1.1\r\nHost: forum.test\r\nUser-Agent: bench\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" +
			"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
	} {
		b.Run(name, func(b *testing.B) { benchmarkIdle(b, head) })
	}
}

func benchmarkIdle(b *testing.B, head string) {
	tracker, err := track.New(memstore.New(), track.Config{MaxConnectionsPerUser: -1})
	noError(b, err)
	handler := handlers.New(tracker, handlers.Config{MaxConnectionsPerAddress: -1, MaxRate: -1})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	noError(b, err)
	server := &http.Server{Handler: handler}
	go server.Serve(listener)
	defer server.Close()
	defer tracker.Close(context.Background())
	const n = 5000
	conns := make([]net.Conn, n)
	var before, after runtime.MemStats
	settle := func(m *runtime.MemStats) {
		time.Sleep(200 * time.Millisecond)
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(m)
	}
	for b.Loop() {
		settle(&before)
		routines := runtime.NumGoroutine()
		for i := range conns {
			conn, err := net.Dial("tcp", listener.Addr().String())
			noError(b, err)
			fmt.Fprint(conn, head)
			line, err := bufio.NewReaderSize(conn, 16).ReadString('\n')
			if err != nil || !strings.HasPrefix(line, "HTTP/1.1 200") && !strings.HasPrefix(line, "HTTP/1.1 101") {
				b.Fatalf("got %q (%v), want a stream", line, err)
			}
			conns[i] = conn
		}
		settle(&after)
		b.ReportMetric(float64(after.HeapAlloc+after.StackInuse-before.HeapAlloc-before.StackInuse)/n, "B/stream")
		b.ReportMetric(float64(runtime.NumGoroutine()-routines)/n, "goroutines/stream")
		for _, conn := range conns {
			conn.Close()
		}
		for tracker.Stats().Connections > 0 {
			time.Sleep(10 * time.Millisecond)
		}
	}
}
