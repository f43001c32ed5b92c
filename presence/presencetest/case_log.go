package presencetest

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

func logCases() []ruleCase {
	return []ruleCase{
		{"rule 2", "the log goes on from every version", logFromEvery},
		{"rule 2", "a version that the log does not hold is a gap", logGap},
		{"rule 2", "the log goes on where a snapshot stands, under churn", snapshotUnderChurn},
		{"rule 10", "the log is bounded", logBounded},
		{"rule 10", "a store that lost everything starts again", startsAgain},
	}
}

// Rule 2: after each version the log holds exactly what followed, each diff
// naming the one before.
func logFromEvery(tr *trial) {
	for i := range 20 {
		id, holder := presence.UserID(fmt.Sprintf("u%d", i%3)), presence.Holder(fmt.Sprintf("a.%d", i))
		tr.do(presence.Site, join(id, holder))
		tr.do(presence.Site, drop(id, holder))
	}
	all := tr.log(presence.Site, backend.Origin)
	if len(all) != 40 || all[0].Prev != backend.Origin {
		tr.Fatalf("the log has %v from %q, want 40 from the origin", ids(all), all[0].Prev)
	}
	for i, d := range all {
		if got, want := ids(tr.log(presence.Site, d.ID)), ids(all[i+1:]); !slices.Equal(got, want) {
			tr.Fatalf("the log after %q is %v, want %v", d.ID, got, want)
		}
		if i > 0 && d.Prev != all[i-1].ID {
			tr.Errorf("%q follows %q, want %q", d.ID, d.Prev, all[i-1].ID)
		}
	}
	if got := ids(tr.log(presence.Site, "")); !slices.Equal(got, ids(all)) {
		tr.Errorf("all that the log holds is %v, want %v", got, ids(all))
	}
	head := all[len(all)-1].ID
	if got := tr.counts(presence.Site).Head; got != head {
		tr.Errorf("the counts' head is %q, want %q", got, head)
	}
	if got := tr.read(presence.Site).id; got != head {
		tr.Errorf("the snapshot's id is %q, want %q", got, head)
	}
}

func (tr *trial) log(topic presence.Topic, after presence.DiffID) []backend.Diff {
	tr.Helper()
	diffs, err := tr.store.Log(tr.ctx, topic, after)
	if err != nil {
		tr.Fatalf("log after %q: %v", after, err)
	}
	return diffs
}

// Rule 2: ids of another store, of another topic, and invented ones are gaps. The origin is
// known in a topic without diffs.
func logGap(tr *trial) {
	tr.do("thread:1", join("u", "a.1"))
	other := tr.read("thread:1").id
	for _, topic := range []presence.Topic{presence.Site, "nobody"} {
		if got := tr.log(topic, backend.Origin); len(got) != 0 {
			tr.Errorf("%s: the log after the origin is %v, want none", topic, ids(got))
		}
		if got := tr.read(topic).id; got != backend.Origin {
			tr.Errorf("%s: an unknown topic is at %q, want the origin", topic, got)
		}
	}
	tr.do(presence.Site, join("u", "a.1"))
	for _, id := range []presence.DiffID{other, "1", "never", "zzzzzzzz-zz", "1700000000000-0"} {
		if got, err := tr.store.Log(tr.ctx, presence.Site, id); !errors.Is(err, presence.ErrGap) {
			tr.Errorf("the log after %q: got %v, %v, want ErrGap", id, ids(got), err)
		}
	}
}

// Rule 2, scenario 19: a reader takes a snapshot while others write, and then reads the log
// from the snapshot's version. It gets every diff once.
func snapshotUnderChurn(tr *trial) {
	const rounds, writers, steps = 4, 4, 150 // a round's diffs fit into the log
	tr.do(presence.Site, crowd(300)...)
	var churn sync.WaitGroup
	defer churn.Wait()
	for range rounds {
		for w := range writers {
			churn.Go(func() { stir(tr, w, steps) })
		}
		over := make(chan struct{})
		go func() {
			churn.Wait()
			close(over)
		}()
		var taken []*roster
		for reading := true; reading; {
			taken = append(taken, tr.read(presence.Site))
			select {
			case <-over:
				reading = false
			default:
			}
		}
		end := tr.read(presence.Site)
		for _, r := range taken {
			from := r.id
			if _, err := advance(tr.ctx, tr.store, presence.Site, r); err != nil {
				tr.Fatalf("from the snapshot at %q: %v", from, err)
			}
			if err := r.equal(end); err != nil {
				tr.Fatalf("from the snapshot at %q, by the log: %v", from, err)
			}
		}
	}
}

// crowd joins n users who stay.
func crowd(n int) []backend.Op {
	ops := make([]backend.Op, n)
	for i := range ops {
		ops[i] = lasting(join(presence.UserID(fmt.Sprintf("stays%03d", i)), presence.Holder(fmt.Sprintf("c.%d", i))), period)
	}
	return ops
}

// stir makes users come, change and go, as one of several nodes that share the users.
func stir(tr *trial, node, steps int) {
	for i := range steps {
		id := presence.UserID(fmt.Sprintf("u%d", (i*7+node)%20))
		holder := presence.Holder(fmt.Sprintf("n%d.%d", node, i%5))
		var op backend.Op
		switch i % 4 {
		case 0, 1:
			op = join(id, holder)
		case 2:
			op = drop(id, holder)
		case 3:
			op = update(presence.User{ID: id, Name: string(holder)})
		}
		for _, r := range tr.store.Apply(tr.ctx, batch(presence.Site, op)) {
			if r.Err != nil {
				tr.Error(r.Err)
			}
		}
	}
}

// Rule 10: the log keeps 1,000 diffs, which a reader who comes back may need, and not
// 10,000: a log that only grows is out of memory in a month.
func logBounded(tr *trial) {
	const keeps, tooMany = 1000, 10_000
	var batches []backend.Batch
	for i := range tooMany / 2 {
		holder := presence.Holder(fmt.Sprintf("a.%d", i))
		batches = append(batches, batch(presence.Site, join("u", holder))...)
		batches = append(batches, batch(presence.Site, drop("u", holder))...)
	}
	var late presence.DiffID
	for i, some := range slices.Collect(slices.Chunk(batches, keeps)) {
		if i == tooMany/keeps-1 {
			late = tr.read(presence.Site).id
		}
		for _, r := range tr.store.Apply(tr.ctx, some) {
			if r.Err != nil {
				tr.Fatal(r.Err)
			}
		}
	}
	if got := tr.log(presence.Site, late); len(got) != keeps {
		tr.Errorf("the log after the %d-th last version has %d diffs, want all", keeps, len(got))
	}
	if got, err := tr.store.Log(tr.ctx, presence.Site, backend.Origin); !errors.Is(err, presence.ErrGap) {
		tr.Errorf("the log still reaches back over %d diffs, %v, want ErrGap", len(got), err)
	}
	if got := tr.log(presence.Site, ""); len(got) < keeps || len(got) > tooMany/2 {
		tr.Errorf("the log holds %d diffs, want about %d", len(got), keeps)
	}
}

// Rule 10, scenario 40: all data is gone. Rosters are empty, heartbeats report Unknown,
// earlier readers have a gap, joining works, and no id comes twice.
func startsAgain(tr *trial) {
	tr.do(presence.Site, join("u", "a.1"), seen("u"))
	tr.do(presence.Site, join("v", "a.2"))
	before := tr.read(presence.Site)
	used := ids(tr.log(presence.Site, backend.Origin))

	tr.renew()
	tr.wantOnline(presence.Site, "")
	if got := tr.read(presence.Site).id; got != backend.Origin {
		tr.Errorf("it starts at %q, want the origin", got)
	}
	tr.unknown([]int{0, 1}, presence.Site, beat("u", "a.1"), beat("u", presence.HolderWeb))
	if got, err := tr.store.Log(tr.ctx, presence.Site, before.id); !errors.Is(err, presence.ErrGap) {
		tr.Errorf("the log after a version of before: got %v, %v, want ErrGap", ids(got), err)
	}
	tr.do(presence.Site, join("u", "a.1"))
	tr.do(presence.Site, join("v", "a.2"))
	tr.wantOnline(presence.Site, "u v")
	for _, id := range ids(tr.log(presence.Site, backend.Origin)) {
		if slices.Contains(used, id) {
			tr.Errorf("id %q was used before", id)
		}
	}
}
