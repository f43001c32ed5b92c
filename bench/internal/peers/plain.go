package peers

import (
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/rollcall-go/rollcall/bench/internal/diff"
)

// What net/http itself allows: handlers that write the prepared bytes of the
// limit, all that is outstanding in one call of Write and one of Flush, each woken
// by one channel that all share. They know no deadlines and no presence.
var (
	plainHTTP1 = Peer{Name: "net/http (limit)", Path: "/", Merges: true,
		New: func(o Options) (Server, error) { return newPlain(o), nil }}
	plainHTTP2 = Peer{Name: "net/http HTTP/2 (limit)", Path: "/", Framing: HTTP2, Merges: true,
		New: func(o Options) (Server, error) {
			s := newPlain(o)
			s.server.Protocols = new(http.Protocols)
			s.server.Protocols.SetUnencryptedHTTP2(true)
			return s, nil
		}}
)

type plainServer struct {
	httpServer
	log   rawLog
	pad   string
	merge time.Duration

	mu   sync.Mutex
	news chan struct{} // closed when there is more
	due  *time.Timer
}

func newPlain(o Options) *plainServer {
	s := &plainServer{pad: strings.Repeat("x", o.Padding), merge: o.Merge, news: make(chan struct{})}
	s.server.Handler = http.HandlerFunc(s.stream)
	return s
}

func (s *plainServer) stream(w http.ResponseWriter, r *http.Request) {
	if r.ProtoMajor == 1 {
		w.Header().Set("Transfer-Encoding", "identity")
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Write([]byte(": welcome\n\n"))
	control := http.NewResponseController(w)
	pos := s.log.end()
	for control.Flush() == nil {
		b := s.log.after(pos)
		for len(b) == 0 {
			s.mu.Lock()
			news := s.news
			s.mu.Unlock()
			if b = s.log.after(pos); len(b) > 0 {
				break
			}
			select {
			case <-news:
			case <-r.Context().Done():
				return
			}
			b = s.log.after(pos)
		}
		n, _ := w.Write(b)
		pos += n
	}
}

func (s *plainServer) Publish(first, end int) {
	var b []byte
	now := time.Now()
	for n := first; n < end; n++ {
		b = diff.AppendSSE(b, n, now, s.pad)
	}
	s.log.append(b)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.merge == 0 {
		s.tell()
	} else if s.due == nil {
		s.due = time.AfterFunc(s.merge, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.due = nil
			s.tell()
		})
	}
}

// tell wakes all. The caller holds mu.
func (s *plainServer) tell() {
	close(s.news)
	s.news = make(chan struct{})
}
