package handlers

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"time"
	"unicode/utf8"

	"github.com/gobwas/ws"
)

// A frameReader reads what a client sends over a WebSocket: frames, of which it
// makes whole messages (RFC 6455 §5). It believes nothing that a frame says of
// itself.
type frameReader struct {
	from *bufio.Reader
	most int64 // bytes of a message; negative: any
	rate window
	pong func(payload []byte) // answers a ping; it keeps nothing of it
}

// A closing is why a WebSocket ends, as its close frame says it.
type closing struct {
	code   ws.StatusCode
	reason string
}

func (c closing) Error() string { return c.reason }

// next returns the next text message. It returns a closing where the client says
// goodbye or breaks a rule, and otherwise the error of the connection.
func (f *frameReader) next() ([]byte, error) {
	var message bytes.Buffer
	var size int64
	state := ws.StateServerSide
	for {
		h, err := f.header(state)
		if err != nil {
			return nil, err
		}
		if h.OpCode.IsControl() {
			if err := f.control(h); err != nil {
				return nil, err
			}
			continue
		}
		length := max(h.Length, 1) // or frames without any would have no end
		if f.most >= 0 && length > f.most-size {
			return nil, closing{ws.StatusMessageTooBig, "a message is larger than is allowed here"}
		}
		size += length
		if err := f.payload(&message, h); err != nil {
			return nil, err
		}
		if !h.Fin {
			state = state.Set(ws.StateFragmented)
			continue
		}
		if !utf8.Valid(message.Bytes()) {
			return nil, closing{ws.StatusInvalidFramePayloadData, "a message is not UTF-8"}
		}
		return message.Bytes(), nil
	}
}

// header reads the header of a frame that may come in a state.
func (f *frameReader) header(state ws.State) (ws.Header, error) {
	h, err := ws.ReadHeader(f.from)
	if errors.Is(err, ws.ErrHeaderLengthMSB) {
		return h, closing{ws.StatusProtocolError, err.Error()}
	}
	if err != nil {
		return h, err
	}
	if err := ws.CheckHeader(h, state); err != nil {
		return h, closing{ws.StatusProtocolError, err.Error()}
	}
	if h.OpCode == ws.OpBinary {
		return h, closing{ws.StatusUnsupportedData, "messages are text here"}
	}
	if h.OpCode != ws.OpContinuation && f.rate.over(time.Now()) {
		return h, closing{ws.StatusPolicyViolation, "too many messages in one second"}
	}
	return h, nil
}

// payload appends a frame's payload to b, unmasked.
func (f *frameReader) payload(b *bytes.Buffer, h ws.Header) error {
	begin := b.Len()
	if _, err := io.CopyN(b, f.from, h.Length); err != nil {
		return err
	}
	ws.Cipher(b.Bytes()[begin:], h.Mask, 0)
	return nil
}

// control takes a control frame, of at most 125 bytes.
func (f *frameReader) control(h ws.Header) error {
	var b bytes.Buffer
	if err := f.payload(&b, h); err != nil {
		return err
	}
	switch h.OpCode {
	case ws.OpPing:
		f.pong(b.Bytes())
	case ws.OpClose:
		return closingOfClient(b.Bytes())
	}
	return nil
}

// closingOfClient is the answer to a client's close frame: the same.
func closingOfClient(payload []byte) closing {
	if len(payload) == 0 {
		return closing{ws.StatusNormalClosure, ""}
	}
	code, reason := ws.ParseCloseFrameData(payload)
	if err := ws.CheckCloseFrameData(code, reason); err != nil {
		return closing{ws.StatusProtocolError, err.Error()}
	}
	return closing{code, ""}
}
