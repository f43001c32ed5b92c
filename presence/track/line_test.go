package track_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
)

// A tally is a LineVersion: a number that is its name. A blank one has no state in memory.
type tally struct {
	n            int
	blank, stale bool
}

func (v tally) version() track.LineVersion {
	w := track.LineVersion{
		ID: presence.DiffID("v" + strconv.Itoa(v.n)), Stale: v.stale, Since: v.since,
		Waiting: []byte(`"waiting"`), Heartbeat: fmt.Appendf(nil, `"beat %d %t"`, v.n, v.stale),
	}
	if !v.blank {
		w.State = func() []byte { return fmt.Appendf(nil, `"state %d"`, v.n) }
	}
	return w
}

func (v tally) since(have presence.DiffID) ([]byte, bool) {
	n, err := strconv.Atoi(strings.TrimPrefix(string(have), "v"))
	switch {
	case err != nil || have == track.NoVersion || n > v.n || n < v.n-2:
		return nil, false
	case n == v.n:
		return nil, true
	}
	return fmt.Appendf(nil, `"from %d to %d"`, n, v.n), true
}

// tallies is a LineSource of one line, which it makes at the first Open.
type tallies struct {
	tracker *track.Tracker
	first   tally
	line    *track.Line
	wanted  int

	mu    sync.Mutex
	heard []string
}

func (s *tallies) Open(_ context.Context, topic presence.Topic, v presence.Visitor, have presence.DiffID) (*track.Line, error) {
	if !v.SignedIn() {
		return nil, presence.ErrGuest
	}
	if s.line == nil {
		s.line = s.tracker.NewLine(topic, s.first.version(), func() { s.wanted++ })
	}
	return s.line, nil
}

func (s *tallies) Hear(node, hint string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heard = append(s.heard, node+": "+hint)
}

func serveTallies(t *testing.T, store backend.Store, name string, first tally) *tallies {
	t.Helper()
	tracker := start(t, store, track.Config{Node: name})
	s := &tallies{tracker: tracker, first: first}
	noError(t, tracker.Serve(s, "tally"))
	return s
}

func (s *tallies) open(t *testing.T, from presence.Cursor) *track.Connection {
	t.Helper()
	c, err := s.tracker.Connect(t.Context(), track.ConnectOptions{
		Visitor: presence.Visitor{User: presence.User{ID: "alice"}}, Topics: []presence.Topic{"tally"}, Cursor: from,
	})
	noError(t, err)
	t.Cleanup(c.Close)
	return c
}

func wantData(t *testing.T, what string, c *track.Connection, want ...string) {
	t.Helper()
	synctest.Wait()
	var got []string
	for _, e := range c.Events(nil) {
		got = append(got, string(e.Type)+" "+string(e.Data))
	}
	if strings.Join(got, "; ") != strings.Join(want, "; ") {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

// A Line gives its versions to readers as rosters do.
func TestLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serveTallies(t, memstore.New(), "a", tally{n: 1})
		c := s.open(t, "")
		wantData(t, "at first", c, `state "state 1"`)
		at := c.Cursor()
		s.line.Publish(tally{n: 2}.version(), []byte(`"diff 2"`))
		s.line.Publish(tally{n: 3}.version(), []byte(`"diff 3"`))
		wantData(t, "two versions", c, `diff "diff 2"`, `diff "diff 3"`)
		wantData(t, "resumed", s.open(t, at), `diff "from 1 to 3"`)
		s.line.Restate(tally{n: 3, stale: true}.version())
		wantData(t, "stale", c, `heartbeat "beat 3 true"`)
		s.line.Replace(tally{n: 7}.version())
		wantData(t, "replaced", c, `state "state 7"`)
		wantData(t, "too old", s.open(t, at), `state "state 7"`)
	})
}

// A reader whose state is not in memory waits. It has no version until then, and no diff.
func TestLineWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serveTallies(t, memstore.New(), "a", tally{n: 1, blank: true})
		c := s.open(t, "")
		wantData(t, "at first", c, `heartbeat "waiting"`)
		if s.wanted != 1 {
			t.Errorf("got %d calls of wanted, want 1", s.wanted)
		}
		lost := c.Cursor()
		s.line.Publish(tally{n: 2, blank: true}.version(), []byte(`"diff 2"`))
		s.line.Restate(tally{n: 2, blank: true, stale: true}.version())
		wantData(t, "while it waits", c)
		if beats := c.Heartbeats(nil); len(beats) != 1 || string(beats[0].Data) != `"waiting"` || beats[0].ID != lost {
			t.Errorf("got the heartbeats %v, want one that waits", beats)
		}
		s.line.Replace(tally{n: 2}.version())
		wantData(t, "then", c, `state "state 2"`)
		wantData(t, "who left before", s.open(t, lost), `state "state 2"`)
		s.line.Forget()
		s.line.Publish(tally{n: 3}.version(), []byte(`"diff 3"`))
		wantData(t, "after Forget", c, `diff "diff 3"`)
	})
}

// Hints reach the sources of all nodes, and a kind has one source.
func TestSourceHears(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		a, b := serveTallies(t, store, "a", tally{}), serveTallies(t, store, "b", tally{})
		noError(t, a.tracker.Hint(t.Context(), "look here"))
		time.Sleep(time.Millisecond)
		for _, s := range []*tallies{a, b} {
			s.mu.Lock()
			if got := strings.Join(s.heard, ";"); got != "a: look here" {
				t.Errorf("got %q, want the hint of a", got)
			}
			s.mu.Unlock()
		}
		if err := a.tracker.Serve(b, "other", "tally"); !errors.Is(err, presence.ErrInvalidConfig) {
			t.Errorf("a kind twice: got %v, want ErrInvalidConfig", err)
		}
		if a.tracker.Serves("other:1") || !a.tracker.Serves("tally:1") {
			t.Error("got the wrong kinds")
		}
		_, err := a.tracker.Connect(t.Context(), track.ConnectOptions{Visitor: presence.Visitor{Guest: "g"}, Topics: []presence.Topic{"tally"}})
		if !errors.Is(err, presence.ErrGuest) {
			t.Errorf("a guest: got %v, want ErrGuest", err)
		}
	})
}
