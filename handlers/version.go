package handlers

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/rollcall-go/rollcall/internal/problem"
	"github.com/rollcall-go/rollcall/presence"
)

// Two versions of the stream are kept: the latest, and the one before (rule E1).
const (
	latestVersion = presence.StreamVersion
	oldestVersion = max(latestVersion-1, 1)
)

// version returns the version of the stream that a page gets: the highest that the page and
// this build speak. A page that says nothing speaks version 1. It returns an error for a page
// that speaks none of the kept versions (rule E4).
func (q query) version() (int, error) {
	text, all := q.Values["v"], latestVersion
	if len(text) > 0 {
		n, ok := parseVersion(text[0])
		if !ok {
			return 0, badRequest("The parameter v is a whole number: the highest version of the stream that the page speaks.")
		}
		all = min(all, n)
	}
	offered, any := offeredVersion(q.request)
	switch {
	case any:
		all = min(all, offered)
	case len(text) == 0:
		all = 1
	}
	if all < oldestVersion {
		return 0, q.outdated()
	}
	return all, nil
}

// parseVersion reads a version. A number too large for an int is a high version.
func parseVersion(s string) (n int, ok bool) {
	if s == "" || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		n = latestVersion + 1
	}
	return n, true
}

// outdated is the answer to a page that is too old. HTTP/2 forbids the header Upgrade (RFC 9113
// §8.2.2), so there the text alone says what is kept.
func (q query) outdated() *problem.Problem {
	var kept []string
	for v := latestVersion; v >= oldestVersion; v-- {
		kept = append(kept, subprotocol(v))
	}
	names := strings.Join(kept, ", ")
	p := problem.New(http.StatusUpgradeRequired, "This page is too old for the server, which speaks "+names+". Load it again.")
	if q.request.ProtoMajor < 2 {
		p = p.With("Upgrade", names)
	}
	return p
}

// subprotocolPrefix begins the names of the subprotocols of WebSocket, one a version.
const subprotocolPrefix = "presence.v"

func subprotocol(version int) string { return subprotocolPrefix + strconv.Itoa(version) }

// offeredVersion returns the highest version among the subprotocols that a request offers, and
// false if it offers none of ours.
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

// A dialect is how a page reads events: the version of the stream, and which versions of the
// site's own types it knows.
type dialect struct {
	version int
	types   *pageTypes // nil: the page does not say
}

// dialect returns how the page of a request reads events.
func (q query) dialect(types *typeSets) (d dialect, err error) {
	if d.version, err = q.version(); err != nil {
		return d, err
	}
	if q.Has("types") {
		d.types, err = types.parse(strings.Join(q.Values["types"], ","))
	}
	return d, err
}

// form returns the Form of a transport for the dialect.
func (d dialect) form(forms versionForms) *presence.Form {
	base := forms[d.version-oldestVersion]
	if d.types == nil {
		return base
	}
	return d.types.form(base)
}

// read returns an event as the page reads it.
func (d dialect) read(e presence.Event) presence.Event {
	if d.types != nil {
		e.Data = d.types.read(e)
	}
	e.Data = dataAs(d.version, e)
	return e
}

// versionForms are how a transport writes events: a Form for each kept version, the oldest first.
type versionForms [latestVersion - oldestVersion + 1]*presence.Form

// newForms returns the Forms of a transport that frames events. An event's Data are those of the
// latest version, so pages of that version cost nothing more.
func newForms(frame func(b []byte, e presence.Event) []byte) (forms versionForms) {
	for i := range forms {
		version := oldestVersion + i
		forms[i] = presence.NewForm(func(b []byte, e presence.Event) []byte {
			e.Data = dataAs(version, e)
			return frame(b, e)
		})
	}
	forms[len(forms)-1] = presence.NewForm(frame)
	return forms
}

// dataAs returns an event's data as pages of a version read them.
func dataAs(version int, e presence.Event) []byte {
	for v := latestVersion; v > version; v-- {
		e.Data = downgrade(v, e)
	}
	return e.Data
}

// speaks are the types of events that every page of a version may get, for welcome. A page
// ignores others (rule E2).
var speaks = speech{
	presence.EventState, presence.EventDiff, presence.EventCount, presence.EventHeartbeat, presence.EventSignal,
}

type speech []presence.EventType
