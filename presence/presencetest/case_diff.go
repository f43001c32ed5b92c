package presencetest

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

func diffCases() []ruleCase {
	return []ruleCase{
		{"rule 2", "one join and one leave", oneDiffEach},
		{"rule 2", "changes that cancel out in a step are not seen", netZero},
		{"rule 2", "a step makes one diff", oneDiffAStep},
		{"rule 2", "a diff has the moment of its step", momentOfStep},
		{"rule 2", "one call takes many topics, and steps of one topic in order", manyTopics},
		{"rule 2", "a cancelled call takes effect wholly or not at all", givenUp},
		{"rule 2", "a batch of thousands", bigBatch},
		{"rule 2", "rosters are newest first", newestFirstCase},
	}
}

// Rule 2, scenarios 13 and 14: a join is one diff with the user in joins and
// nothing else in it, a leave the same.
func oneDiffEach(tr *trial) {
	site := tr.follow(presence.Site)
	tr.do(presence.Site, join("u", "a.1"))
	tr.do(presence.Site, join("v", "a.2"))
	tr.do(presence.Site, drop("u", "a.1"))
	site.wantsDiffs("+u", "+v", "-u")
	tr.wantOnline(presence.Site, "v")
}

// Rule 2, scenario 18: join and leave, leave and join, and whole visits inside one step:
// no diff if nothing changed on the whole, else a diff with the last state.
func netZero(tr *trial) {
	site := tr.follow(presence.Site)
	tr.do(presence.Site, join("u", "a.1"), drop("u", "a.1"))
	tr.do(presence.Site, seen("u"), join("u", "a.1"), signOut("u"))
	tr.do(presence.Site)
	site.wantsDiffs()
	tr.wantOnline(presence.Site, "")

	tr.do(presence.Site, join("u", "a.1"), drop("u", "a.1"), join("u", "a.2"))
	since := tr.read(presence.Site).members["u"].Since
	site.wantsDiffs("+u")
	tr.advance(slack)
	tr.do(presence.Site, drop("u", "a.2"), join("u", "a.3"))
	tr.do(presence.Site, past(signOut("u"), tick/2), join("u", "a.4"))
	tr.do(presence.Site, status("u", presence.Away), status("u", presence.Online))
	tr.do(presence.Site, status("u", presence.Invisible), status("u", presence.Online))
	site.wantsDiffs()
	if got := tr.read(presence.Site).members["u"].Since; !sameTime(got, since) {
		tr.Errorf("since is %v, want %v: the user was there all the time", got, since)
	}
	tr.do(presence.Site, join("v", "a.1"), drop("u", "a.4"), join("u", "a.5"), drop("u", "a.5"))
	site.wantsDiffs("-u +v")
}

// balance returns a user's joins minus leaves since the last call. That each diff fits is
// checked elsewhere.
func (p page) balance(id presence.UserID) (n int) {
	for _, d := range p.read() {
		for _, c := range changes(d) {
			switch {
			case c.user != id:
			case c.sign == "+":
				n++
			case c.sign == "-":
				n--
			}
		}
	}
	return n
}

// Rule 2, scenario 15: three joins in one step are one diff, and so are joins and leaves in one step.
func oneDiffAStep(tr *trial) {
	site := tr.follow(presence.Site)
	tr.do(presence.Site, join("a", "a.1"), join("b", "a.2"), join("c", "a.3"))
	site.wantsDiffs("+a +b +c")
	tr.do(presence.Site, join("d", "a.4"), status("a", presence.Busy), drop("b", "a.2"), guest("g"), beat("c", "a.3"))
	site.wantsDiffs("~a -b +d")
}

// Rule 2: a diff says when its step was, also one of a sweep, live and in the log. Rosters tell it as the
// moment at which a user turned invisible.
func momentOfStep(tr *trial) {
	site := tr.follow(presence.Site)
	steps := []func(){
		func() { tr.do(presence.Site, join("u", "a.1")) },
		func() { tr.do(presence.Site, status("u", presence.Busy)) },
		func() { tr.sweep() },
	}
	for i, step := range steps {
		tr.advance(ttl / 2)
		if i == 2 {
			tr.advance(ttl)
		}
		began := tr.now()
		step()
		diffs := site.read()
		logged, err := tr.peer.Log(tr.ctx, presence.Site, backend.Origin)
		if err != nil || len(diffs) != 1 || len(logged) != i+1 {
			tr.Fatalf("got diffs %+v, the log %+v and error %v, want one diff more", diffs, logged, err)
		}
		for _, at := range []time.Time{diffs[0].At, logged[i].At} {
			if at.Before(began.Add(-slack)) || at.After(tr.now().Add(slack)) {
				tr.Errorf("the diff of step %d was at %v, want %v", i, at, began)
			}
		}
	}
}

// Rule 2: each batch of a call has its own result and diff.
func manyTopics(tr *trial) {
	const n = 100
	var batches []backend.Batch
	var unknown [][]int
	for i := range n {
		topic := presence.Topic(fmt.Sprintf("thread:%d", i))
		batches = append(batches,
			backend.Batch{Topic: topic, Ops: []backend.Op{join("u", "a.1"), join("v", "a.2")}},
			backend.Batch{Topic: topic, Ops: []backend.Op{drop("u", "a.1"), beat("u", "a.1"), beat("v", "a.2")}},
		)
		unknown = append(unknown, nil, []int{1})
	}
	first, last := tr.follow(batches[0].Topic), tr.follow(batches[2*n-1].Topic)
	tr.check(tr.store.Apply(tr.ctx, batches), unknown...)
	first.wantsDiffs("+u +v", "-u")
	last.wantsDiffs("+u +v", "-u")
	tr.check(tr.store.Apply(tr.ctx, nil))

	topics := make([]presence.Topic, n)
	for i := range n {
		topics[i] = batches[2*i].Topic
	}
	counts, err := tr.store.Counts(tr.ctx, append(topics, "nobody")...)
	if err != nil || len(counts) != n+1 {
		tr.Fatalf("got %d counts, %v, want %d and no error", len(counts), err, n+1)
	}
	heads := make(map[presence.DiffID]bool)
	for i, c := range counts[:n] {
		if c.Total != 1 || heads[c.Head] {
			tr.Errorf("%s: got %+v, want a total of 1 and a head of its own", topics[i], c)
		}
		heads[c.Head] = true
	}
	if want := (backend.Counts{Head: backend.Origin}); !sameCounts(counts[n], want) {
		tr.Errorf("a topic that nobody knows: got %+v, want %+v", counts[n], want)
	}
}

// Rules 2 and 3, scenario 36: the caller cancelled the call. State and log agree, whether
// it took effect or not, and a later try works.
func givenUp(tr *trial) {
	site := tr.follow(presence.Site)
	ctx, cancel := context.WithCancel(tr.ctx)
	cancel()
	results := tr.store.Apply(ctx, batch(presence.Site, join("u", "a.1"), join("v", "a.2")))
	if len(results) != 1 {
		tr.Fatalf("got %d results, want 1", len(results))
	}
	diffs := site.read()
	if len(diffs) > 1 || len(diffs) == 1 && len(diffs[0].Joins) != 2 || len(diffs) == 0 && results[0].Err == nil {
		tr.Fatalf("got error %v and diffs %+v, want all or nothing", results[0].Err, diffs)
	}
	tr.do(presence.Site, join("u", "a.1"), join("v", "a.2"))
	site.read()
	tr.wantOnline(presence.Site, "u v")
}

// Rules 2 and 10: a store may cut a batch of thousands into steps. Each user is in exactly
// one step, and indexes are those of the batch.
func bigBatch(tr *trial) {
	const n = 3000
	site := tr.follow(presence.Site)
	joins, beats := make([]backend.Op, n), make([]backend.Op, n)
	var unknown []int
	for i := range n {
		id, holder := presence.UserID(fmt.Sprintf("u%04d", i)), presence.Holder(fmt.Sprintf("a.%d", i))
		joins[i] = join(id, holder)
		beats[i] = beat(id, holder)
		if i%7 == 3 {
			joins[i] = guest(string(id))
			unknown = append(unknown, i)
		}
	}
	tr.do(presence.Site, joins...)
	site.read()
	if got, want := len(tr.read(presence.Site).members), n-len(unknown); got != want {
		tr.Fatalf("%d users joined, want %d", got, want)
	}
	tr.unknown(unknown, presence.Site, beats...)
	if diffs := site.read(); len(diffs) != 0 {
		tr.Errorf("heartbeats made %d diffs, want none", len(diffs))
	}
	tr.advance(ttl + slack)
	if swept := tr.sweep(); swept.Leases != n-len(unknown) || swept.Leaves != n-len(unknown) {
		tr.Errorf("swept %+v, want %d leases and leaves", swept, n-len(unknown))
	}
	tr.wantOnline(presence.Site, "")
}

// Rule 2: a roster begins with the newest users; users of one step stand by id.
func newestFirstCase(tr *trial) {
	tr.do(presence.Site, join("c", "a.1"), join("a", "a.2"), join("b", "a.3"))
	tr.advance(time.Second)
	tr.do(presence.Site, join("z", "a.4"))
	tr.advance(time.Second)
	tr.do(presence.Site, join("m", "a.5"), drop("a", "a.2"))
	s, err := tr.store.Snapshot(tr.ctx, presence.Site)
	if err != nil {
		tr.Fatal(err)
	}
	var got []presence.UserID
	for _, m := range s.Members {
		got = append(got, m.ID)
	}
	if want := []presence.UserID{"m", "z", "b", "c"}; !slices.Equal(got, want) {
		tr.Errorf("the roster is %q, want %q", got, want)
	}
}
