// Package site is a whole site with presence as a process of its own: where what
// is shown needs the tracker, its jobs and several topics, and not one stream of
// changes that every server could send.
package site

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"time"

	"github.com/rollcall-go/rollcall/bench/internal/diff"
	"github.com/rollcall-go/rollcall/bench/internal/hist"
	"github.com/rollcall-go/rollcall/bench/internal/usage"
	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/jobs"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
)

// A Site is the process. Its methods are called over net/rpc.
type Site struct {
	goroutines int // before it began
	store      backend.Store
	tracker    *track.Tracker
	runner     *jobs.Runner
	streams    *handlers.Handler
	server     http.Server
	topics     []presence.Topic
}

// Begin says what kind of site it is.
type Begin struct {
	Merge, Grace time.Duration // as those of track.Config
	RosterLimit  int
	Topics       int // thread:0 and so on
}

// Listen makes the site, and returns where it listens.
func (s *Site) Listen(b Begin, addr *string) error {
	s.goroutines = runtime.NumGoroutine()
	for i := range b.Topics {
		s.topics = append(s.topics, presence.Topic(fmt.Sprint("thread:", i)))
	}
	s.store = memstore.New()
	var err error
	if s.tracker, err = track.New(s.store, track.Config{MergeWindow: b.Merge, Grace: b.Grace, MaxRoster: b.RosterLimit}); err != nil {
		return err
	}
	if s.runner, err = jobs.Start(s.tracker, jobs.Config{}); err != nil {
		return err
	}
	s.streams = handlers.New(s.tracker, handlers.Config{
		MaxConnectionsPerAddress: -1, MaxConnections: -1, MaxRate: -1,
		Authorize: func(*http.Request, presence.Visitor, presence.Topic) bool { return true },
	})
	s.server.Handler = s.streams.Beats(identify(s.streams))
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go s.server.Serve(l)
	*addr = l.Addr().String()
	return nil
}

// identify is the site's login: who says user=x is x.
func identify(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := presence.Visitor{User: presence.User{ID: presence.UserID(r.URL.Query().Get("user"))}}
		next.ServeHTTP(w, r.WithContext(presence.ContextWithVisitor(r.Context(), v)))
	})
}

// Usage reports what the process uses.
func (s *Site) Usage(collect bool, u *usage.Usage) (err error) {
	*u, err = usage.Now(collect)
	st := s.tracker.Stats()
	u.Stats = map[string]float64{
		"connections": float64(st.Connections), "resyncs": float64(st.Resyncs),
		"frames": float64(st.DiffsPublished), "merged": float64(st.DiffsMerged),
	}
	return err
}

// Fill lets n users come to the first topic at once, as from another node.
func (s *Site) Fill(n int, took *time.Duration) error {
	const batch = 1000
	begin := time.Now()
	for first := 0; first < n; first += batch {
		var ops []backend.Op
		for user := first; user < min(n, first+batch); user++ {
			ops = append(ops, join(user, time.Now()))
		}
		if err := s.apply(s.topics[0], ops); err != nil {
			return err
		}
	}
	*took = time.Since(begin)
	return nil
}

// join is that of another node, with a new name.
func join(user int, now time.Time) backend.Op {
	return backend.Op{
		Kind: backend.OpJoin, Holder: presence.Holder(fmt.Sprint("elsewhere.", user)), For: time.Hour,
		User: presence.User{ID: presence.UserID(diff.ID(user)), Name: diff.Name(now)},
	}
}

func (s *Site) apply(topic presence.Topic, ops []backend.Op) error {
	return s.store.Apply(context.Background(), []backend.Batch{{Topic: topic, Ops: ops}})[0].Err
}

// Look loads the first topic, as a page that shows it does, and returns how many
// are in it.
func (s *Site) Look(_ struct{}, total *int) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	v, err := s.tracker.View(ctx, s.topics[0])
	if err == nil {
		*total = v.Total
	}
	return err
}

// Trickle lets users who are there change their names, one at a time, and returns
// how long the store and this node took over each.
func (s *Site) Trickle(n int, took *hist.Hist) error {
	for user := range n {
		begin := time.Now()
		if err := s.apply(s.topics[0], []backend.Op{join(user, begin)}); err != nil {
			return err
		}
		took.Add(time.Since(begin))
	}
	return nil
}

// Stop ends the site as a deploy does, and returns how many goroutines are left
// of it.
func (s *Site) Stop(_ struct{}, left *int) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	s.runner.Stop()
	if err := s.tracker.Close(ctx); err != nil {
		return fmt.Errorf("closing the tracker: %w", err)
	}
	if err := s.streams.Wait(ctx); err != nil {
		return fmt.Errorf("waiting for the streams: %w", err)
	}
	if err := s.server.Shutdown(ctx); err != nil {
		return fmt.Errorf("closing the server: %w", err)
	}
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		*left = runtime.NumGoroutine() - s.goroutines
		if *left <= 1 || time.Now().After(end) { // one is this call's
			*left = max(0, *left-1)
			return nil
		}
	}
}
