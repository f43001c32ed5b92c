package presencetest

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"pgregory.net/rapid"
)

// Model plays random games with a store: batches of every kind of operation,
// sweeps, ageing, trimming, repetitions, and time that passes. After each move
// it compares the store with an oracle, and with the roster that the diffs since the
// beginning make. A game that fails is made as short as possible and printed with its
// seed.
//
// Package rapid plays it, and its flags say how long: -rapid.checks=100 games of
// -rapid.steps=30 moves on average, from -rapid.seed. A hundred games take a
// store in memory a tenth of a second.
//
// In the end it plays the games that once failed.
func Model(t *testing.T, h Harness) {
	rapid.Check(t, func(rt *rapid.T) {
		var moves []move
		rt.Repeat(map[string]func(*rapid.T){"move": func(rt *rapid.T) {
			moves = append(moves, randomMove(func(n int) int {
				return rapid.IntRange(0, n-1).Draw(rt, "pick")
			}))
		}})
		if err := h.play(t, moves, func(int, string) error { return nil }); err != nil {
			rt.Fatal(err)
		}
	})
	for name, moves := range knownGames() {
		if err := h.play(t, moves, func(int, string) error { return nil }); err != nil {
			t.Fatalf("known game, %s: %v", name, err)
		}
	}
}

// Compare plays one game of so many moves with two kinds of store, one after
// the other, and fails at the first move after which they differ, or after which
// either differs from the oracle of [Model]. The same seed is the same game.
func Compare(t *testing.T, a, b Harness, steps int, seed uint64) {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 0))
	moves := make([]move, steps)
	for i := range moves {
		moves[i] = randomMove(random.IntN)
	}
	views := make([]string, steps)
	err := a.play(t, moves, func(i int, view string) error {
		views[i] = view
		return nil
	})
	if err != nil {
		t.Fatalf("seed %d, first store: %v", seed, err)
	}
	err = b.play(t, moves, func(i int, view string) error {
		if view != views[i] {
			return fmt.Errorf("got %s\nwant, as the first store has it, %s", view, views[i])
		}
		return nil
	})
	if err != nil {
		t.Fatalf("seed %d, second store: %v", seed, err)
	}
}

// play plays a game with a fresh store. After each move it calls observe with the state
// that the store reports.
func (h Harness) play(t *testing.T, moves []move, observe func(i int, view string) error) (err error) {
	h.wrap(t, func(t *testing.T) {
		var b *board
		if b, err = newBoard(t, h); err != nil {
			return
		}
		for i, m := range moves {
			var view string
			if view, err = b.move(m); err == nil {
				err = observe(i, view)
			}
			if err != nil {
				err = fmt.Errorf("%w\nafter move %d of\n%s", err, i+1, listing(moves[max(0, i-60):i+1]))
				return
			}
		}
		err = b.finish()
	})
	return err
}

func listing(moves []move) string {
	var b strings.Builder
	for _, m := range moves {
		fmt.Fprintf(&b, "\t%s\n", m)
	}
	return b.String()
}

// A board is a game in progress: a store, and an oracle and a follower for each
// topic.
type board struct {
	*testing.T
	h      Harness
	store  backend.Store // by Harness.New
	start  time.Time     // the store's
	topics [len(gameTopics)]square
}

type square struct {
	name presence.Topic
	*oracle
	*follower
}

func newBoard(t *testing.T, h Harness) (*board, error) {
	tr := newTrial(t, h)
	b := &board{T: t, h: h, store: tr.store, start: tr.now()}
	for i, name := range gameTopics {
		f, err := follow(t, tr.store, tr.peer, name)
		if err != nil {
			return nil, err
		}
		b.topics[i] = square{name, newOracle(gameKeeps[i], b.start), f}
	}
	return b, nil
}

func (b *board) finish() error {
	for _, s := range b.topics {
		if err := s.finish(b.Context()); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

// move plays a move, compares, and returns the state that the store reports.
func (b *board) move(m move) (view string, err error) {
	most := 1000 // diffs in each topic: a store may sweep when it likes
	var told []int
	switch m.kind {
	case applies:
		if slices.ContainsFunc(m.ops, b.square(m.topic).sparesExpired) { // a store may have swept them, or not
			if _, err := b.move(move{kind: sweeps}); err != nil {
				return "", err
			}
		}
		told, err = b.apply(m)
	case passes:
		b.h.Advance(b.store, m.by)
		for _, s := range b.topics {
			s.now += m.by
		}
		_, err = b.store.Age(b.Context(), gamePeriod)
	case sweeps:
		err = b.sweep()
	case ages:
		_, err = b.store.Age(b.Context(), gamePeriod)
	case trims:
		for _, s := range b.topics {
			s.trim(gameKeep)
		}
		_, err = b.store.Trim(b.Context(), gameKeep, 1000)
	}
	if err != nil {
		return "", err
	}
	view = fmt.Sprintf("unknown %v", told)
	for _, s := range b.topics {
		if m.kind == applies {
			most = 0
			if m.topic == s.name {
				most = 1
			}
		}
		s.stepped = m.kind == applies && m.topic == s.name
		seen, err := b.compare(s, most)
		if err != nil {
			return "", fmt.Errorf("%s: %w", s.name, err)
		}
		view += fmt.Sprintf("; %s: %s", s.name, seen)
	}
	return view, nil
}

func (b *board) sweep() error {
	for _, s := range b.topics {
		s.sweep(func(*person) bool { return true })
	}
	_, err := sweep(b.Context(), b.store, 3)
	return err
}

func (b *board) square(topic presence.Topic) square {
	return b.topics[slices.Index(gameTopics[:], topic)]
}

// apply plays a batch, and once more if the answer was lost and rule 12 applies.
func (b *board) apply(m move) (unknown []int, err error) {
	s := b.square(m.topic)
	ops := make([]backend.Op, len(m.ops))
	twice := m.twice
	s.begin()
	for i, op := range m.ops {
		ops[i] = s.legal(op)
		if found := s.oracle.apply(ops[i]); !found {
			twice = false // the repetition may find a lease that a later operation of the batch made
			if renews(ops[i]) {
				unknown = append(unknown, i)
			}
		}
	}
	twice = twice && s.repeatable(ops)
	for _, op := range ops {
		if op.Kind != backend.OpHeartbeat { // which does not sweep
			s.settle(op.User.ID)
		}
	}
	batches := []backend.Batch{{Topic: m.topic, Ops: ops, Keep: s.keep}}
	results := b.store.Apply(b.Context(), batches)
	if len(results) != 1 || results[0].Err != nil {
		return nil, fmt.Errorf("apply: got %+v, want one result without an error", results)
	}
	if got := slices.Sorted(slices.Values(results[0].Unknown)); !slices.Equal(got, unknown) {
		return nil, fmt.Errorf("unknown heartbeats are %v, want %v", got, unknown)
	}
	if twice {
		b.store.Apply(b.Context(), batches)
	}
	return unknown, nil
}

// sparesExpired reports whether an operation is of a user with an expired lease, and leaves it
// to a sweep (rule 5). A heartbeat finds nothing either way.
func (s square) sparesExpired(op backend.Op) bool {
	switch op.Kind {
	case backend.OpFollow, backend.OpAttend, backend.OpRelease, backend.OpDrop, backend.OpUpdate:
	default:
		return false
	}
	p := s.people[op.User.ID]
	if p == nil {
		return false
	}
	for _, lease := range p.leases {
		if lease.until <= s.now {
			return true
		}
	}
	return false
}

// renews reports whether an operation renews a lease that must be there.
func renews(op backend.Op) bool {
	return op.Kind == backend.OpHeartbeat || op.Kind == backend.OpFollow || op.Kind == backend.OpAttend
}

// legal changes an operation whose effect the rules leave open.
func (s square) legal(op backend.Op) backend.Op {
	if op.User.ID == "" {
		return op
	}
	p := s.look(op)
	lease, live := p.leases[op.Holder]
	live = live && lease.until > s.now
	if op.Kind == backend.OpJoin && live && p.leases[presence.HolderWeb].order > lease.order {
		op.Kind = backend.OpHeartbeat // after a page view, the rules leave open which of the two came first
	}
	if (op.Kind == backend.OpJoin || op.Kind == backend.OpSeen) && len(p.leases) == 0 {
		op.User.Status = cmp.Or(op.User.Status, presence.Online) // a lapsed user's status is known until a sweep
	}
	if op.Kind == backend.OpSignOut || op.Kind == backend.OpSignOff {
		if op.User.Status == "" {
			op.User.Status, op.User.Rev = p.Status, p.Rev
		} // as nodes say it: a store that swept the user does not know who was invisible
	}
	if renews(op) && live { // a holder renews for as long as it joined, or less
		if op.For = min(op.For, lease.length); p.lapsesWith(op.Holder, s.now+op.For) {
			return backend.Op{Kind: backend.OpUpdate, User: presence.User{ID: p.ID}} // which does nothing
		}
		return op
	}
	for p.lapsesWith(op.Holder, s.now+op.For) {
		op.For += 2 * time.Millisecond // of two that lapse together, the rules leave open which was last
	}
	return op
}

// look returns a copy of the user of an operation, without expired leases. A heartbeat, which an
// operation may become, does not end those.
func (s square) look(op backend.Op) *person {
	p := person{User: presence.User{ID: op.User.ID}}
	if known := s.people[op.User.ID]; known != nil {
		p = *known
	}
	p.leases = maps.Clone(p.leases)
	if op.Kind != backend.OpHeartbeat {
		p.lapse(s.now)
	}
	return &p
}

// lapsesWith reports whether another connection of the user expires at the same moment.
func (p *person) lapsesWith(holder presence.Holder, until time.Duration) bool {
	for h, lease := range p.leases {
		if h != holder && h.IsConnection() && lease.until == until {
			return true
		}
	}
	return false
}
