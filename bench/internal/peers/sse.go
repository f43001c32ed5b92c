package peers

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	r3sse "github.com/r3labs/sse/v2"
	tmsse "github.com/tmaxmax/go-sse"

	"github.com/rollcall-go/rollcall/bench/internal/diff"
)

var (
	r3labs = Peer{Name: "r3labs/sse", Module: "github.com/r3labs/sse/v2", Path: "/?stream=site", New: newR3labs}
	goSSE  = Peer{Name: "go-sse", Module: "github.com/tmaxmax/go-sse", Path: "/", New: newGoSSE}
)

type r3labsServer struct {
	httpServer
	sse *r3sse.Server
	pad string
}

func newR3labs(o Options) (Server, error) {
	s := &r3labsServer{sse: r3sse.New(), pad: strings.Repeat("x", o.Padding)}
	s.sse.AutoReplay = false // or its log of events grows for ever
	s.sse.CreateStream("site")
	s.server.Handler = s.sse
	return s, nil
}

func (s *r3labsServer) Publish(first, end int) {
	for n := first; n < end; n++ {
		s.sse.Publish("site", &r3sse.Event{
			ID: strconv.AppendInt(nil, int64(n+1), 10), Event: []byte("diff"),
			Data: diff.Append(nil, n, time.Now(), s.pad),
		})
	}
}

type goSSEServer struct {
	httpServer
	sse *tmsse.Server
	pad string
}

func newGoSSE(o Options) (Server, error) {
	s := &goSSEServer{sse: &tmsse.Server{OnSession: answerNow}, pad: strings.Repeat("x", o.Padding)}
	s.server.Handler = s.sse
	return s, nil
}

// answerNow sends the head of the answer, which otherwise waits for an event.
func answerNow(w http.ResponseWriter, _ *http.Request) ([]string, bool) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	return []string{tmsse.DefaultTopic}, http.NewResponseController(w).Flush() == nil
}

func (s *goSSEServer) Publish(first, end int) {
	for n := first; n < end; n++ {
		m := &tmsse.Message{ID: tmsse.ID(strconv.Itoa(n + 1)), Type: tmsse.Type("diff")}
		m.AppendData(string(diff.Append(nil, n, time.Now(), s.pad)))
		s.sse.Publish(m)
	}
}
