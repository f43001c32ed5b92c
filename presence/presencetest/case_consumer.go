package presencetest

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

func consumerCases() []ruleCase {
	return []ruleCase{
		{"rule 11", "a missing record is made by a claim with Create alone", consumerMissing},
		{"rule 11", "one holder at a time", consumerTaken},
		{"rule 11", "a commit lengthens the holder's time, or gives the record up", consumerLengthened},
		{"rule 11", "a commit of a former holder changes nothing", consumerFenced},
		{"rule 11", "a step is read at every node", consumerRead},
		{"rule 11", "a step that is repeated changes nothing more", consumerRepeated},
		{"rule 11", "a step that finds another record than it expects changes nothing", consumerExpects},
		{"rule 11", "a large record is read whole", consumerLarge},
		{"rule 11", "records of two consumers are apart", consumersApart},
	}
}

// The consumer of the cases, and how long a holder holds its record.
const (
	consumerName = "mailer:1"
	consumerHold = 10 * time.Second
)

// claims checks the answer to a claim.
func (tr *trial) claims(store backend.Store, holder string, create bool, want backend.ConsumerState) backend.ConsumerClaimed {
	tr.Helper()
	got, err := store.ClaimConsumer(tr.ctx, consumerName, backend.ConsumerClaim{Holder: holder, For: consumerHold, Create: create})
	if err != nil || got.State != want {
		tr.Fatalf("claim of %s: got %+v and error %v, want state %d (rule 11)", holder, got, err, want)
	}
	return got
}

// commits checks the answer to a commit.
func (tr *trial) commits(store backend.Store, want backend.ConsumerState, step backend.ConsumerStep) {
	tr.Helper()
	got, err := store.CommitConsumer(tr.ctx, consumerName, step)
	if err != nil || got != want {
		tr.Fatalf("commit of %s: got state %d and error %v, want %d (rule 11)", step.Holder, got, err, want)
	}
}

// record returns a consumer's record, as a node reads it.
func (tr *trial) record(store backend.Store, consumer string) map[string]string {
	tr.Helper()
	entries, err := store.ReadConsumer(tr.ctx, consumer)
	if err != nil {
		tr.Fatalf("read: %v", err)
	}
	return entries
}

// wantEntries checks the whole record at both nodes.
func (tr *trial) wantEntries(want map[string]string) {
	tr.Helper()
	for _, store := range []backend.Store{tr.store, tr.peer} {
		if got := tr.record(store, consumerName); !maps.Equal(got, want) {
			tr.Fatalf("read: got %s, want %s (rule 11)", entriesOf(got), entriesOf(want))
		}
	}
}

func entriesOf(entries map[string]string) string {
	var list []string
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		list = append(list, fmt.Sprintf("%s=%.20q", key, entries[key]))
	}
	return fmt.Sprintf("%d entries %.300s", len(list), fmt.Sprint(list))
}

func consumerMissing(tr *trial) {
	tr.claims(tr.store, "a", false, backend.ConsumerMissing)
	tr.commits(tr.store, backend.ConsumerMissing, backend.ConsumerStep{Holder: "a", For: consumerHold, Set: map[string]string{"k": "v"}})
	if got := tr.record(tr.peer, consumerName); got != nil {
		tr.Fatalf("got %v, want no record", got)
	}
	tr.claims(tr.store, "a", true, backend.ConsumerHeld)
	tr.claims(tr.peer, "b", true, backend.ConsumerTaken)
	tr.wantEntries(nil)
}

func consumerTaken(tr *trial) {
	tr.claims(tr.store, "a", true, backend.ConsumerHeld)
	tr.commits(tr.store, backend.ConsumerHeld, backend.ConsumerStep{Holder: "a", For: consumerHold, Set: map[string]string{"k": "v"}})
	tr.claims(tr.peer, "b", false, backend.ConsumerTaken)
	if got := tr.claims(tr.store, "a", false, backend.ConsumerHeld); got.Idle != 0 {
		tr.Errorf("claimed again: got idle for %v, want 0", got.Idle)
	}
	tr.advance(consumerHold + 3*time.Second)
	if got := tr.claims(tr.peer, "b", false, backend.ConsumerHeld); got.Idle < 3*time.Second || got.Idle > 10*time.Second {
		tr.Errorf("got idle for %v, want about 3s", got.Idle)
	}
	tr.claims(tr.store, "a", false, backend.ConsumerTaken)
	tr.wantEntries(map[string]string{"k": "v"})
}

func consumerLengthened(tr *trial) {
	tr.claims(tr.store, "a", true, backend.ConsumerHeld)
	for range 4 {
		tr.advance(consumerHold * 2 / 3)
		tr.claims(tr.peer, "b", false, backend.ConsumerTaken)
		tr.commits(tr.store, backend.ConsumerHeld, backend.ConsumerStep{Holder: "a", For: consumerHold})
	}
	tr.commits(tr.store, backend.ConsumerHeld, backend.ConsumerStep{Holder: "a"})
	tr.claims(tr.peer, "b", false, backend.ConsumerHeld)
}

func consumerFenced(tr *trial) {
	tr.claims(tr.store, "a", true, backend.ConsumerHeld)
	tr.advance(consumerHold + time.Second)
	late := backend.ConsumerStep{Holder: "a", For: consumerHold, Set: map[string]string{"k": "late", "x": "y"}}
	tr.commits(tr.store, backend.ConsumerHeld, late) // nobody else has claimed it
	tr.advance(consumerHold + time.Second)
	tr.claims(tr.peer, "b", false, backend.ConsumerHeld)
	tr.commits(tr.peer, backend.ConsumerHeld, backend.ConsumerStep{Holder: "b", For: consumerHold, Set: map[string]string{"k": "new"}})
	late.Delete = []string{"x"}
	tr.commits(tr.store, backend.ConsumerTaken, late)
	tr.wantEntries(map[string]string{"k": "new", "x": "y"})
	tr.claims(tr.store, "a", false, backend.ConsumerTaken)
}

func consumerRead(tr *trial) {
	tr.claims(tr.store, "a", true, backend.ConsumerHeld)
	want := make(map[string]string)
	for i := range 25 {
		step := backend.ConsumerStep{Holder: "a", For: consumerHold, Set: map[string]string{
			fmt.Sprint("k", i): fmt.Sprint(i), "same": fmt.Sprint(i), "t/site/\xff ü+-=": "a b\n",
		}}
		if i%3 == 2 {
			step.Delete = []string{fmt.Sprint("k", i-1), "unknown"}
		}
		tr.commits(tr.store, backend.ConsumerHeld, step)
		maps.Copy(want, step.Set)
		for _, key := range step.Delete {
			delete(want, key)
		}
	}
	tr.wantEntries(want)
}

func consumerRepeated(tr *trial) {
	tr.claims(tr.store, "a", true, backend.ConsumerHeld)
	step := backend.ConsumerStep{Holder: "a", For: consumerHold, Set: map[string]string{"k": "v"}, Delete: []string{"gone"}}
	tr.commits(tr.store, backend.ConsumerHeld, step)
	tr.commits(tr.store, backend.ConsumerHeld, step)
	tr.claims(tr.store, "a", true, backend.ConsumerHeld)
	tr.wantEntries(map[string]string{"k": "v"})
}

func consumerExpects(tr *trial) {
	tr.claims(tr.store, "a", true, backend.ConsumerHeld)
	first := backend.ConsumerStep{Holder: "a", For: consumerHold, Set: map[string]string{"k": "1", "gone": "x"}}
	tr.commits(tr.store, backend.ConsumerHeld, first)
	second := backend.ConsumerStep{Holder: "a", For: consumerHold, Set: map[string]string{"k": "2"}, Delete: []string{"gone"}}
	for _, expect := range []map[string]string{{"k": "0"}, {"k": ""}, {"none": ""}, {"k": "1", "none": "1"}} {
		second.Expect = expect
		tr.commits(tr.store, backend.ConsumerMissing, second)
	}
	tr.wantEntries(first.Set)
	tr.claims(tr.peer, "b", false, backend.ConsumerTaken)
	second.Expect = map[string]string{"k": "1", "gone": "x"}
	tr.commits(tr.store, backend.ConsumerHeld, second)
	tr.commits(tr.store, backend.ConsumerMissing, second)
	tr.wantEntries(second.Set)
}

func consumerLarge(tr *trial) {
	tr.claims(tr.store, "a", true, backend.ConsumerHeld)
	want := make(map[string]string)
	for part := range 6 {
		step := backend.ConsumerStep{Holder: "a", For: consumerHold, Set: make(map[string]string)}
		for i := range backend.MaxConsumerStep {
			key := fmt.Sprintf("t/site/user-%d-%d", part, i)
			step.Set[key] = "1700000000000000000 a name of some length"
			want[key] = step.Set[key]
		}
		tr.commits(tr.store, backend.ConsumerHeld, step)
	}
	tr.wantEntries(want)
}

func consumersApart(tr *trial) {
	tr.claims(tr.store, "a", true, backend.ConsumerHeld)
	other, err := tr.store.ClaimConsumer(tr.ctx, "other", backend.ConsumerClaim{Holder: "b", For: consumerHold, Create: true})
	if err != nil || other.State != backend.ConsumerHeld {
		tr.Fatalf("got %+v and error %v, want another record", other, err)
	}
	tr.commits(tr.store, backend.ConsumerHeld, backend.ConsumerStep{Holder: "a", For: consumerHold, Set: map[string]string{"k": "v"}})
	if got := tr.record(tr.peer, "other"); len(got) > 0 {
		tr.Errorf("got %v of another consumer, want nothing", got)
	}
	if topics, err := tr.store.Counts(tr.ctx, presence.Topic(consumerName)); err != nil || topics[0].Head != backend.Origin {
		tr.Errorf("got %+v and error %v of a topic with the name of the consumer, want nothing", topics, err)
	}
}
