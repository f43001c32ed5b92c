package handlers

import (
	"bytes"
	"net"
	"net/http"
	"time"
)

// hijackable reports whether the connection of a request is likely to be one that
// a shard can drive: HTTP/1 over a plain socket.
func hijackable(r *http.Request) bool {
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	switch local.(type) {
	case *net.TCPAddr, *net.UnixAddr:
		return r.ProtoMajor == 1 && r.TLS == nil && shardsWork
	}
	return false
}

// hijack takes the connection of a request from net/http, and drives the stream
// over it: on a shard, and then it returns at once, or else here, until the stream
// is over. On an error nothing was done.
func (s *stream) hijack(w http.ResponseWriter, r *http.Request) error {
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return err
	}
	conn.SetDeadline(time.Time{})
	sent, _ := buffered.Reader.Peek(buffered.Reader.Buffered())
	sent = bytes.Clone(sent)
	if s.h.writer.adopt(s, conn, sent) {
		return nil
	}
	defer s.close()
	s.attendHijacked(r.Context(), conn, sent)
	return nil
}

// headSSE returns the head of an answer of Server-Sent Events without chunks:
// what is written is what goes out, and the connection ends with the stream.
func headSSE(header http.Header) []byte {
	return appendHead("HTTP/1.1 200 OK\r\n", header, map[string]string{
		"Connection": "close",
		"Date":       time.Now().UTC().Format(http.TimeFormat),
	})
}

// appendHead returns the head of an answer: the headers that were set before, but
// for those that say how the body is sent, and some more.
func appendHead(status string, header http.Header, more map[string]string) []byte {
	header = header.Clone()
	for name := range header {
		if ofTransfer(name) {
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

// ofTransfer reports whether a header says how an answer is carried, which is not
// for middleware to say of a stream.
func ofTransfer(name string) bool {
	switch name {
	case "Connection", "Upgrade", "Transfer-Encoding", "Trailer", "Content-Encoding", "Content-Length":
		return true
	}
	return false
}
