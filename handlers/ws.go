package handlers

import (
	"context"
	"encoding/base64"
	"net/http"
	"strings"

	"github.com/gobwas/ws"
)

// subprotocol is the name of what is spoken here, for clients that ask for it.
const subprotocol = "presence.v1"

// ws streams topics over a WebSocket. What is wrong with the request is answered
// as ever, before the connection turns into one.
func (h *Handler) ws(w http.ResponseWriter, r *http.Request) error {
	if err := checkHandshake(r); err != nil {
		return err
	}
	q, err := parseQuery(r)
	if err != nil {
		return err
	}
	options, err := h.connectOptions(r, q)
	if err != nil {
		return err
	}
	if err := clearDeadline(http.NewResponseController(w)); err != nil {
		return err
	}
	leave, err := h.admit(r)
	if err != nil {
		return err
	}
	defer leave()
	conn, err := h.tracker.Connect(r.Context(), options)
	if err != nil {
		return err
	}
	defer conn.Close()
	to, err := h.upgrade(w, r)
	if err != nil {
		conn.Drop() // it never began
		return nil  // and the answer was given, or nobody is there
	}
	defer opened(&h.counters.socket)()
	ctx, cancel := context.WithCancel(r.Context())
	said, listened := make(chan []byte), make(chan struct{})
	go func() {
		defer close(listened)
		defer cancel()
		to.listen(ctx, said)
	}()
	s := h.newStream(r, conn, options.Topics, to)
	s.said = said
	s.run(ctx)

	cancel()
	conn.Close() // parting may take a moment

	to.hangUp(closing{ws.StatusGoingAway, "this server stops: come back"}) // unless a word was said
	<-listened
	to.close()
	return nil
}

// checkHandshake returns a problem unless a request opens a WebSocket (RFC 6455
// §4.2.1).
func checkHandshake(r *http.Request) error {
	if !hasToken(r.Header["Connection"], "Upgrade") || !hasToken(r.Header["Upgrade"], "websocket") {
		return newProblem(http.StatusUpgradeRequired, "This path speaks WebSocket. For other ways see events and poll.").
			with("Upgrade", "websocket")
	}
	if r.Header.Get("Sec-WebSocket-Version") != "13" {
		return newProblem(http.StatusUpgradeRequired, "The version of WebSocket that is spoken here is 13.").
			with("Upgrade", "websocket").with("Sec-WebSocket-Version", "13")
	}
	key, err := base64.StdEncoding.DecodeString(r.Header.Get("Sec-WebSocket-Key"))
	if err != nil || len(key) != 16 {
		return badRequest("The header Sec-WebSocket-Key is 16 bytes in base64.")
	}
	return nil
}

// hasToken reports whether a header of comma-separated tokens holds one.
func hasToken(header []string, token string) bool {
	for _, line := range header {
		for t := range strings.SplitSeq(line, ",") {
			if strings.EqualFold(strings.TrimSpace(t), token) {
				return true
			}
		}
	}
	return false
}

// upgrade turns the connection of a request that was checked into a WebSocket.
// The headers that middleware set go along, such as cookies.
func (h *Handler) upgrade(w http.ResponseWriter, r *http.Request) (*socket, error) {
	header := w.Header().Clone()
	for name := range header {
		if name == "Connection" || name == "Upgrade" || strings.HasPrefix(name, "Content-") || strings.HasPrefix(name, "Sec-Websocket-") {
			delete(header, name)
		}
	}
	if hasToken(r.Header["Sec-Websocket-Protocol"], subprotocol) {
		header.Set("Sec-WebSocket-Protocol", subprotocol)
	}
	upgrader := ws.HTTPUpgrader{Header: header, Timeout: max(h.cfg.WriteDeadline, 0)}
	conn, buffered, _, err := upgrader.Upgrade(r, w)
	if err != nil {
		if conn != nil {
			conn.Close()
		}
		return nil, err
	}
	s := &socket{conn: conn, deadline: h.cfg.WriteDeadline, limited: &h.counters.limited}
	s.frames = frameReader{from: buffered.Reader, most: h.cfg.MaxBody, rate: window{most: h.cfg.Rate}, pong: s.pong}
	return s, nil
}
