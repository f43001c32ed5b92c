package track_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
)

// What a node learns of a user's lease after it heard that the user hid. Whoever holds the user stands still, so the
// store has the user as before; and with "read only" no other node can write it either.

var readOnly = presencetest.Fault{Err: errors.New("read only")}

// standStill cuts a node off, so that it neither writes nor hears.
func standStill(way *presencetest.Faults) {
	way.Break(presencetest.Fault{Hang: true})
	way.Disturb(presencetest.Disturbance{Delay: 200 * time.Second})
}

// staysOut fails if a page shows alice within some time.
func staysOut(t *testing.T, r *page, topic presence.Topic, within time.Duration) {
	t.Helper()
	for began := time.Now(); time.Since(began) < within; time.Sleep(100 * time.Millisecond) {
		r.read()
		if _, shown := r.roster[string(topic)]["alice"]; shown {
			t.Fatalf("alice is shown after %v", time.Since(began))
		}
	}
}

// The node lost the diff of the user's join, and the store lost its log. So the node reads the topic again.
func TestTopicThatIsReadAgainAfterAUserHid(t *testing.T) {
	for _, writes := range []bool{true, false} {
		bubble(t, fmt.Sprint("writes ", writes), func(t *testing.T) {
			store := memstore.New()
			way, late := presencetest.NewFaults(store), presencetest.NewFaults(store)
			a, b := start(t, late, track.Config{Node: "a"}), start(t, way, track.Config{Node: "b"})
			thread := []presence.Topic{"thread:1"}
			r := openPage(t, a, track.ConnectOptions{Topics: thread})
			r.want("state ")
			time.Sleep(time.Minute)
			late.Disturb(presencetest.Disturbance{Lose: 1})
			late.Break(presencetest.Fault{Err: presence.ErrGap, Times: 1}, presencetest.CallLog)
			connect(t, b, track.ConnectOptions{Visitor: on("alice", "phone"), Topics: thread})
			time.Sleep(300 * time.Millisecond)
			standStill(way)
			late.Disturb(presencetest.Disturbance{})
			noError(t, a.SetStatus(t.Context(), "alice", presence.Invisible))
			if !writes {
				late.Break(readOnly, presencetest.CallApply, presencetest.CallSweep)
			}
			staysOut(t, r, thread[0], 2*time.Minute)
			late.Heal()
			way.Heal()
		})
	}
}

// slowLog is a store whose log is read slowly, once slow is set.
type slowLog struct {
	*presencetest.Faults
	slow *time.Duration
}

func (s slowLog) Log(ctx context.Context, topic presence.Topic, after presence.DiffID) ([]backend.Diff, error) {
	diffs, err := s.Faults.Log(ctx, topic, after)
	time.Sleep(*s.slow)
	return diffs, err
}

// The diff of the user's join waits at the node until a gap before it is closed. The user hides before that diff comes,
// or while it waits.
func TestDiffThatWaitsForAGapAfterAUserHid(t *testing.T) {
	thread := []presence.Topic{"thread:1"}
	for what, o := range map[string]track.ConnectOptions{
		"people": peopleOptions("bob", "alice", "carol"),
		"thread": {Topics: thread},
	} {
		for _, writes := range []bool{true, false} {
			for when, delay := range map[string]time.Duration{"while it waits": 0, "before it comes": 700 * time.Millisecond} {
				bubble(t, fmt.Sprint(what, "/", when, "/writes ", writes), func(t *testing.T) {
					store := memstore.New()
					way, late, third := presencetest.NewFaults(store), presencetest.NewFaults(store), presencetest.NewFaults(store)
					slow := new(time.Duration)
					d := &town{t: t, store: slowLog{late, slow}, directory: presencetest.NewMemoryDirectory()}
					a := d.node("a")
					d.store = way
					b := d.node("b")
					d.store = third
					c := d.node("c")
					r := openPage(t, a, o)
					r.want("state ")
					time.Sleep(time.Minute)
					late.Disturb(presencetest.Disturbance{Lose: 1})
					connect(t, c, track.ConnectOptions{Visitor: on("carol", "phone"), Topics: thread})
					*slow = 1500 * time.Millisecond
					time.Sleep(100 * time.Millisecond)
					connect(t, c, track.ConnectOptions{Visitor: on("dave", "phone"), Topics: thread}) // a finds the gap
					time.Sleep(100 * time.Millisecond)
					late.Disturb(presencetest.Disturbance{Delay: delay})
					connect(t, b, track.ConnectOptions{Visitor: on("alice", "phone"), Topics: thread})
					time.Sleep(300 * time.Millisecond)
					standStill(way)
					late.Disturb(presencetest.Disturbance{})
					if !writes {
						third.Break(readOnly, presencetest.CallApply, presencetest.CallSweep)
					}
					d.choose(a, "alice", presence.Settings{Status: presence.Invisible})
					if !writes {
						late.Break(readOnly, presencetest.CallApply, presencetest.CallSweep)
					}
					staysOut(t, r, o.Topics[0], 2*time.Minute)
					late.Heal()
					way.Heal()
					third.Heal()
				})
			}
		}
	}
}

// A user shows herself again. A node whose Directory is slow, or out, has the store's diff before it hears the choice.
func TestShowsHerselfWhileADirectoryIsSlow(t *testing.T) {
	for name, fault := range map[string]presencetest.DirectoryFault{
		"slow": {Delay: time.Second},
		"out":  {Err: errors.New("out")},
	} {
		bubble(t, name, func(t *testing.T) {
			store, directory := memstore.New(), presencetest.NewMemoryDirectory()
			far := presencetest.NewFaultyDirectory(directory)
			a := start(t, store, track.Config{Node: "a", Directory: far})
			b := start(t, store, track.Config{Node: "b", Directory: directory})
			connect(t, b, track.ConnectOptions{Visitor: on("alice", "phone")})
			connect(t, a, track.ConnectOptions{Visitor: on("bob", "phone")})
			time.Sleep(time.Second)
			noError(t, b.People().ChangeSettings(t.Context(), "alice", to(presence.Settings{Status: presence.Invisible})))
			time.Sleep(time.Minute)
			people := openPage(t, a, peopleOptions("bob", "alice"))
			people.want("state ")
			far.Break(fault, presencetest.CallSettings)
			noError(t, b.People().ChangeSettings(t.Context(), "alice", to(presence.Settings{})))
			time.Sleep(300 * time.Millisecond)
			people.want("diff +alice -")
		})
	}
}
