package handlers

import (
	"bytes"
	"net"
	"net/http"
	"time"
)

// hijackable reports whether a shard can probably drive the connection of a request:
// HTTP/1 over a plain socket.
func hijackable(r *http.Request) bool {
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	switch local.(type) {
	case *net.TCPAddr, *net.UnixAddr:
		return r.ProtoMajor == 1 && r.TLS == nil && shardsWork
	}
	return false
}

// hijack takes the connection of a request from net/http, and has the stream driven over it: by a shard, or by a
// goroutine of its own where a shard cannot, as over a listener that wraps its connections. The handler returns at once,
// since its goroutine would keep its deep stack and the buffers of net/http. An error means that nothing was done.
func (s *stream) hijack(w http.ResponseWriter) error {
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return err
	}
	conn.SetDeadline(time.Time{})
	input, _ := buffered.Reader.Peek(buffered.Reader.Buffered())
	input = bytes.Clone(input)
	if !s.streams.shards.adopt(s, conn, input) {
		go func() {
			defer s.close()
			s.runHijacked(s.request.context(), conn, input)
		}()
	}
	return nil
}

// headStream returns the head of an answer 200 whose connection was taken over: all but a WebSocket's. The body
// has no chunks, and the connection ends with it.
func headStream(header http.Header) []byte {
	return answerHead("HTTP/1.1 200 OK\r\n", header, map[string]string{
		"Connection": "close",
		"Date":       time.Now().UTC().Format(http.TimeFormat),
	})
}

// answerHead returns the head of an answer: the header that middleware has set, without the names that say how
// a body is sent, and with the fields of more.
func answerHead(status string, header http.Header, more map[string]string) []byte {
	header = header.Clone()
	for name := range header {
		if isTransferHeader(name) {
			delete(header, name)
		}
	}
	for name, value := range more {
		header.Set(name, value)
	}
	b := bytes.NewBufferString(status)
	header.Write(b) // to memory: it cannot fail
	b.WriteString("\r\n")
	return b.Bytes()
}

// isTransferHeader reports whether a header says how a body is sent. Middleware set it
// for an ordinary body, so it is dropped for streams.
func isTransferHeader(name string) bool {
	switch name {
	case "Connection", "Upgrade", "Transfer-Encoding", "Trailer", "Content-Encoding", "Content-Length":
		return true
	}
	return false
}
