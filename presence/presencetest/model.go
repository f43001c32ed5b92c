package presencetest

import (
	"cmp"
	"fmt"
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
// It also plays what one user did in any order, with repetitions, and in the end the games
// that once failed.
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
	orders(t, h)
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

// move plays a move, and a batch once more if its answer was lost. It returns the state that the store reports.
func (b *board) move(m move) (view string, err error) {
	m.ops = slices.Clone(m.ops)
	view, sure, err := b.turn(m, false)
	if err != nil || !m.twice {
		return view, err
	}
	again, _, err := b.turn(m, true)
	if err == nil && again != view && sure && repeatable(m.ops) {
		err = fmt.Errorf("after the repetition it is %s\nwant it unchanged, %s (rule 12)", again, view)
	}
	return again, err
}

// turn plays a move once, and compares. sure reports whether each operation found what it renews or updates.
func (b *board) turn(m move, again bool) (view string, sure bool, err error) {
	switch m.kind {
	case applies:
		if slices.ContainsFunc(m.ops, b.square(m.topic).sparesExpired) { // a store may have swept them, or not
			if _, _, err := b.turn(move{kind: sweeps}, false); err != nil {
				return "", false, err
			}
		}
		sure, err = b.apply(m, again)
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
		return "", false, err
	}
	for _, s := range b.topics {
		most := 1000 // diffs in each topic: a store may sweep when it likes
		if s.stepped = m.kind == applies && m.topic == s.name; s.stepped {
			most = 1
		} else if m.kind == applies {
			most = 0
		}
		seen, err := b.compare(s, most)
		if err != nil {
			return "", false, fmt.Errorf("%s: %w", s.name, err)
		}
		view += fmt.Sprintf("%s: %s; ", s.name, seen)
	}
	return view, sure, nil
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

// apply plays a batch. The first time it makes the operations legal.
func (b *board) apply(m move, again bool) (sure bool, err error) {
	s, unknown := b.square(m.topic), []int(nil)
	sure = true
	for i := range m.ops {
		if !again {
			m.ops[i] = s.legal(m.ops[i])
		}
		s.limit(&m.ops[i])
		found := s.oracle.apply(m.ops[i])
		sure = sure && found
		if !found && renews(m.ops[i]) {
			unknown = append(unknown, i)
		}
	}
	for _, op := range m.ops {
		if op.Kind != backend.OpHeartbeat { // which does not sweep
			s.settle(op.User.ID)
		}
	}
	results := b.store.Apply(b.Context(), []backend.Batch{{Topic: m.topic, Ops: m.ops, Keep: s.keep}})
	if len(results) != 1 || results[0].Err != nil {
		return false, fmt.Errorf("apply: got %+v, want one result without an error", results)
	}
	if got := slices.Sorted(slices.Values(results[0].Unknown)); !slices.Equal(got, unknown) {
		return false, fmt.Errorf("unknown heartbeats are %v, want %v", got, unknown)
	}
	return sure, nil
}

// repeatable reports whether a batch is clearly none of the first three exceptions of rule 12.
func repeatable(ops []backend.Op) bool {
	is := func(op backend.Op, kinds ...backend.OpKind) bool { return slices.Contains(kinds, op.Kind) }
	for i, a := range ops {
		for j, b := range ops {
			signsOut, comes := is(a, backend.OpSignOut, backend.OpSignOff), is(b, backend.OpJoin, backend.OpKeep)
			changes := comes || is(b, backend.OpRelease, backend.OpDrop)
			ends := signsOut || is(a, backend.OpRelease, backend.OpDrop)
			older := is(b, backend.OpSeen) && b.Ago > 0 || is(b, backend.OpJoin, backend.OpSeen, backend.OpUpdate) && b.User.Status != ""
			if a.User.ID == b.User.ID && (signsOut && changes && i < j || is(a, backend.OpRelease) && comes || ends && older) {
				return false
			}
		}
	}
	return true
}

// sparesExpired reports whether an operation is of a user with an expired lease, and leaves it to a sweep (rule 5). A
// heartbeat or keep finds nothing either way. A page view that is written late ends it, but a store may know or not that the
// user was hidden, and has turned visible now.
func (s square) sparesExpired(op backend.Op) bool {
	spares := []backend.OpKind{backend.OpRelease, backend.OpDrop, backend.OpUpdate}
	late := op.Kind == backend.OpSeen && op.Ago > 0
	p := s.people[op.User.ID]
	return (late || slices.Contains(spares, op.Kind)) && p != nil && p.holds(func(_ presence.Holder, lease hold) bool { return lease.until <= s.now })
}

// limit takes from a heartbeat what is over the length of its lease, which may be one that a shorter keep made: such a
// heartbeat is left open (rule 7).
func (s square) limit(op *backend.Op) {
	if p := s.people[op.User.ID]; p != nil && op.Kind == backend.OpHeartbeat {
		if lease, there := p.leases[op.Holder]; there {
			op.For = min(op.For, lease.length)
		}
	}
}

// renews reports whether an operation renews a lease that must be there.
func renews(op backend.Op) bool {
	return op.Kind == backend.OpHeartbeat || op.Kind == backend.OpKeep
}

// legal completes an operation whose effect the rules leave open: a lapsed user's status is known until a sweep.
func (s square) legal(op backend.Op) backend.Op {
	p := cmp.Or(s.people[op.User.ID], &person{})
	switch op.Kind {
	case backend.OpJoin, backend.OpSeen:
		if !p.holds(func(_ presence.Holder, lease hold) bool { return lease.until > s.now }) {
			op.User.Status = cmp.Or(op.User.Status, presence.Online)
		}
	case backend.OpSignOut, backend.OpSignOff:
		if op.User.Status == "" { // as nodes say it
			op.User.Status, op.User.Rev = p.Status, p.Rev
		}
	}
	return op
}
