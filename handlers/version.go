package handlers

import (
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/rollcall-go/rollcall/internal/problem"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/track"
)

// checkVersion returns an error for a page that cannot read the stream (rule E4). A page names the highest
// version that it supports; the default is 1. There is only version 1 so far, so a page that names a higher
// one gets version 1 too.
func (q *query) checkVersion() error {
	speaks := track.StreamVersion
	if text := q.Values["v"]; len(text) > 0 {
		n, ok := parseVersion(text[0])
		if !ok {
			return badRequest("The parameter v is a whole number: the highest version of the stream that the page speaks.")
		}
		speaks = n
	}
	if offered, any := offeredVersion(q.request); any {
		speaks = min(speaks, offered)
	}
	if speaks < track.StreamVersion {
		return q.outdated()
	}
	return nil
}

// parseVersion reads a version. A number too large for an int is a high version.
func parseVersion(s string) (n int, ok bool) {
	if s == "" || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		n = math.MaxInt
	}
	return n, true
}

// outdated is the answer to a page that is too old. HTTP/2 forbids the header Upgrade (RFC 9113
// §8.2.2), so there only the text names the version.
func (q *query) outdated() *problem.Problem {
	p := problem.New(http.StatusUpgradeRequired, "This page is too old for the server, which speaks "+subprotocol+". Load it again.")
	if q.request.ProtoMajor < 2 {
		p = p.With("Upgrade", subprotocol)
	}
	return p
}

// subprotocolPrefix begins the WebSocket subprotocols' names, one for each version.
const subprotocolPrefix = "presence.v"

// subprotocol is the name for the server's version.
var subprotocol = subprotocolPrefix + strconv.Itoa(track.StreamVersion)

// offeredVersion returns the highest version among the subprotocols that a request offers. It returns false if
// it offers none of ours.
func offeredVersion(r *http.Request) (highest int, ok bool) {
	for _, line := range r.Header["Sec-Websocket-Protocol"] {
		for name := range strings.SplitSeq(line, ",") {
			number, ours := strings.CutPrefix(strings.TrimSpace(name), subprotocolPrefix)
			if n, valid := parseVersion(number); ours && valid {
				highest, ok = max(highest, n), true
			}
		}
	}
	return highest, ok
}

// types returns which versions of the site's own types the page knows; nil if the page does not say. A page that
// cannot read the stream is an error.
func (q *query) types(sets *typeSets) (known *pageTypes) {
	if q.fail(q.checkVersion()); q.err == nil && q.Has("types") {
		known, q.err = sets.parse(strings.Join(q.Values["types"], ","))
	}
	return known
}

// speaks has the types of events that every page of a version may get, for welcome. A page ignores other types
// (rule E2).
var speaks = speech{
	presence.EventState, presence.EventDiff, presence.EventCount, presence.EventHeartbeat, presence.EventSignal,
}

type speech []presence.EventType
