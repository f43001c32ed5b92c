// Package peers is the servers that are compared: each sends the same changes to
// every reader of one topic, in the way its own documentation shows for that.
package peers

import (
	"net"
	"net/http"
	"time"
)

// A Peer is one server among those compared.
type Peer struct {
	Name   string // as tables and plots show it
	Module string // whose version is shown; empty: it is of this repository
	// Path is what a reader asks for; {n}, where it stands, becomes its number.
	Path    string
	Framing Framing
	Hello   string // what a reader of a WebSocket says at first
	// Merges: several changes may become one event.
	Merges bool
	// Users: each reader is signed in, and its coming is itself a change.
	Users bool
	New   func(Options) (Server, error)
}

// Framing is how events come over a connection.
type Framing int

// The framings.
const (
	HTTP1     Framing = iota // an answer of HTTP/1.1, in chunks or as it is
	WebSocket                // frames after a handshake
	HTTP2                    // one stream of HTTP/2 a connection
)

// Options say what a scenario needs of a server.
type Options struct {
	Merge   time.Duration // changes within it become one frame or one write, where a server can; 0: none
	Padding int           // bytes that each join has beside the usual
}

// A Server sends changes to its readers.
type Server interface {
	// Serve serves until the listener closes.
	Serve(l net.Listener) error
	// Publish makes the changes from first to before end happen, in order, now.
	// It may wait, as the server's own way of publishing does.
	Publish(first, end int)
	// Stats returns figures of the server's own, for those who wonder.
	Stats() map[string]float64
}

// All returns the peers, ours first.
func All() []Peer {
	return []Peer{
		oursSSE, oursWS, oursPlain, oursHTTP2, oursUsers, raw, plainHTTP1, plainHTTP2,
		r3labs, goSSE, centrifugeSSE, centrifugeWS, gwsPeer, gorillaPeer, gobwasPeer, coderPeer,
	}
}

// Find returns the peer with a name.
func Find(name string) (Peer, bool) {
	for _, p := range All() {
		if p.Name == name {
			return p, true
		}
	}
	return Peer{}, false
}

// httpServer is what servers of net/http share.
type httpServer struct {
	server http.Server
}

func (s *httpServer) Serve(l net.Listener) error { return s.server.Serve(l) }

func (s *httpServer) Stats() map[string]float64 { return nil }
