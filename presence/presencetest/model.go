package presencetest

import (
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
// It also tells what nodes know of a user in any order, with repetitions.
func Model(t *testing.T, h Harness) {
	t.Run("games", func(t *testing.T) {
		rapid.Check(t, func(rt *rapid.T) {
			deal := newDealer(func(n int) int { return rapid.IntRange(0, n-1).Draw(rt, "pick") })
			var moves []move
			rt.Repeat(map[string]func(*rapid.T){"move": func(*rapid.T) { moves = append(moves, deal.move()) }})
			if err := h.play(t, moves, func(int, string) error { return nil }); err != nil {
				rt.Fatal(err)
			}
		})
	})
	t.Run("orders", func(t *testing.T) { orders(t, h) })
}

// Compare plays one game of so many moves with two kinds of store, one after
// the other, and fails at the first move after which they differ, or after which
// either differs from the oracle of [Model]. The same seed is the same game.
func Compare(t *testing.T, a, b Harness, steps int, seed uint64) {
	t.Helper()
	deal := newDealer(rand.New(rand.NewPCG(seed, 0)).IntN)
	moves := make([]move, steps)
	for i := range moves {
		moves[i] = deal.move()
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
	if m.kind == applies && slices.ContainsFunc(m.ops, b.square(m.topic).openTo) {
		if _, err := b.turn(move{kind: sweeps}); err != nil {
			return "", err
		}
	}
	view, err = b.turn(m)
	if err != nil || !m.twice {
		return view, err
	}
	again, err := b.turn(m)
	if err == nil && again != view {
		err = fmt.Errorf("after the repetition it is %s\nwant it unchanged, %s (rule 3)", again, view)
	}
	return again, err
}

// turn plays a move once, and compares.
func (b *board) turn(m move) (view string, err error) {
	switch m.kind {
	case applies:
		err = b.apply(m)
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
	for _, s := range b.topics {
		most := 1000 // diffs in each topic: a store may sweep when it likes
		if s.stepped = m.kind == applies && m.topic == s.name; s.stepped {
			most = 1
		} else if m.kind == applies {
			most = 0
		}
		seen, err := b.compare(s, most)
		if err != nil {
			return "", fmt.Errorf("%s: %w", s.name, err)
		}
		view += fmt.Sprintf("%s: %s; ", s.name, seen)
	}
	return view, nil
}

func (b *board) sweep() error {
	for _, s := range b.topics {
		s.oracle.sweep(true, func(*person, presence.Holder) bool { return true })
	}
	_, err := sweep(b.Context(), b.store, 3)
	return err
}

func (b *board) square(topic presence.Topic) square {
	return b.topics[slices.Index(gameTopics[:], topic)]
}

// apply plays a batch.
func (b *board) apply(m move) error {
	s := b.square(m.topic)
	unknown := s.step(m.ops)
	results := b.store.Apply(b.Context(), []backend.Batch{{Topic: m.topic, Ops: m.ops, Keep: s.keep}})
	if len(results) != 1 || results[0].Err != nil {
		return fmt.Errorf("apply: got %+v, want one result without an error", results)
	}
	if got := slices.Sorted(slices.Values(results[0].Unknown)); !slices.Equal(got, unknown) {
		return fmt.Errorf("unknown are %v, want %v", got, unknown)
	}
	return nil
}

// openTo reports whether the effect of an operation depends on a sweep that cannot be seen: of a memory that is over, or
// of somebody who is not known. A heartbeat of one who would be shown if a lease had not expired is open too.
func (s square) openTo(op backend.Op) bool {
	p := s.people[op.User.ID]
	if p == nil {
		return false
	}
	expired := p.holdsAny(func(_ presence.Holder, lease hold) bool { return lease.until <= s.now })
	return p.until <= s.now && len(p.holds) == 0 || expired && (!p.known || op.Kind == backend.OpHeartbeat && !p.shown)
}
