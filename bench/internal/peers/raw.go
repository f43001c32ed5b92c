package peers

import (
	"bytes"
	"net"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rollcall-go/rollcall/bench/internal/diff"
)

// The limit: a bare TCP server that knows no HTTP beyond its first bytes, and
// writes prepared bytes, all that is outstanding in one call of the kernel.
var raw = Peer{Name: "raw TCP (limit)", Path: "/", Merges: true, New: func(o Options) (Server, error) {
	r := &rawServer{pad: strings.Repeat("x", o.Padding), merge: o.Merge}
	for range runtime.GOMAXPROCS(0) {
		w := &rawWriter{log: &r.log, wake: make(chan struct{}, 1)}
		r.writers = append(r.writers, w)
		go w.run()
	}
	return r, nil
}}

type rawServer struct {
	pad     string
	merge   time.Duration
	log     rawLog
	writers []*rawWriter
	mu      sync.Mutex
	due     *time.Timer
}

// A rawLog is the latest bytes. What was appended never changes.
type rawLog struct {
	mu    sync.Mutex
	bytes []byte
	base  int // the position of bytes[0]
}

const rawLogMost = 8 << 20

func (l *rawLog) append(b []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.bytes)+len(b) > cap(l.bytes) {
		kept := l.bytes[len(l.bytes)/2:]
		l.base += len(l.bytes) - len(kept)
		l.bytes = append(make([]byte, 0, rawLogMost), kept...)
	}
	l.bytes = append(l.bytes, b...)
}

// after returns what came after a position.
func (l *rawLog) after(pos int) []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.bytes[max(pos-l.base, 0):]
}

// end is the position behind the latest byte.
func (l *rawLog) end() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.base + len(l.bytes)
}

// A rawWriter writes to its share of the connections.
type rawWriter struct {
	log   *rawLog
	wake  chan struct{}
	mu    sync.Mutex
	conns []*rawConn
}

type rawConn struct {
	fd  int
	pos int
}

func (w *rawWriter) run() {
	for range w.wake {
		for w.pass() { // somebody's socket was full
			time.Sleep(time.Millisecond)
		}
	}
}

// pass writes to each connection what it has not got, and reports whether
// something is left.
func (w *rawWriter) pass() (left bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.conns {
		b := w.log.after(c.pos)
		if len(b) == 0 {
			continue
		}
		n, err := unix.Write(c.fd, b)
		c.pos += max(n, 0)
		left = left || n < len(b) && (err == nil || err == unix.EAGAIN)
	}
	return left
}

func (r *rawServer) Serve(l net.Listener) error {
	for i := 0; ; i++ {
		conn, err := l.Accept()
		if err != nil {
			return err
		}
		go r.welcome(conn, r.writers[i%len(r.writers)])
	}
}

func (r *rawServer) welcome(conn net.Conn, w *rawWriter) {
	b := make([]byte, 1024)
	for n := 0; !bytes.Contains(b[:n], []byte("\r\n\r\n")); {
		m, err := conn.Read(b[n:])
		if err != nil {
			return
		}
		n += m
	}
	conn.Write([]byte("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n: welcome\n\n"))
	control, err := conn.(syscall.Conn).SyscallConn()
	if err != nil {
		return
	}
	control.Control(func(fd uintptr) {
		w.mu.Lock()
		defer w.mu.Unlock()
		r.log.mu.Lock()
		defer r.log.mu.Unlock()
		w.conns = append(w.conns, &rawConn{fd: int(fd), pos: r.log.base + len(r.log.bytes)})
	})
	conn.Read(b) // until the reader closes
}

func (r *rawServer) Publish(first, end int) {
	var b []byte
	now := time.Now()
	for n := first; n < end; n++ {
		b = diff.AppendSSE(b, n, now, r.pad)
	}
	r.log.append(b)
	if r.merge == 0 {
		r.kick()
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.due == nil {
		r.due = time.AfterFunc(r.merge, func() {
			r.mu.Lock()
			r.due = nil
			r.mu.Unlock()
			r.kick()
		})
	}
}

func (r *rawServer) kick() {
	for _, w := range r.writers {
		select {
		case w.wake <- struct{}{}:
		default:
		}
	}
}

func (r *rawServer) Stats() map[string]float64 { return nil }
