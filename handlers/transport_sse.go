package handlers

import (
	"errors"
	"strconv"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// sse speaks as Server-Sent Events do. The client has nothing to say: what it
// sends is passed over, as far as that is little.
type sse struct {
	heard int
}

// maxHeard is how many bytes a client that has nothing to say may send.
const maxHeard = 4 << 10

var errHeard = errors.New("client sent more than 4 KiB on an event stream")

func (s *sse) framer() (int, presence.Framer) { return formSSE, frameSSE }

func frameSSE(b []byte, e presence.Event) []byte {
	b = append(b, "event: "...)
	b = append(b, e.Type...)
	if e.ID != "" {
		b = append(b, "\nid: "...)
		b = append(b, e.ID...)
	}
	b = append(b, "\ndata: "...)
	b = append(b, e.Data...)
	return append(b, "\n\n"...)
}

func (s *sse) retry(b []byte, wait time.Duration) []byte {
	b = append(b, "retry: "...)
	b = strconv.AppendInt(b, wait.Milliseconds(), 10)
	return append(b, '\n') // counts as it is read, with an event or without
}

func (s *sse) bye(b []byte, _ error, wait time.Duration) []byte { return s.retry(b, wait) }

func (s *sse) take(p []byte, _ time.Time) (message, answer, rest []byte, err error) {
	if s.heard += len(p); s.heard > maxHeard {
		err = errHeard
	}
	return nil, nil, nil, err
}
