package feedtest

import (
	"slices"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence/feed"
)

// A Harness tells the kit how to make one kind of [feed.Store].
type Harness struct {
	// New returns a fresh, empty store, which ends with t.
	New func(t testing.TB) Site
}

// A Site is a [feed.Store] with functions for other events in its database. They may return an error, which
// fails the case.
type Site struct {
	feed.Store

	// Insert puts a row into the outbox as another program does: only its id and its JSON, and
	// the tenant unless it is empty.
	Insert func(tenant, id, message string) error

	// Advance makes all rows of the database older by d, in all tenants: it moves their times back, except
	// Born.
	Advance func(d time.Duration) error

	// Peer returns the store as another process has it, without this one's memory. Nil: only this process
	// uses the store.
	Peer func() feed.Store

	// Rollback sends messages in a transaction that is rolled back. Nil: the store cannot take part in a
	// transaction of the site, and that case is skipped.
	Rollback func(ms ...feed.Message) error

	// Miscount sets the counters of a feed to wrong numbers. Nil: the store has no counters
	// that can be wrong, and that case is skipped.
	Miscount func(n feed.Name, unread, unseen int) error
}

// Site returns the store for the kit.
func (m *Memory) Site() Site {
	return Site{
		Store:   m,
		Insert:  m.InsertFor,
		Advance: func(d time.Duration) error { m.Advance(d); return nil },
	}
}

// Run checks a store against the rules of [feed.Store], each case on a fresh store. Cases are
// named after their rule, and run one after the other. The store's clock may differ from this
// process's by some seconds.
func Run(t *testing.T, h Harness) {
	for _, c := range cases() {
		t.Run(c.name(), func(t *testing.T) { c.run(t, h.New(t)) })
	}
}

// cases returns all cases.
func cases() []testCase {
	return slices.Concat(deliveryCases(), badRowCases(), relayCases(), revisionCases(), counterCases(), onceCases(), groupCases(), muteCases(),
		raceCases(), tenantCases(), markCases(), roomCases(), catchUpCases(), digestCases(), repeatedDigestCases(), trimCases(), apartCases())
}

// A testCase is one test of one rule.
type testCase struct {
	rule  string // "F1"
	title string
	test  func(*trial)
}

func (c testCase) name() string { return "rule_" + c.rule + "/" + c.title }

func (c testCase) run(t testing.TB, site Site) {
	tr := newTrial(t, site)
	c.test(tr)
	tr.finish()
}
