package presencetest

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"pgregory.net/rapid"
)

// A happening is an operation of one user, and how long before the play its moment was.
type happening struct {
	backend.Op
	before time.Duration
}

// orders plays what a user did in the order of the moments, and then in any other order, with repetitions. What holds
// the user and whom the sets count is the same (rules 6 and 12). If the user signed out too, and came back after it,
// the user is there (rule 19).
//
// Some things depend on the order, and are left out: when the user came, what becomes of earlier leases and of the sets
// by a sign-out, and a sign-out that is the latest of all. What a node says of one lease comes in order: here it is
// always the same.
func orders(t *testing.T, h Harness) {
	rapid.Check(t, func(rt *rapid.T) {
		did, outs := drawHappenings(rt)
		again := rapid.SliceOfN(rapid.SampledFrom(did), 0, 3).Draw(rt, "again")
		other := rapid.Permutation(slices.Concat(did, again)).Draw(rt, "order")
		pauses := rapid.SliceOfN(rapid.IntRange(-1, 3), len(other), len(other)).Draw(rt, "pauses")
		var err error
		h.wrap(t, func(t *testing.T) {
			tr := newTrial(t, h)
			began := tr.now()
			want := tr.happen("in order", began, did, make([]int, len(did)))
			if got := tr.happen("in another order", began, other, pauses); !got.Online || !outs && !reflect.DeepEqual(got, want) {
				err = fmt.Errorf("got %+v, want %+v", got, want)
			}
			if got, want := tr.counts("in another order").Recent, tr.counts("in order").Recent; !outs && got != want {
				err = fmt.Errorf("recent is %d, want %d", got, want)
			}
		})
		if err != nil {
			rt.Fatalf("%v after %v\nas after %v", err, other, did)
		}
	})
}

func (h happening) String() string { return opString(past(h.Op, h.before)) }

// drawHappenings draws what a user did, the earliest first. outs says that the user signed out, and came back.
func drawHappenings(rt *rapid.T) (did []happening, outs bool) {
	kinds := []backend.Op{seen("u"), join("u", "a.1"), idly(paged(join("u", "a.2"), 2)), keep("u", "a.1"), idly(paged(keep("u", "a.2"), 2)), signOut("u"), signOff("u")}
	if rapid.Bool().Draw(rt, "without sign-outs") {
		kinds = kinds[:5]
	}
	ops := append(rapid.SliceOfN(rapid.SampledFrom(kinds), 0, 5).Draw(rt, "ops"), rapid.SampledFrom(kinds[:3]).Draw(rt, "last"))
	for i, op := range ops {
		outs = outs || op.Kind == backend.OpSignOut || op.Kind == backend.OpSignOff
		did = append(did, happening{lasting(op, day), time.Duration(len(ops)-i) * slack})
	}
	return did, outs
}

// happen writes what happened: after each a pause of so many seconds, none, or for -1 the next is of the same step. A
// node that finds no connection of the user says again in the end what it has.
func (tr *trial) happen(topic presence.Topic, began time.Time, did []happening, pauses []int) backend.Sighting {
	tr.Helper()
	var late []happening
	write := func(step []happening) {
		ops, played := make([]backend.Op, len(step)), tr.now().Sub(began)
		for i, h := range step {
			ops[i] = past(h.Op, played+h.before)
			if h.Kind == backend.OpSeen {
				ops[i].For -= ops[i].Ago
			}
		}
		result := tr.store.Apply(tr.ctx, tr.batch(topic, ops...))[0]
		if result.Err != nil {
			tr.Fatal(result.Err)
		}
		for _, i := range result.Unknown {
			late = append(late, step[i])
		}
	}
	from := 0
	for i, pause := range pauses {
		if pause < 0 && i < len(did)-1 {
			continue
		}
		write(did[from : i+1])
		tr.advance(time.Duration(max(pause, 0)) * time.Second)
		from = i + 1
	}
	if len(late) > 0 {
		write(late)
	}
	return tr.sighting(topic, "u")
}
