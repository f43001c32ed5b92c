package handlers_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
)

// A topic over the roster limit sends counts until it is clearly below, on every
// transport. A client that connects meanwhile gets a truncated state. The pages of the
// roster list all users.
func TestLargeTopic(t *testing.T) {
	over(t, allTransports, func(t *testing.T, over transport) {
		s := newSite(t, setup{presence: track.Config{MaxRoster: 20}})
		come := func(from, to int) {
			for i := from; i <= to; i++ {
				s.tracker.Seen("site", presence.User{ID: presence.UserID(fmt.Sprintf("u%02d", i))}, presence.Device{})
			}
			time.Sleep(2 * time.Second)
		}
		told := s.follow(over, "observe=1&limit=5", "").started(1).feed()
		// last returns the latest event but heartbeats, and how many of each type came.
		last := func() (event, map[string]int) {
			t.Helper()
			time.Sleep(3 * time.Second)
			var last event
			n := make(map[string]int)
			for len(told) > 0 {
				if e := <-told; e.typ != "heartbeat" && e.typ != "welcome" {
					last = e
					n[e.typ]++
				}
			}
			return last, n
		}
		want := func(typ string, total int, others ...string) event {
			t.Helper()
			e, n := last()
			if e.typ != typ || e.data.Total != total {
				t.Errorf("got %s of %d, want %s of %d", e.typ, e.data.Total, typ, total)
			}
			for _, other := range others {
				if n[other] > 0 {
					t.Errorf("got %v up to a %s of %d, want no %s", n, typ, total, other)
				}
			}
			return e
		}
		come(1, 20)
		want("diff", 20, "state", "count")
		come(21, 22)
		want("count", 22, "state", "diff")

		late := s.follow(over, "observe=1&limit=5", "")
		e, _ := late.next()
		for e.typ == "welcome" || e.typ == "heartbeat" {
			e, _ = late.next()
		}
		if d := e.data; e.typ != "state" || d.Total != 22 || len(d.Users) != 5 || !d.Truncated {
			t.Errorf("who comes now: got a %s of %d in %d, truncated %v, want a state of 5 in 22, true", e.typ, len(d.Users), d.Total, d.Truncated)
		}
		var all []string
		for after, more := "", true; more; more = after != "" {
			p := s.roster("limit=5&after=" + url.QueryEscape(after))
			all, after = append(all, p.Order...), p.Next
		}
		if len(all) != 22 || all[0] == all[21] {
			t.Errorf("got %q on the pages, want all 22", all)
		}

		leave := func(from, to int) {
			for i := from; i <= to; i++ {
				noError(t, s.tracker.SignOut(t.Context(), presence.UserID(fmt.Sprintf("u%02d", i))))
			}
		}
		leave(1, 4)
		want("count", 18, "state", "diff") // a tenth below
		leave(5, 5)
		if e := want("state", 17, "diff"); len(e.data.Users) != 5 || !e.data.Truncated {
			t.Errorf("small again: got %d users, truncated %v, want 5, true", len(e.data.Users), e.data.Truncated)
		}
		come(1, 1)
		want("diff", 18, "state", "count")
	})
}

// manyOnline is a store in which very many are online from the start.
type manyOnline struct {
	backend.Store
	n int
}

func (m manyOnline) Snapshot(ctx context.Context, topic presence.Topic) (backend.Snapshot, error) {
	if topic != presence.Site {
		return m.Store.Snapshot(ctx, topic)
	}
	s := backend.Snapshot{ID: "m-0", Members: make([]presence.Member, m.n)}
	begin := time.Now()
	for i := range s.Members {
		id := fmt.Sprintf("user%07d", i)
		s.Members[i] = presence.Member{
			User:  presence.User{ID: presence.UserID(id), Name: "User " + id, Status: presence.Online, Avatar: "/a/" + id},
			Since: begin.Add(-time.Duration(i) * time.Millisecond),
		}
	}
	return s, nil
}

func (m manyOnline) Log(context.Context, presence.Topic, presence.DiffID) ([]backend.Diff, error) {
	return nil, nil
}

// BenchmarkMillion pages through a topic of a million users, and reports their memory.
func BenchmarkMillion(b *testing.B) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	tracker, err := track.New(manyOnline{memstore.New(), 1_000_000}, track.Config{})
	noError(b, err)
	defer tracker.Close(context.Background())
	ctx, cancel := context.WithTimeout(b.Context(), time.Minute)
	defer cancel()
	view, err := tracker.View(ctx, presence.Site)
	if err != nil || view.Total != 1_000_000 {
		b.Fatalf("got %v, want a million", err)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	h := handlers.New(tracker, handlers.Config{})
	_, middle, err := view.Page("", "", 500_000)
	noError(b, err)
	for b.Loop() {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/presence/roster?limit=100&after="+url.QueryEscape(middle), nil))
		if w.Code != http.StatusOK {
			b.Fatalf("got status %d", w.Code)
		}
	}
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/(1<<20), "MB")
}
