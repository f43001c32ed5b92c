package handlers

import (
	"errors"
	"strconv"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/track"
)

// sse is the transport of Server-Sent Events. Its client should send nothing: up to maxReceived bytes are
// ignored.
type sse struct {
	as       *track.Form // how the page reads events; nil: as HTML
	received int         // bytes from the client
}

// maxReceived bounds the input of an event stream, in bytes.
const maxReceived = 4 << 10

var errReceived = errors.New("client sent more than 4 KiB on an event stream")

func (s *sse) form() *track.Form { return s.as }

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

func (s *sse) appendRetry(b []byte, wait time.Duration) []byte {
	b = append(b, "retry: "...)
	b = strconv.AppendInt(b, wait.Milliseconds(), 10)
	return append(b, '\n') // clients obey the field whether an event follows or not
}

func (s *sse) appendEnd(b []byte, _ error, wait time.Duration) []byte { return s.appendRetry(b, wait) }

func (*sse) proof() proof { return proofBeats }

// appendNudge appends a comment.
func (*sse) appendNudge(b []byte) []byte { return append(b, ":\n\n"...) }

func (s *sse) nextMessage(p []byte, _ time.Time) (message, answer, rest []byte, err error) {
	if s.received += len(p); s.received > maxReceived {
		err = errReceived
	}
	return nil, nil, nil, err
}
