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

// orders plays what nodes know of a user in one order, and then in any other order, with repetitions, in one batch or in
// several. In the end the same is known (rule 3): what holds the user, the roster and the figures.
//
// What is told of the way depends on it: since when the user is there, and when one who left was last seen. So do the sets of
// page views, if the user signed out or hid, and a grace after a sign-out.
func orders(t *testing.T, h Harness) {
	rapid.Check(t, func(rt *rapid.T) {
		facts := drawFacts(rt)
		again := rapid.SliceOfN(rapid.SampledFrom(facts), 0, 3).Draw(rt, "again")
		last := len(facts) - 1 // a page that lists the user: a keep lists nobody
		other := append(rapid.Permutation(slices.Concat(facts[:last], again)).Draw(rt, "order"), facts[last])
		cuts := rapid.SliceOfN(rapid.Bool(), len(other), len(other)).Draw(rt, "cuts")
		var got, want known
		h.wrap(t, func(t *testing.T) {
			tr := newTrial(t, h)
			want = tr.tell("in order", facts, make([]bool, len(facts)))
			got = tr.tell("in another order", other, cuts)
		})
		if !reflect.DeepEqual(got, want) {
			rt.Fatalf("got %+v\nwant %+v\nafter %s\nas after %s", got, want, describe(cut(other, cuts)), describe([][]backend.Op{facts}))
		}
	})
}

// known is what is known of a user in the end.
type known struct {
	sighting backend.Sighting
	member   presence.Member
	leases   []backend.Lease
	total    int
	recent   int
}

// drawFacts draws operations on one user, all of the past. No two of one kind have the same moment, end or revision. After a
// sign-out no grace holds: a store may forget the grace of a page of whose join it hears later.
func drawFacts(rt *rapid.T) (facts []backend.Op) {
	const moments = 12
	pick := func(n int) int { return rapid.IntRange(0, n-1).Draw(rt, "pick") }
	order := func(what string) []int {
		all := make([]int, moments)
		for i := range all {
			all[i] = i + 1
		}
		return rapid.Permutation(all).Draw(rt, what)
	}
	ago, revs := order("moments"), order("revisions")
	for i := range rapid.IntRange(1, 8).Draw(rt, "facts") {
		at := time.Duration(ago[i]) * slack
		u := presence.User{ID: "u", Rev: int64(revs[i]), Status: gameStatuses[pick(len(gameStatuses))]}
		named := u
		named.Name = fmt.Sprint("Name ", i)
		holder := gameHolders[pick(len(gameHolders))]
		op := backend.Op{User: u, Holder: holder, Gen: int32(pick(3)), Rev: int64(revs[i]), For: day - at, Ago: at, Joined: at, Idle: pick(3) > 0, Pages: pick(3)}
		switch pick(8) {
		case 0, 1:
			op.Kind, op.User = backend.OpJoin, named
		case 2:
			op.Kind = backend.OpKeep
		case 3:
			op.Kind, op.Joined, op.Pages = backend.OpRelease, 0, 0
			op.For *= time.Duration(pick(2))
		case 4:
			op = backend.Op{Kind: backend.OpSeen, User: named, For: op.For, Ago: at}
		case 5:
			op = backend.Op{Kind: backend.OpSignOut, User: u, Ago: at}
		case 6:
			op = backend.Op{Kind: backend.OpSignOff, User: u, Ago: at}
		default:
			op = backend.Op{Kind: backend.OpUpdate, User: u, Ago: at}
		}
		facts = append(facts, op)
	}
	if slices.ContainsFunc(facts, func(op backend.Op) bool { return op.Kind == backend.OpSignOut }) {
		for i := range facts {
			if facts[i].Kind == backend.OpRelease {
				facts[i].For = 0
			}
		}
	}
	return append(facts, joinAs(presence.User{ID: "u", Name: "Last"}, "z.1"))
}

// cut cuts operations into batches.
func cut(ops []backend.Op, cuts []bool) (batches [][]backend.Op) {
	from := 0
	for i := range ops {
		if cuts[i] || i == len(ops)-1 {
			batches = append(batches, ops[from:i+1])
			from = i + 1
		}
	}
	return batches
}

// tell writes facts, and returns what is known in the end.
func (tr *trial) tell(topic presence.Topic, facts []backend.Op, cuts []bool) (is known) {
	tr.Helper()
	private := false
	for _, ops := range cut(facts, cuts) {
		for _, op := range ops {
			private = private || op.Kind == backend.OpSignOut || op.Kind == backend.OpSignOff || op.User.Status.Base() == presence.Invisible
		}
		if r := tr.store.Apply(tr.ctx, tr.batch(topic, ops...)); len(r) != 1 || r[0].Err != nil {
			tr.Fatalf("got %+v, want one result without an error", r)
		}
	}
	is.sighting = tr.sighting(topic, "u")
	is.sighting.LastSeen = time.Time{}
	is.member = tr.read(topic).members["u"]
	is.member.Since, is.member.Rev = time.Time{}, 0
	users, err := tr.store.Inspect(tr.ctx, topic, "", 2)
	if err != nil {
		tr.Fatal(err)
	}
	for _, u := range users {
		for _, l := range u.Leases {
			l.Left = l.Left.Round(time.Second)
			is.leases = append(is.leases, l)
		}
	}
	if is.total = tr.counts(topic).Total; !private {
		is.recent = tr.counts(topic).Recent
	}
	return is
}
