package peers

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/bench/internal/diff"
	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
)

// Ours, over each of its transports. A reader is a guest, or with user= in the
// path a user who is held online.
var (
	oursSSE = Peer{Name: "rollcall SSE", Path: "/presence/events?topic=site&limit=1", Merges: true,
		New: func(o Options) (Server, error) { return newOurs(o, nil) }}
	oursWS = Peer{Name: "rollcall WS", Path: "/presence/ws?topic=site&limit=1", Framing: WebSocket, Merges: true,
		New: func(o Options) (Server, error) { return newOurs(o, nil) }}
	oursPlain = Peer{Name: "rollcall SSE (no hijack)", Path: oursSSE.Path, Merges: true,
		New: func(o Options) (Server, error) { return newOurs(o, withoutHijack) }}
	oursHTTP2 = Peer{Name: "rollcall SSE (HTTP/2)", Path: oursSSE.Path, Framing: HTTP2, Merges: true,
		New: func(o Options) (Server, error) {
			s, err := newOurs(o, nil)
			if err == nil {
				s.server.Protocols = new(http.Protocols)
				s.server.Protocols.SetUnencryptedHTTP2(true)
			}
			return s, err
		}}
)

var oursUsers = Peer{Name: "rollcall SSE (users)", Path: oursSSE.Path + "&user=reader-{n}", Merges: true, Users: true, New: oursSSE.New}

// ours is a site with presence. What happens is written to the store as another
// node of a fleet would do it, so this one hears of it in the way it always does.
type ours struct {
	httpServer
	store   backend.Store
	tracker *track.Tracker
	padding json.RawMessage
}

func newOurs(o Options, wrap func(http.Handler) http.Handler) (*ours, error) {
	merge := o.Merge
	if merge == 0 {
		merge = -1 // every diff is a frame
	}
	s := &ours{store: memstore.New()}
	if o.Padding > 0 {
		s.padding = json.RawMessage(`"` + strings.Repeat("x", o.Padding) + `"`)
	}
	var err error
	if s.tracker, err = track.New(s.store, track.Config{MergeWindow: merge, MaxRoster: -1}); err != nil {
		return nil, err
	}
	var h http.Handler = handlers.New(s.tracker, handlers.Config{MaxConnectionsPerAddress: -1, MaxConnections: -1, MaxRate: -1})
	if wrap != nil {
		h = wrap(h)
	}
	s.server.Handler, s.server.ConnContext = identify(h), handlers.ConnContext
	for user := range diff.Crowd {
		s.apply(batch(s.join(user, time.Now())))
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_, err = s.tracker.View(ctx, presence.Site)
	return s, err
}

// identify is the site's login: who says user=x is x.
func identify(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := presence.Visitor{User: presence.User{ID: presence.UserID(r.URL.Query().Get("user"))}}
		next.ServeHTTP(w, r.WithContext(presence.ContextWithVisitor(r.Context(), v)))
	})
}

func (s *ours) Publish(first, end int) {
	batches := make([]backend.Batch, 0, end-first)
	now := time.Now()
	for n := first; n < end; n++ {
		op := s.leave(diff.User(n))
		if diff.IsJoin(n) {
			op = s.join(diff.User(n), now)
		}
		batches = append(batches, batch(op))
	}
	s.apply(batches...)
}

func batch(op backend.Op) backend.Batch {
	return backend.Batch{Topic: presence.Site, Ops: []backend.Op{op}}
}

func (s *ours) apply(batches ...backend.Batch) {
	for _, r := range s.store.Apply(context.Background(), batches) {
		if r.Err != nil {
			panic(r.Err) // the memory store has no errors
		}
	}
}

func (s *ours) join(user int, at time.Time) backend.Op {
	u := presence.User{ID: presence.UserID(diff.ID(user)), Name: diff.Name(at), Data: s.padding}
	return backend.Op{Kind: backend.OpJoin, User: u, Holder: holder(user), For: time.Hour}
}

func (s *ours) leave(user int) backend.Op {
	return backend.Op{Kind: backend.OpRelease, User: presence.User{ID: presence.UserID(diff.ID(user))}, Holder: holder(user)}
}

func holder(user int) presence.Holder { return presence.Holder("elsewhere." + strconv.Itoa(user)) }

func (s *ours) Stats() map[string]float64 {
	st := s.tracker.Stats()
	return map[string]float64{"resync states": float64(st.Resyncs), "frames": float64(st.DiffsPublished)}
}

// withoutHijack stands for middleware whose writer can flush and cannot be
// hijacked.
func withoutHijack(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(noHijack{w, http.NewResponseController(w)}, r)
	})
}

type noHijack struct {
	http.ResponseWriter
	control *http.ResponseController
}

func (w noHijack) FlushError() error                  { return w.control.Flush() }
func (w noHijack) SetWriteDeadline(t time.Time) error { return w.control.SetWriteDeadline(t) }
func (w noHijack) SetReadDeadline(t time.Time) error  { return w.control.SetReadDeadline(t) }
