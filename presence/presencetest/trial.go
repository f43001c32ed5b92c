package presencetest

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// A trial is one run of one case: a fresh store, the topics that the case follows, and
// short methods for a case's steps.
type trial struct {
	*testing.T
	h     Harness
	ctx   context.Context
	store backend.Store // by Harness.New
	peer  backend.Store // the same store as another node sees it
	keep  presence.Keep // of the batches that the case applies from now on

	followers []*follower
}

func newTrial(t *testing.T, h Harness) *trial {
	store := h.New(t)
	return &trial{T: t, h: h, ctx: t.Context(), store: store, peer: h.peer(t, store)}
}

// renew takes a fresh store, as if this one had lost everything.
func (tr *trial) renew() { tr.store = tr.h.New(tr.T) }

// finish compares the followers' rosters with the store's.
func (tr *trial) finish() {
	tr.Helper()
	for _, f := range tr.followers {
		if err := f.finish(tr.ctx); err != nil {
			tr.Errorf("%s: %v", f.topic, err)
		}
	}
}

// tick is what passes after each batch of a case: what comes later has a later moment.
const tick = 4 * time.Millisecond

// do applies one batch that must succeed and must know every lease.
func (tr *trial) do(topic presence.Topic, ops ...backend.Op) {
	tr.Helper()
	tr.unknown(nil, topic, ops...)
}

// unknown is do for a batch in which the heartbeats and keeps at these indexes must be unknown.
func (tr *trial) unknown(want []int, topic presence.Topic, ops ...backend.Op) {
	tr.Helper()
	tr.check(tr.store.Apply(tr.ctx, tr.batch(topic, ops...)), want)
	tr.advance(tick)
}

// batch returns one topic's batch with what the case wants to be kept.
func (tr *trial) batch(topic presence.Topic, ops ...backend.Op) []backend.Batch {
	return []backend.Batch{{Topic: topic, Ops: ops, Keep: tr.keep}}
}

// check fails the test unless the results have these unknown heartbeats and no error.
func (tr *trial) check(results []backend.Result, unknown ...[]int) {
	tr.Helper()
	if len(results) != len(unknown) {
		tr.Fatalf("got %d results, want %d", len(results), len(unknown))
	}
	for i, r := range results {
		if r.Err != nil {
			tr.Fatalf("batch %d: got error %v, want none", i, r.Err)
		}
		if got := slices.Sorted(slices.Values(r.Unknown)); !slices.Equal(got, unknown[i]) {
			tr.Fatalf("batch %d: got unknown heartbeats %v, want %v (rule 3)", i, got, unknown[i])
		}
	}
}

// advance lets time pass, and sweeps nothing.
func (tr *trial) advance(d time.Duration) { tr.h.Advance(tr.store, d) }

// pass lets time pass and sweeps.
func (tr *trial) pass(d time.Duration) {
	tr.Helper()
	tr.advance(d)
	tr.sweep()
}

// sweep removes all expired leases.
func (tr *trial) sweep() backend.Swept {
	tr.Helper()
	swept, err := sweep(tr.ctx, tr.store, 1000)
	if err != nil {
		tr.Fatal(err)
	}
	return swept
}

// sweep calls Sweep until More is false, and adds up the results.
func sweep(ctx context.Context, store backend.Store, limit int) (all backend.Swept, err error) {
	for more := true; more; {
		swept, err := store.Sweep(ctx, backend.SweepOptions{Limit: limit})
		if err != nil {
			return all, fmt.Errorf("sweep: %w", err)
		}
		if swept.More && swept.Leases == 0 {
			return all, fmt.Errorf("sweep: it removed nothing, and says that there is more")
		}
		all.Leases += swept.Leases
		all.Leaves += swept.Leaves
		more = swept.More
	}
	return all, nil
}

// age calls Age and returns how many topics it turned.
func (tr *trial) age() int {
	tr.Helper()
	turned, err := tr.store.Age(tr.ctx, period)
	if err != nil {
		tr.Fatalf("age: %v", err)
	}
	return turned
}

// counts returns one topic's figures.
func (tr *trial) counts(topic presence.Topic) backend.Counts {
	tr.Helper()
	counts, err := tr.store.Counts(tr.ctx, topic)
	if err != nil || len(counts) != 1 {
		tr.Fatalf("counts: got %+v, %v, want one and no error", counts, err)
	}
	return counts[0]
}

// sameCounts reports whether figures of one store are equal.
func sameCounts(a, b backend.Counts) bool { return reflect.DeepEqual(a, b) }

// sighting returns one user's sighting.
func (tr *trial) sighting(topic presence.Topic, id presence.UserID) backend.Sighting {
	tr.Helper()
	s, err := tr.store.Sightings(tr.ctx, topic, id)
	if err != nil || len(s) != 1 {
		tr.Fatalf("sightings: got %+v, %v, want one and no error", s, err)
	}
	return s[0]
}

// nothing reports whether a sighting is that of a user of whom nothing is known.
func nothing(s backend.Sighting) bool {
	return !s.Online && s.Status == "" && s.LastSeen.IsZero() && len(s.Holders) == 0
}

// now returns the store's time. It joins a user, since only a join reports it in every
// store.
func (tr *trial) now() time.Time {
	tr.Helper()
	const clock, probe = "presencetest:clock", "probe"
	tr.check(tr.store.Apply(tr.ctx, batch(clock, join(probe, "kit.1"))), nil)
	at := tr.read(clock).members[probe].Since
	tr.check(tr.store.Apply(tr.ctx, batch(clock, drop(probe, "kit.1"))), nil)
	return at
}

// read returns a topic's roster.
func (tr *trial) read(topic presence.Topic) *roster {
	tr.Helper()
	r, err := read(tr.ctx, tr.store, topic)
	if err != nil {
		tr.Fatalf("%s: %v", topic, err)
	}
	return r
}

// wantOnline checks the roster, the total and the sightings of a topic. Users are sorted
// and separated by spaces.
func (tr *trial) wantOnline(topic presence.Topic, want string) {
	tr.Helper()
	names := tr.read(topic).names()
	if got := words(names); got != want {
		tr.Fatalf("%s: online are %q, want %q (rule 1)", topic, got, want)
	}
	if got := tr.counts(topic).Total; got != len(names) {
		tr.Fatalf("%s: total is %d, want %d (rule 1)", topic, got, len(names))
	}
	for _, id := range names {
		if s := tr.sighting(topic, id); !s.Online || s.Status == "" || !s.LastSeen.IsZero() {
			tr.Fatalf("%s: sighting of %q is %+v, want online with a status and no last seen", topic, id, s)
		}
	}
}

func words(names []presence.UserID) string {
	list := make([]string, len(names))
	for i, n := range names {
		list[i] = string(n)
	}
	return strings.Join(list, " ")
}

// A page is a topic that a case follows.
type page struct {
	tr *trial
	*follower
}

// follow follows a topic until the case ends.
func (tr *trial) follow(topic presence.Topic) page {
	tr.Helper()
	f, err := follow(tr.T, tr.store, tr.peer, topic)
	if err != nil {
		tr.Fatalf("%s: %v", topic, err)
	}
	tr.followers = append(tr.followers, f)
	return page{tr, f}
}

// wants checks the changes since the last call, in any number of diffs: "+a -b ~c" is a
// join, a leave and an update, sorted by user. "_b" is a leave without last seen (rule 5).
// Changes of one user are in their order.
func (p page) wants(want string) {
	p.tr.Helper()
	diffs := p.read()
	var all []change
	for _, d := range diffs {
		all = append(all, changes(d)...)
	}
	slices.SortStableFunc(all, byUser)
	if got := line(all); got != want {
		p.tr.Fatalf("%s: got changes %q, want %q", p.topic, got, want)
	}
}

// wantsDiffs is wants with one string for each diff.
func (p page) wantsDiffs(want ...string) {
	p.tr.Helper()
	var got []string
	for _, d := range p.read() {
		all := changes(d)
		slices.SortStableFunc(all, byUser)
		got = append(got, line(all))
	}
	if !slices.Equal(got, want) {
		p.tr.Fatalf("%s: got diffs %q, want %q", p.topic, got, want)
	}
}

func (p page) read() []backend.Diff {
	p.tr.Helper()
	diffs, err := p.news(p.tr.ctx)
	if err != nil {
		p.tr.Fatalf("%s: %v", p.topic, err)
	}
	return diffs
}

// A change is one user's part in a diff.
type change struct {
	sign string
	user presence.UserID
}

func changes(d backend.Diff) []change {
	var all []change
	for _, m := range d.Joins {
		all = append(all, change{"+", m.ID})
	}
	for _, m := range d.Updates {
		all = append(all, change{"~", m.ID})
	}
	for _, l := range d.Leaves {
		sign := "-"
		if l.LastSeen.IsZero() {
			sign = "_"
		}
		all = append(all, change{sign, l.ID})
	}
	return all
}

func byUser(a, b change) int { return strings.Compare(string(a.user), string(b.user)) }

func line(all []change) string {
	list := make([]string, len(all))
	for i, c := range all {
		list[i] = c.sign + string(c.user)
	}
	return strings.Join(list, " ")
}
