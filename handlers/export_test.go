package handlers

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/gobwas/ws"

	"github.com/rollcall-go/rollcall/internal/gate"
	"github.com/rollcall-go/rollcall/internal/viewcache"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed"
	"github.com/rollcall-go/rollcall/presence/track"
)

// Access for tests.

const (
	MaxCachedPages = viewcache.MaxBytes
	MaxMetered     = gate.MaxMetered
	MaxSightings   = maxSightings
)

// Counted returns how many visitors' rates, and how many addresses' and tenants' connections, are
// counted now.
func (h *Handler) Counted() (visitors, addresses int) {
	for _, r := range []*gate.Rates{&h.limits.reads, &h.limits.writes} {
		visitors += r.Size()
	}
	visitors += h.limits.statuses.Size() + h.limits.audiences.Size() + h.limits.signals.Size()
	return visitors, h.limits.addresses.count() + h.limits.everywhere.count() + h.limits.tenants.count()
}

// Account returns the account of a request: it takes points, and reports whether the visitor pays.
func (h *Handler) Account(r *http.Request) func(points int, when gate.When) bool {
	a, _ := h.limits.open(r, visitorOf(r))
	return a.Take
}

func (o *openBy) count() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.open)
}

// Endpoints returns the paths below the prefix; one that ends in a slash stands for
// all below it.
func (h *Handler) Endpoints() []string { return slices.Sorted(maps.Keys(h.endpoints)) }

// An Endpoint is what the table of endpoints says of a path.
type Endpoint struct {
	Methods []string
	Holds   bool
}

// Methods returns the endpoints by their paths below the prefix.
func (h *Handler) Methods() map[string]Endpoint {
	all := make(map[string]Endpoint)
	for path, e := range h.endpoints {
		all[path] = Endpoint{e.methods, e.holds}
	}
	return all
}

// UnlimitUsers lets users send any number of requests.
func (h *Handler) UnlimitUsers() {
	h.limits.reads.Users.Init(gate.NewPace(-1, 1), nil)
	h.limits.writes.Users.Init(gate.NewPace(-1, 1), nil)
}

// CachedPages returns how many bytes of rosters are cached: as counted, and as
// they are.
func (h *Handler) CachedPages() (counted, held int) {
	counted, pages := h.rosters.pages.first.Held()
	for _, p := range pages {
		held += len(p.body) + viewcache.EntryCost
	}
	return counted, held
}

// KeptSightings returns how many answers of the store are kept.
func (h *Handler) KeptSightings() int {
	return h.rosters.sightings.Len()
}

// KeepSightings sets how long an answer of the store is kept.
func (h *Handler) KeepSightings(age time.Duration) { h.rosters.sightings.Age = age }

// ParseMark and ParseMute read the bodies of requests.
func ParseMark(body []byte) (feed.Mark, error) { return parseMark(body) }
func ParseMute(body []byte) (feed.Mute, error) { return parseMute(body, time.Now()) }

// ParseSignal reads a signal in the body of a request, or in a message.
func ParseSignal(text []byte, inMessage bool) (presence.Topic, presence.Signal, error) {
	s, err := parseSignal(presence.Visitor{}, text, inMessage)
	return s.topic, s.Signal, err
}

// SocketFrame returns an event as a WebSocket carries it.
func SocketFrame(event presence.EventType, id presence.Cursor, data []byte) []byte {
	return frameSocket(nil, presence.Event{Type: event, ID: id, Data: data})
}

// ReadFrames reads the input of a WebSocket in pieces of a size. It returns a line for each
// message, control frame or error, and the largest number of bytes kept.
func ReadFrames(sent []byte, size int) (said []string, kept int) {
	f := frameReader{maxMessage: 4 << 10, rate: perSecond{limit: -1}}
	for piece := range slices.Chunk(sent, size) {
		for len(piece) > 0 {
			op, payload, rest, err := f.next(piece, time.Time{})
			kept = max(kept, len(f.head)+len(f.message)+len(f.control))
			if err != nil {
				return append(said, "error: "+err.Error()), kept
			}
			if op != ws.OpContinuation {
				said = append(said, fmt.Sprintf("%d %q", op, payload))
			}
			piece = rest
		}
	}
	return said, kept
}

// BreakStreams makes the streams panic that shards drive now, as soon as they speak.
func (h *Handler) BreakStreams() {
	for _, sh := range h.streams.shards.shards {
		sh.post(nil, func() {
			for _, s := range sh.streams {
				s.transport = broken{s.transport}
			}
		}, false)
	}
}

// broken is a transport that panics.
type broken struct{ transport }

func (broken) form() *track.Form                             { panic("a test breaks it") }
func (broken) appendEnd([]byte, error, time.Duration) []byte { panic("a test breaks it") }

// Phases are those of a stream that a shard drives.
var Phases = []string{"open", "waiting", "ending", "gone"}

// MovePhase reports whether a stream may move from one of the Phases to another.
func MovePhase(from, to int) (ok bool) {
	defer func() { ok = recover() == nil }()
	s := &shardStream{phase: phase(from)}
	s.move(phase(to))
	return s.phase == phase(to)
}

// KeptTypeSets returns how many sets of types are kept.
func (h *Handler) KeptTypeSets() int {
	h.streams.types.mu.Lock()
	defer h.streams.types.mu.Unlock()
	return len(h.streams.types.sets)
}

// FormFor returns how a page writes its events over Server-Sent Events, by its query.
func (h *Handler) FormFor(query string, offered ...string) (*track.Form, error) {
	r := &http.Request{ProtoMajor: 1, URL: &url.URL{RawQuery: query}, Header: http.Header{"Sec-Websocket-Protocol": offered}}
	q := h.site.query(r, presence.Visitor{})
	return q.types(h.streams.types).form(formSSE), q.err
}

// ReadAs returns an event's data as a page reads it that says types.
func (h *Handler) ReadAs(types string, e presence.Event) ([]byte, error) {
	set, err := h.streams.types.parse(types)
	if err != nil || set == nil {
		return e.Data, err
	}
	return set.read(e), nil
}
