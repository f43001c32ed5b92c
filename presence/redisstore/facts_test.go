package redisstore_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// facts returns what some nodes may know of a user. No two facts of a kind are of one moment or revision, because of such two
// the later one counts.
func facts(rnd *rand.Rand) (all []backend.Op) {
	ago := rnd.Perm(1000)
	for i := range 1 + rnd.IntN(8) {
		statuses := []presence.Status{"", presence.Online, presence.Away, "online-", presence.Invisible}
		op := backend.Op{
			Kind:   []backend.OpKind{backend.OpJoin, backend.OpKeep, backend.OpRelease, backend.OpSeen, backend.OpSignOut, backend.OpSignOff, backend.OpUpdate}[rnd.IntN(7)],
			User:   presence.User{ID: "alice", Name: fmt.Sprint("Alice ", i), Status: statuses[rnd.IntN(len(statuses))], Rev: int64(i + 1)},
			Holder: []presence.Holder{"a.1", "a.2", "b.1"}[rnd.IntN(3)],
			Gen:    rnd.Int32N(2), Rev: int64(i), Idle: rnd.IntN(2) == 0, Pages: rnd.IntN(3),
			For: time.Duration(2000-ago[i]) * time.Millisecond,
			Ago: time.Duration(ago[i]) * time.Millisecond, Joined: time.Duration(ago[i]) * time.Millisecond,
		}
		all = append(all, op)
	}
	// Whether a grace that comes after a sign-out holds depends on whether a page had joined by then.
	if signedOut := slices.ContainsFunc(all, func(op backend.Op) bool { return op.Kind == backend.OpSignOut }); signedOut || rnd.IntN(2) == 0 {
		for i := range all {
			if all[i].Kind == backend.OpRelease {
				all[i].For = 0
			}
		}
	}
	return all
}

// Rule 3: facts of one user give the same record in whatever order they come, in how many steps, and how often. When she was last
// seen, since when she is there, and whether what ended is remembered, is of the steps.
func TestFactsInAnyOrder(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, presence.Keep{})
	topics := 0
	for seed := range uint64(500) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		all := facts(rnd)
		want := ""
		for round := range 6 {
			steps := [][]backend.Op{slices.Clone(all)}
			if round > 0 {
				steps[0] = append(steps[0], all[:rnd.IntN(len(all)+1)]...) // again
				rnd.Shuffle(len(steps[0]), func(i, j int) { steps[0][i], steps[0][j] = steps[0][j], steps[0][i] })
			}
			for round > 2 && len(steps) < 4 {
				last := steps[len(steps)-1]
				cut := rnd.IntN(len(last) + 1)
				steps = append(steps[:len(steps)-1], last[:cut], last[cut:])
			}
			topic := presence.Topic(fmt.Sprint("t", topics))
			topics++
			// A keep lists nobody. So a page that joins comes last.
			steps = append(steps, []backend.Op{{Kind: backend.OpJoin, User: presence.User{ID: "alice", Name: "Last"}, Holder: "z.1", For: time.Second}})
			for _, ops := range steps {
				if r := k.Apply(t.Context(), []backend.Batch{{Topic: topic, Ops: ops}})[0]; r.Err != nil {
					t.Fatal(r.Err)
				}
			}
			got := k.record(topic)
			if round == 0 {
				want = got
			}
			if got != want {
				text := ""
				for _, ops := range steps {
					text += "\n\tstep"
					for _, op := range ops {
						text += fmt.Sprintf("\n\t\tkind %d, %s, word %d.%d, for %v, %v ago, status %q of %d", op.Kind, op.Holder, op.Gen, op.Rev, op.For, op.Ago, op.User.Status, op.User.Rev)
					}
				}
				t.Fatalf("seed %d: got the record %q, want %q, by%s", seed, got, want, text)
			}
		}
	}
}

// record returns what the record of alice in a topic says beside these: what holds her, in order, the moments and the line.
func (k *keeper) record(topic presence.Topic) string {
	k.Helper()
	record := ""
	for _, name := range []string{"users", "hidden"} {
		record += k.client.HGet(k.Context(), "presence:{"+string(topic)+"}:"+name, "alice").Val()
	}
	words, rest, _ := strings.Cut(record, " ")
	moments, line, _ := strings.Cut(rest, " ")
	held := strings.Split(strings.Trim(words, "|"), "|")
	slices.Sort(held)
	_, moments, _ = strings.Cut(moments, ",")
	_, line, _ = strings.Cut(line, " ")
	return strings.Join(held, "|") + " " + moments + " " + line
}
