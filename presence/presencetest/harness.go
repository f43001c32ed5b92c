package presencetest

import (
	"slices"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence/backend"
)

// A Harness tells the kit how to make one kind of store, and how its time
// moves. New and Advance are required.
type Harness struct {
	// New returns a fresh, empty store, which ends with t. It is called inside
	// Wrap, and may be called several times in one test: stores made by two
	// calls know nothing of each other, as if the first had been wiped.
	New func(t *testing.T) backend.Store

	// Peer returns the same truth as another node sees it, such as a second
	// client of the same server. Nil: the nodes share the store itself.
	Peer func(t *testing.T, store backend.Store) backend.Store

	// Advance moves the time of a store that New returned (rule 4), and returns
	// once it has moved. In Run it may move by itself too, a few seconds a case;
	// Model and Compare need one that stands still between two calls.
	Advance func(store backend.Store, d time.Duration)

	// Wrap runs one test in what it needs around it, such as [synctest.Test].
	// Nil: in nothing.
	Wrap func(t *testing.T, test func(t *testing.T))
}

func (h Harness) wrap(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	if h.Wrap == nil {
		test(t)
		return
	}
	h.Wrap(t, test)
}

func (h Harness) peer(t *testing.T, store backend.Store) backend.Store {
	if h.Peer == nil {
		return store
	}
	return h.Peer(t, store)
}

// A ruleCase is one test of one rule.
type ruleCase struct {
	rule string // "rule 3"
	name string
	test func(*trial)
}

func allCases() []ruleCase {
	return slices.Concat(
		leaseCases(), mergeCases(), graceCases(), tabCases(), diffCases(), invisibleCases(), choiceCases(), profileCases(), logCases(), watchCases(),
		raceCases(), seenCases(), ageCases(), guestCases(), boundCases(), hostileCases(), lastingCases(),
		statusCases(), secretCases(), recentCases(), recentPageCases(), activeCases(), peakCases(), recordCases(),
		botCases(), signOffCases(), unseenCases(), topicsCases(), consumerCases(), broadcastCases(), nodeCases(),
		idleCases(), rosterCases(), eraseCases(), deadlineCases(), changesCases(),
	)
}

// Run holds a store against every rule of [backend.Store], each case on a fresh
// store. Cases run one after the other; the whole takes a store in memory less
// than a second.
func Run(t *testing.T, h Harness) {
	for _, c := range allCases() {
		t.Run(c.rule+"/"+c.name, func(t *testing.T) {
			h.wrap(t, func(t *testing.T) {
				tr := newTrial(t, h)
				c.test(tr)
				tr.finish()
			})
		})
	}
}
