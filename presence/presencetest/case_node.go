package presencetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

func nodeCases() []ruleCase {
	return []ruleCase{
		{"rule 7", "a renewal says whether the process had a lease", renewalSays},
		{"rule 7", "a renewal says when the next process lapses", renewalSaysWhen},
		{"rule 7", "what hangs on a lapsed process leaves, and nothing else", processLapses},
		{"rule 7", "only a sweep that is asked to looks at processes", sweepAsked},
		{"rule 7", "the process's last renewal is a proof of life", processProves},
		{"rule 7", "a user whom something else holds stays", heldElsewhere},
		{"rule 7", "what hangs on a process that writes no more leaves", writesNoMore},
		{"rule 7", "what was renewed for less ends with its process", renewedForLess},
		{"rule 7", "a process that comes back before the sweep is not swept", processReturns},
		{"rule 7", "a swept process is forgotten", processForgotten},
		{"rule 7", "a process that ends is not swept", processEnds},
		{"rule 7", "all that hangs on it goes in one call", manyHang},
		{"rule 7", "sweepers at four nodes announce each leave once", nodeSweepers},
	}
}

// term is of the processes' leases. A half of it is longer than all calls of a case take.
const term = 4 * slack

func (tr *trial) renews(process string, want bool) {
	tr.Helper()
	if r, err := tr.store.Poll(tr.ctx, backend.Poll{Process: process, Term: term}); err != nil || r.Alive != want {
		tr.Errorf("the renewal of %q said %+v, %v, want Alive %v (rule 7)", process, r, err, want)
	}
}

// sweepNodes sweeps, also what hangs on lapsed processes.
func (tr *trial) sweepNodes() backend.Swept {
	tr.Helper()
	swept, err := tr.store.Sweep(tr.ctx, backend.SweepOptions{Limit: 1000, Nodes: true})
	if err != nil {
		tr.Fatalf("sweep of nodes: %v", err)
	}
	return swept
}

func renewalSays(tr *trial) {
	tr.renews("a.p", false)
	tr.renews("a.p", true)
	tr.renews("a.q", false)
	tr.advance(term - slack)
	tr.renews("a.p", true)
	tr.advance(term + slack)
	tr.renews("a.p", true)
	tr.advance(term + slack)
	tr.sweepNodes()
	tr.renews("a.p", false)
	tr.renews("a.p", true)
}

func renewalSaysWhen(tr *trial) {
	wants := func(process string, want time.Duration) {
		tr.Helper()
		if r, err := tr.store.Poll(tr.ctx, backend.Poll{Process: process, Term: term}); err != nil || (r.Next-want).Abs() > slack/2 {
			tr.Errorf("the renewal of %q says %+v, %v, want about %v until a process lapses (rule 7)", process, r, err, want)
		}
	}
	wants("a.p", term)
	tr.advance(2 * slack)
	wants("b.p", term-2*slack)
	tr.advance(slack)
	wants("a.p", term-slack)
	tr.advance(term)
	wants("a.p", -slack)
	tr.sweepNodes()
	wants("a.p", term)
}

func processEnds(tr *trial) {
	site := tr.follow(presence.Site)
	tr.renews("a.p", false)
	tr.do(presence.Site, join("stays", "a.p.1"))
	if r, err := tr.store.Poll(tr.ctx, backend.Poll{Process: "a.p"}); err != nil || !r.Alive {
		tr.Errorf("the end of a process said %+v, %v, want that it was alive (rule 7)", r, err)
	}
	tr.advance(term + slack)
	tr.sweepNodes()
	site.wants("+stays")
	tr.renews("a.p", false)
}

func processLapses(tr *trial) {
	site, thread := tr.follow(presence.Site), tr.follow("thread:1")
	tr.renews("a.p", false)
	tr.renews("b.p", false)
	tr.do(presence.Site, join("hangs", "a.p.1"), join("other-node", "b.p.1"), join("other-process", "a.pp.1"),
		join("longer-name", "a.p.1.1"), join("no-process", "a.1"), seen("views"), join("grace", "a.p.2"))
	tr.do(presence.Site, lasting(release("grace", "a.p.2"), 3*term))
	tr.do("thread:1", join("hangs", "a.p.1"))
	tr.advance(term - slack)
	tr.renews("b.p", true)
	tr.sweepNodes()
	site.wants("+grace +hangs +longer-name +no-process +other-node +other-process +views")
	thread.wants("+hangs")
	tr.advance(2 * slack)
	if swept := tr.sweepNodes(); swept.Leases != 2 || swept.Leaves != 2 || !slices.Equal(swept.Gone, []string{"a.p"}) {
		tr.Errorf("swept %+v, want 2 leases and 2 leaves, and the process", swept)
	}
	site.wants("-hangs")
	thread.wants("-hangs")
	if swept := tr.sweepNodes(); swept.Leases != 0 || len(swept.Gone) > 0 {
		tr.Errorf("swept %+v a second time, want nothing", swept)
	}
}

func sweepAsked(tr *trial) {
	site := tr.follow(presence.Site)
	tr.renews("a.p", false)
	tr.do(presence.Site, join("u", "a.p.1"))
	tr.advance(term + slack)
	tr.sweep()
	site.wants("+u")
	tr.sweepNodes()
	site.wants("-u")
}

func processProves(tr *trial) {
	tr.do(presence.Site, lasting(join("u", "a.p.1"), 10*term))
	tr.advance(5 * term)
	tr.renews("a.p", false)
	proof := tr.now()
	tr.advance(term + slack)
	tr.sweepNodes()
	tr.wantSeen(presence.Site, "u", proof)
}

func heldElsewhere(tr *trial) {
	site := tr.follow(presence.Site)
	tr.renews("a.p", false)
	tr.do(presence.Site, join("u", "a.p.1"), lasting(join("u", "a.p~.1"), 10*term), lasting(join("u", "b.p.1"), 10*term))
	tr.advance(term + slack)
	tr.sweepNodes()
	site.wants("+u")
	tr.wantOnline(presence.Site, "u")
	tr.do(presence.Site, drop("u", "b.p.1"))
	site.wants("")
	tr.do(presence.Site, drop("u", "a.p~.1")) // a visit
	site.wants("-u")
}

// A process that begins a new generation tells so, also where the store does not know it. That is no proof of life. What it wrote
// in the new one stays, and so does what it writes again.
func writesNoMore(tr *trial) {
	site := tr.follow(presence.Site)
	joined := tr.now()
	next := func(op backend.Op) backend.Op {
		op.Gen = 3
		return lasting(op, 10*term)
	}
	tr.do(presence.Site, lasting(join("u", "a.p.1"), 10*term), lasting(join("v", "b.p.1"), 10*term), lasting(join("w", "b.p.1"), 10*term))
	tr.do(presence.Site, lasting(join("y", "b.p~.1"), 10*term), lasting(join("z", "b.p~.1"), 10*term)) // visits
	tr.renews("b.p", false)
	tr.advance(slack)
	for _, process := range []string{"a.p", "b.p"} {
		if _, err := tr.store.Poll(tr.ctx, backend.Poll{Process: process, Gen: 3, Term: term, Before: slack / 2}); err != nil { // the later word counts
			tr.Error(err)
		}
		if r, err := tr.store.Poll(tr.ctx, backend.Poll{Process: process, Gen: 3, Term: term, Before: term / 2}); err != nil || r.Next > term/2 {
			tr.Errorf("the new generation of %q said %+v, %v, want that one before lapses soon (rule 7)", process, r, err)
		}
	}
	tr.do(presence.Site, next(join("w", "b.p.1")), next(join("x", "b.p.1")), next(keep("z", "b.p~.1")))
	tr.do(presence.Site, lasting(release("x", "b.p.1"), 0)) // of before, and late
	tr.advance(slack - slack/4)
	tr.sweepNodes()
	site.wants("+u +v +w +x +y +z")
	tr.advance(term/2 - slack/4)
	for _, process := range []string{"a.p", "b.p"} {
		if r, err := tr.store.Poll(tr.ctx, backend.Poll{Process: process, Gen: 3, Term: term}); err != nil || !r.Alive {
			tr.Errorf("the lease of %q is %+v, %v, want it alive (rule 7)", process, r, err)
		}
	}
	if swept := tr.sweepNodes(); len(swept.Gone) > 0 {
		tr.Errorf("swept %+v, want no process that lives on", swept)
	}
	site.wants("-u -v -y")
	tr.wantHeld("z", "b.p~.1")
	tr.wantSeen(presence.Site, "u", joined)
	tr.wantSeen(presence.Site, "v", joined)
}

// Rules 5 and 7: a beat and an OpKeep of an earlier proof of life, and then beats of the whole length. The process crashes.
func renewedForLess(tr *trial) {
	less := func(op backend.Op) backend.Op {
		op.For -= 4 * slack
		if op.Kind == backend.OpKeep {
			op.Ago = 4 * slack
		}
		return op
	}
	site := tr.follow(presence.Site)
	tr.do(presence.Site, join("u", "a.p.1"), join("v", "a.p.2"))
	tr.advance(4*slack + slack/2)
	tr.do(presence.Site, less(keep("u", "a.p.1")), less(beat("v", "a.p.2")))
	tr.do(presence.Site, beat("u", "a.p.1"), beat("v", "a.p.2"))
	tr.advance(slack / 2)
	crash := tr.now()
	tr.renews("a.p", false)
	tr.advance(term + slack/2)
	tr.sweepNodes()
	site.wants("+u -u +v -v")
	for _, id := range []presence.UserID{"u", "v"} {
		tr.wantSeen(presence.Site, id, crash)
	}
}

func processReturns(tr *trial) {
	site := tr.follow(presence.Site)
	tr.renews("a.p", false)
	tr.do(presence.Site, lasting(join("u", "a.p.1"), 10*term))
	tr.advance(term + slack)
	tr.renews("a.p", true)
	tr.sweepNodes()
	site.wants("+u")
}

func processForgotten(tr *trial) {
	site := tr.follow(presence.Site)
	tr.renews("a.p", false)
	tr.advance(term + slack)
	tr.sweepNodes()
	tr.do(presence.Site, lasting(join("u", "a.p.1"), 10*term))
	tr.advance(term + slack)
	tr.sweepNodes()
	site.wants("+u")
}

func manyHang(tr *trial) {
	tr.renews("a.p", false)
	const users = 1200
	for from := 0; from < users; from += 100 {
		var ops []backend.Op
		for i := range 100 {
			ops = append(ops, join(presence.UserID(fmt.Sprint("u", from+i)), presence.Holder(fmt.Sprintf("a.p.%d", from+i))))
		}
		tr.do(presence.Site, ops...)
	}
	for i := range 70 {
		tr.do(presence.Topic(fmt.Sprint("thread:", i)), join("u0", "a.p.0"))
	}
	tr.advance(term + slack)
	if swept := tr.sweepNodes(); swept.Leaves != users+70 {
		tr.Errorf("swept %+v, want %d leaves", swept, users+70)
	}
	tr.wantOnline(presence.Site, "")
	tr.wantOnline("thread:69", "")
}

func nodeSweepers(tr *trial) {
	site := tr.follow(presence.Site)
	tr.renews("a.p", false)
	tr.do(presence.Site, join("u", "a.p.1"), join("v", "a.p.2"))
	tr.advance(term + slack)
	tr.nodes(func(_ int, store backend.Store) {
		_, _ = store.Sweep(tr.ctx, backend.SweepOptions{Limit: 1000, Nodes: true})
	})
	tr.sweepNodes()
	site.wants("+u -u +v -v")
}
