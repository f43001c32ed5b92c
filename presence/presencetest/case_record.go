package presencetest

import (
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

func recordCases() []ruleCase {
	return []ruleCase{
		{"rule 9", "a record that a node remembers counts if it is better", recordMerged},
		{"rule 9", "a wiped store takes the record that a node remembers", recordAfterWipe},
		{"rule 9", "several nodes bring their records", recordsAtOnce},
		{"rule 9", "the record is started anew with the users of now", recordReset},
		{"rule 9", "a reset in a step counts its end", recordResetInStep},
		{"rule 9", "a reset is not undone by what a node remembers", recordResetStays},
		{"rule 9", "a record of fewer users than are online grows at once", recordBelowNow},
		{"rule 9", "the record stays when the topic is empty", recordStays},
	}
}

// wantRecord checks a record to the millisecond.
func (tr *trial) wantRecord(want backend.Peak) {
	tr.Helper()
	if got := tr.counts(presence.Site).Peak; got.Total != want.Total || !sameTime(got.At, want.At) || !sameTime(got.Since, want.Since) {
		tr.Errorf("the record is %+v, want %+v (rule 9)", got, want)
	}
}

// Rule 9: the larger; of equal ones the earlier; before all that which was started anew
// later.
func recordMerged(tr *trial) {
	tr.keep.Peak = true
	now := tr.now().Truncate(time.Second)
	ago := func(total int, at, since time.Duration) backend.Peak {
		p := backend.Peak{Total: total, At: now.Add(-at)}
		if since > 0 {
			p.Since = now.Add(-since)
		}
		return p
	}
	best := ago(5, time.Hour, 0)
	for _, step := range []struct {
		is     string
		p      backend.Peak
		better bool
	}{
		{"the first", ago(5, time.Hour, 0), true},
		{"smaller", ago(4, 2*time.Hour, 0), false},
		{"equal and later", ago(5, time.Minute, 0), false},
		{"equal and earlier", ago(5, 2*time.Hour, 0), true},
		{"larger and later", ago(6, time.Minute, 0), true},
		{"the same", ago(6, time.Minute, 0), false},
		{"smaller and of a reset", ago(2, 30*time.Minute, 30*time.Minute), true},
		{"larger and from before the reset", ago(100, time.Hour, 0), false},
		{"larger and of an earlier reset", ago(100, time.Hour, 2*time.Hour), false},
		{"larger since the same reset", ago(3, 20*time.Minute, 30*time.Minute), true},
		{"nobody since a later reset", ago(0, time.Minute, time.Minute), true},
	} {
		if step.better {
			best = step.p
		}
		tr.do(presence.Site, peak(step.p))
		if got := tr.counts(presence.Site).Peak; got.Total != best.Total || !sameTime(got.At, best.At) || !sameTime(got.Since, best.Since) {
			tr.Fatalf("after one that is %s the record is %+v, want %+v", step.is, got, best)
		}
	}
	best = ago(1, time.Minute, time.Second)
	tr.do(presence.Site, peak(best))
	tr.do(presence.Site, join("u", "a.1"))
	tr.wantRecord(best)
	tr.do(presence.Site, join("v", "a.2"))
	if got := tr.wantPeak(presence.Site, 2, tr.now()); !sameTime(got.Since, best.Since) {
		tr.Errorf("the grown record began at %v, want %v as before", got.Since, best.Since)
	}
}

// Rules 9 and 10: the record comes with the first batches, or after the users are there
// again. It ends as if the store had not been wiped.
func recordAfterWipe(tr *trial) {
	tr.keep.Peak = true
	tr.do(presence.Site, many(0, 5, join)...)
	tr.do(presence.Site, many(0, 3, drop)...)
	record := tr.counts(presence.Site).Peak
	if record.Total != 5 {
		tr.Fatalf("the record is %+v, want 5", record)
	}
	for _, batches := range [][][]backend.Op{
		{{peak(record)}, many(3, 5, join)},
		{append(many(3, 5, join), peak(record))},
		{many(3, 5, join), {peak(record)}, {peak(record)}},
	} {
		tr.renew()
		if p := tr.counts(presence.Site).Peak; p != (backend.Peak{}) {
			tr.Fatalf("a wiped store has the record %+v, want none", p)
		}
		for _, ops := range batches {
			tr.do(presence.Site, ops...)
		}
		tr.wantRecord(record)
		tr.do(presence.Site, many(5, 9, join)...)
		tr.wantPeak(presence.Site, 6, tr.now())
	}
}

// Rule 9: each node has seen another record, and brings it several times.
func recordsAtOnce(tr *trial) {
	tr.keep.Peak = true
	at := tr.now().Add(-time.Hour).Truncate(time.Second)
	tr.nodes(func(node int, store backend.Store) {
		for i := range 10 {
			tr.apply(store, presence.Site, peak(backend.Peak{Total: 10*node + i, At: at.Add(time.Duration(i) * time.Second)}))
			tr.apply(store, presence.Site, peak(backend.Peak{Total: 39, At: at.Add(time.Duration(node) * time.Minute)}))
		}
	})
	tr.wantRecord(backend.Peak{Total: 39, At: at})
}

// Rule 9: also if nobody is online, and with the guests where they count.
func recordReset(tr *trial) {
	tr.keep.Peak = true
	tr.do(presence.Site, many(0, 5, join)...)
	tr.do(presence.Site, many(0, 3, drop)...)
	tr.do(presence.Site, guest("g"))
	tr.advance(2 * slack)
	reset := tr.now()
	tr.do(presence.Site, resetPeak)
	began := tr.wantPeak(presence.Site, 2, reset).Since
	if !about(began, reset) {
		tr.Errorf("the record began at %v, want %v", began, reset)
	}
	tr.advance(2 * slack)
	grown := tr.now()
	tr.do(presence.Site, many(0, 2, join)...)
	if p := tr.wantPeak(presence.Site, 4, grown); !sameTime(p.Since, began) {
		tr.Errorf("the grown record began at %v, want %v", p.Since, began)
	}
	tr.advance(2 * slack)
	tr.keep.PeakGuests = true
	reset = tr.now()
	tr.do(presence.Site, resetPeak)
	tr.wantPeak(presence.Site, 5, reset)
	tr.keep.PeakGuests = false
	tr.do(presence.Site, many(0, 5, drop)...)
	tr.advance(2 * slack)
	reset = tr.now()
	tr.do(presence.Site, resetPeak)
	if p := tr.wantPeak(presence.Site, 0, reset); !about(p.Since, reset) {
		tr.Errorf("the record began at %v, want %v", p.Since, reset)
	}
	tr.advance(2 * slack)
	grown = tr.now()
	tr.do(presence.Site, join("u", "a.1"))
	tr.wantPeak(presence.Site, 1, grown)
}

// Rules 3 and 9: the users of now are those at the end of the step. Repeating the step
// changes nothing.
func recordResetInStep(tr *trial) {
	tr.keep.Peak = true
	tr.do(presence.Site, many(0, 5, join)...)
	tr.advance(2 * slack)
	at := tr.now()
	for range 2 {
		tr.do(presence.Site, join("u", "a.1"), resetPeak, drop(ghost(0), ghostHolder(0)), drop(ghost(1), ghostHolder(1)), join("v", "a.2"))
		tr.wantPeak(presence.Site, 5, at)
	}
	tr.do(presence.Site, append(many(2, 5, drop), resetPeak)...)
	tr.wantPeak(presence.Site, 2, at)
	tr.do(presence.Site, append([]backend.Op{resetPeak}, many(0, 5, join)...)...)
	tr.wantPeak(presence.Site, 7, at)
}

// Rule 9: nodes may still remember the former record, and bring it in the same step too.
func recordResetStays(tr *trial) {
	tr.keep.Peak = true
	tr.do(presence.Site, many(0, 5, join)...)
	former := tr.counts(presence.Site).Peak
	tr.do(presence.Site, many(0, 4, drop)...)
	tr.advance(2 * slack)
	at := tr.now()
	for _, ops := range [][]backend.Op{{resetPeak}, {peak(former)}, {peak(former), resetPeak}, {resetPeak, peak(former)}} {
		tr.do(presence.Site, ops...)
		tr.wantPeak(presence.Site, 1, at)
	}
	reset := tr.counts(presence.Site).Peak
	tr.renew()
	tr.do(presence.Site, peak(former))
	tr.do(presence.Site, peak(reset))
	tr.wantRecord(reset)
}

// Rule 9: more users are online than the record has that a node brings. No step ends with
// fewer in the record than online.
func recordBelowNow(tr *trial) {
	tr.keep.Peak = true
	tr.do(presence.Site, many(0, 5, join)...)
	since := tr.now().Truncate(time.Second).Add(-time.Minute)
	tr.advance(2 * slack)
	at := tr.now()
	tr.do(presence.Site, peak(backend.Peak{Total: 2, At: since, Since: since}))
	if p := tr.wantPeak(presence.Site, 5, at); !sameTime(p.Since, since) {
		tr.Errorf("the record began at %v, want %v, as the node says", p.Since, since)
	}
}

// Rules 9 and 10: for days, whatever ages, sweeps and trims.
func recordStays(tr *trial) {
	tr.keep = presence.Keep{Peak: true, Names: 10, Active: true}
	at := tr.now()
	tr.do(presence.Site, join("u", "a.1"), seen("v"))
	record := tr.wantPeak(presence.Site, 2, at)
	for range 3 {
		tr.pass(day + slack)
		tr.age()
		if _, err := tr.store.Trim(tr.ctx, period, 0); err != nil {
			tr.Fatalf("trim: %v", err)
		}
		tr.wantRecord(record)
	}
	tr.do(presence.Site, join("w", "a.2"))
	tr.wantRecord(record)
	tr.do(presence.Site, join("x", "a.3"), join("y", "a.4"))
	tr.wantPeak(presence.Site, 3, tr.now())
}
