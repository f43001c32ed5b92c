package feedtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence/feed"
)

// The length of a model test. The environment can change it: see the package's doc.
const (
	usualMoves  = 1_200 // the moves of Model
	faultyMoves = 600   // of Faults, where each call is made about twice
	gameMoves   = 300   // of one game, over a fresh store
)

// Model makes random moves in a store and in a [Memory], and compares all that can be read
// after each. It fails with the seed and the last moves.
func Model(t *testing.T, h Harness) { play(t, h, usualMoves, false) }

// Faults is [Model] while calls of the store fail at random, before or after their effect, and
// are repeated until they succeed, as callers do. Every message carries an ID, and must be there
// once (rules F1, F4).
func Faults(t *testing.T, h Harness) { play(t, h, faultyMoves, true) }

func play(t *testing.T, h Harness, usual int, faulty bool) {
	seed := fromEnv(t, "FEEDTEST_SEED", int(rand.Uint32()))
	moves := fromEnv(t, "FEEDTEST_MOVES", usual)
	for played := 0; played < moves && !t.Failed(); played += gameMoves {
		t.Run(fmt.Sprintf("game %d", played/gameMoves+1), func(t *testing.T) {
			g := newGame(t, h.New(t), uint64(seed)+uint64(played/gameMoves), faulty)
			for range min(gameMoves, moves-played) {
				if err := g.move(); err != nil {
					t.Fatalf("FEEDTEST_SEED=%d: %v\nThe last moves:\n%s", g.seed, err, strings.Join(g.trail, "\n"))
				}
			}
		})
	}
}

func fromEnv(t *testing.T, name string, usual int) int {
	text := os.Getenv(name)
	if text == "" {
		return usual
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// A game is a store, its oracle, and what was compared so far.
type game struct {
	ctx     context.Context
	seed    uint64
	rand    *rand.Rand
	site    Site
	stores  []feed.Store // the site's and its peer's, or faulty ones over them; each call uses a random one
	oracle  *Memory
	faulty  bool
	readers *readers // of the site's store

	keep, archived time.Duration // the options of a trim

	trail   []string
	n       int // messages so far
	moves   int
	revs    map[feed.Name][2]int64 // of the store and of the oracle, at the latest comparison
	digests [][2]feed.Digest       // claimed digests, of the store and of the oracle
	keys    map[string]string      // the Keys of the store's digests, by those of the oracle
}

// mostTrail is how many moves a failure prints.
const mostTrail = 40

func newGame(t testing.TB, site Site, seed uint64, faulty bool) *game {
	g := &game{ctx: t.Context(), seed: seed, rand: rand.New(rand.NewPCG(seed, 1)), site: site, stores: []feed.Store{site.Store}, oracle: NewMemory(), faulty: faulty,
		readers: newReaders(site.Store), revs: make(map[feed.Name][2]int64), keys: make(map[string]string)}
	g.keep, g.archived = g.steps(5, 40), g.steps(2, 10)
	if site.Peer != nil {
		g.stores = append(g.stores, site.Peer())
	}
	for i, s := range g.stores {
		if faulty {
			store := NewFaultyStore(s)
			store.Decide(g.fault)
			g.stores[i] = store
		}
	}
	return g
}

// errFault is what a call that fails returns.
var errFault = errors.New("feedtest: a fault")

// fault returns how a call ends. The answer of Due is never lost, because then the oracle's claim would have
// to be lost too.
func (g *game) fault(call Call) Fault {
	switch g.rand.IntN(8) {
	case 0:
		return Fault{Err: errFault}
	case 1, 2:
		if call != CallDue {
			return Fault{Lost: errFault}
		}
	}
	return Fault{}
}

// both makes the same call to the store, where it is repeated after a fault, and to the oracle. Their errors
// must agree.
func (g *game) both(call func(feed.Store) error) error {
	err := errFault
	for tries := 0; errors.Is(err, errFault) && tries < 100; tries++ {
		err = call(of(g, g.stores))
	}
	want := call(g.oracle)
	for _, sentinel := range []error{feed.ErrInvalidName, feed.ErrInvalidMark, feed.ErrInvalidMessage, feed.ErrNoItem, feed.ErrTooManyMutes} {
		if errors.Is(want, sentinel) && errors.Is(err, sentinel) {
			return nil
		}
	}
	if err != nil || want != nil {
		return fmt.Errorf("got error %v, want %v", err, want)
	}
	return nil
}

// move makes one random move, and compares the two stores.
func (g *game) move() error {
	g.moves++
	pick := g.rand.IntN(100)
	var err error
	rows := 1 << 30 // the number of revisions that the move may take
	if !g.faulty {
		rows = 1
	}
	switch {
	case pick < 24:
		err = g.send()
	case pick < 30:
		err = g.insert()
	case pick < 52:
		rows, err = 1<<30, g.relay()
	case pick < 74:
		err = g.mark()
	case pick < 80:
		err = g.mute()
	case pick < 86:
		err = g.edit()
	case pick < 91:
		err = g.advance(time.Duration(1+g.rand.IntN(4)) * step)
	case pick < 94:
		err = g.due()
	case pick < 97:
		err = g.settle()
	case pick < 99:
		rows, err = 1<<30, g.trim()
	default:
		g.note("recount")
		var wrong int
		if wrong, err = g.site.Recount(g.ctx, 100); err == nil && wrong != 0 {
			err = fmt.Errorf("a recount found %d wrong counters (rule F3)", wrong)
		}
	}
	if err != nil {
		return err
	}
	return g.compare(int64(rows))
}

func (g *game) note(format string, args ...any) {
	if len(g.trail) == mostTrail {
		g.trail = g.trail[1:]
	}
	g.trail = append(g.trail, fmt.Sprintf("%4d ", g.moves)+fmt.Sprintf(format, args...))
}

// compare compares the heads of all feeds, and the content of those that changed. The store may have up to
// most new revisions of a feed for one of the oracle.
func (g *game) compare(most int64) error {
	names := slices.Clone(gameFeeds)
	for _, n := range gameFeeds {
		names = append(names, n.In("acme"))
	}
	got, err := g.site.Heads(g.ctx, names...)
	if err != nil {
		return err
	}
	want, err := g.oracle.Heads(g.ctx, names...)
	if err != nil {
		return err
	}
	for i, n := range names {
		revs := [2]int64{got[i].Rev, want[i].Rev}
		by, wanted := revs[0]-g.revs[n][0], revs[1]-g.revs[n][1]
		g.revs[n] = revs
		if (by == 0) != (wanted == 0) || by > wanted*most {
			return fmt.Errorf("%s: got %d new revisions, want %d (rule F2)", n, by, wanted)
		}
		if got[i].Pos != want[i].Pos || got[i].Unread != want[i].Unread || got[i].Unseen != want[i].Unseen || (got[i].Floor > 0) != (want[i].Floor > 0) {
			return fmt.Errorf("%s: got head %+v, want %+v (rule F3)", n, got[i], want[i])
		}
		if by == 0 && g.moves%25 != 0 {
			continue
		}
		now, err := g.readers.look(g.ctx, n)
		if err != nil {
			return fmt.Errorf("%s: %w", n, err)
		}
		all, err := readAll(g.ctx, g.oracle, n, 0)
		if err != nil {
			return err
		}
		if err := sameItems(now.items, all.items, false); err != nil {
			return fmt.Errorf("%s: %w", n, err)
		}
	}
	return nil
}
