package handlers

import (
	"errors"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/gobwas/ws"

	"github.com/rollcall-go/rollcall/presence"
)

// A proof is how the server knows that the page of a stream is alive. A page that said
// beat=auto leaves the choice to the server:
//
//	pongs  A WebSocket: the server pings a client of which it heard nothing for a third of
//	       the TTL, through whatever stands between. A client that stays silent for 8/9 of
//	       the TTL is lost.
//	tcp    Server-Sent Events over a TCP connection that a shard drives, and that begins at
//	       the client: what the client's kernel acknowledges is alive. The server's kernel
//	       asks for acknowledgements (proveSocket).
//	beats  All else: a proxy acknowledges for a client that has vanished.
//
// A lost client is gone a TTL after its last word, as if its beats had stopped: see
// presence.Connection.Lost.
type proof uint8

const (
	proofOpen proof = iota // the page did not ask: the stream counts as alive while it is open
	proofBeats
	proofPongs
	proofTCP
)

// errLost ends a WebSocket whose client does not answer.
var errLost = errors.New("the client does not answer")

// longestBeat is the longest time from one beat of a page to the next.
const longestBeat = 20 * time.Second

// beatEvery returns how often the page of a stream has to beat; 0: not at all. A beat that
// gets lost is made up for by the next.
func (s *stream) beatEvery() time.Duration {
	if s.proof != proofBeats {
		return 0
	}
	return min(longestBeat, s.conn.TTL()*4/9).Truncate(time.Millisecond)
}

// needBeats has the page beat, since nothing else proves that it is alive. It is called
// before the stream's first turn.
func (s *stream) needBeats() {
	if s.proof == proofTCP {
		s.proof = proofBeats
		s.conn.NeedBeats()
	}
}

// proxyHeaders are what proxies add to requests, and no browser sends.
var proxyHeaders = []string{
	"X-Forwarded-For", "Forwarded", "Via", "X-Real-Ip", "X-Forwarded-Proto", "X-Forwarded-Host", "X-Forwarded-Port", "X-Forwarded-Server",
	"X-Client-Ip", "X-Cluster-Client-Ip", "True-Client-Ip", "Cf-Connecting-Ip", "Cf-Ray", "Fastly-Client-Ip", "Fly-Client-Ip", "X-Envoy-External-Address",
}

// direct reports whether a request comes over the client's own TCP connection, as far as
// the request shows and the site says. A proxy also shows by HTTP/1.0, and by closing the
// connection after the request: both are defaults of nginx.
func (s *siteCode) direct(r *http.Request) bool {
	if r.ProtoMajor != 1 || r.ProtoMinor == 0 || r.Close || r.TLS != nil || atSocket(r) {
		return false
	}
	for _, name := range proxyHeaders {
		if r.Header[name] != nil {
			return false
		}
	}
	if s.cfg.Proxied != nil {
		return !s.saysProxied(r)
	}
	return !passedOn(r)
}

// passedOn reports whether the other end of the connection is near and the site's name is not:
// its address is of this machine or of a private network, and the Host of the request is a
// public name or address. Clients from the internet then come through something that adds nothing.
//
// Example: HAProxy on the same machine, without "option forwardfor", asks from 127.0.0.1 for
// forum.example. A browser on the developer's machine asks from there for localhost:8080.
func passedOn(r *http.Request) bool {
	peer, err := netip.ParseAddr(remoteIP(r))
	if err != nil || !near(peer) {
		return false
	}
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if ip, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return !near(ip)
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	at := strings.LastIndexByte(host, '.')
	switch host[at+1:] {
	case "localhost", "local", "internal":
		return false
	}
	return at >= 0
}

// shared is the address space of carriers and clouds (RFC 6598).
var shared = netip.MustParsePrefix("100.64.0.0/10")

// near reports whether an address is of this machine or of a private network.
func near(ip netip.Addr) bool {
	ip = ip.Unmap().WithZone("")
	return ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast() || shared.Contains(ip)
}

// pongs is what a stream knows of a client that is to answer pings.
type pongs struct {
	ttl    time.Duration
	heard  time.Time // when something came from the client
	pinged bool      // since then
	last   time.Time // when the client is lost; zero: it has been silent for less than 7/9 of the TTL
}

// hear notes that something came from the client.
func (s *stream) hear(now time.Time) {
	if p := s.pongs; p != nil {
		p.heard, p.pinged, p.last = now, false, time.Time{}
	}
}

// appendPing appends a ping if one is due.
func (s *stream) appendPing(b []byte, now time.Time) []byte {
	p := s.pongs
	if p == nil || p.pinged || now.Before(p.heard.Add(p.ttl/3)) {
		return b
	}
	p.pinged = true
	return appendHeader(b, ws.OpPing, 0)
}

// silent reports whether the client is lost. A server that was stopped itself first reads
// what came meanwhile: the client has a ninth of the TTL from the moment at which it is missed.
func (s *stream) silent(now time.Time) bool {
	p := s.pongs
	switch {
	case p == nil || now.Before(p.heard.Add(p.ttl*7/9)):
		return false
	case p.last.IsZero():
		p.last = now.Add(p.ttl / 9)
		return false
	}
	return !now.Before(p.last)
}

// nextPing returns when a ping, or the end, is due, if that is before a moment.
func (s *stream) nextPing(next time.Time) time.Time {
	p := s.pongs
	if p == nil {
		return next
	}
	due := p.heard.Add(p.ttl / 3)
	switch {
	case !p.last.IsZero():
		due = p.last
	case p.pinged:
		due = p.heard.Add(p.ttl * 7 / 9)
	}
	if due.Before(next) {
		return due
	}
	return next
}

// closeConn ends the connection: with the grace, unless the client has been silent since a
// ping.
func (s *stream) closeConn(now time.Time) {
	if p := s.pongs; p != nil && now.Sub(p.heard) > p.ttl/2 {
		s.conn.Lost(p.heard)
		return
	}
	s.conn.Close()
}

// newProof returns how the page of a new stream is to prove that it is alive. A proof by
// TCP becomes one by beats if it turns out that no shard drives the stream.
func (h *Handler) newProof(conn *presence.Connection, o streamOptions, over transport, now time.Time) (proof, *pongs) {
	_, isSocket := over.(*socket)
	switch {
	case !o.auto && o.Beat:
		return proofBeats, nil
	case !o.auto:
		return proofOpen, nil
	case isSocket:
		return proofPongs, &pongs{ttl: conn.TTL(), heard: now}
	case o.Beat:
		return proofBeats, nil
	}
	return proofTCP, nil
}
