// Package presencetest is for the tests of a store. It has
// the conformance kit that every [backend.Store] must pass, and a store that fails on
// demand.
//
// # The test of a store
//
// A store's own test says how to make the store and how to move its time. This is that of the memory store,
// which memory_test.go has. mutants_test.go breaks the store in one place after another:
//
//	var harness = presencetest.Harness{
//		New:      func(t *testing.T) backend.Store { return memstore.New() },
//		Advance:  func(_ backend.Store, d time.Duration) { time.Sleep(d) },
//		Wrap:     synctest.Test,
//	}
//
//	func TestRules(t *testing.T) { presencetest.Run(t, harness) }
//	func TestModel(t *testing.T) { presencetest.Model(t, harness) }
//
// A store with a server has no Wrap, since the time of [synctest.Test] does not move while a goroutine waits for a
// server. Its Advance moves a clock that the store has for tests: see redisstore/internal/storetest.
//
// # What it checks
//
// [Run] tests a store by the numbered rules of [backend.Store], case by case. A case is
// named after its rule, so that
//
//	go test -run 'TestRules/rule_6'
//
// runs the cases of rule 6. [Model] applies random operations to the store and to a tiny
// oracle, and compares all that can be read after each. It also plays what a user did in any
// order, with repetitions: others see the same. [Compare] plays one long random game with
// two stores.
//
// All of them follow topics as a careful reader does: each diff must fit the roster that
// the diffs before it made, the log must go on where the reader stopped, and
// [backend.Store.Watch] must deliver the diffs of the log. Deliveries may be slow.
//
// # What it leaves open
//
// A store may remove an expired lease at any time, by a sweep at the latest. It may
// announce the leaves of one sweep in one diff or in several. It may turn the sets of page
// views by its own calendar, as long as they hold one to two periods. Random games also
// leave open:
//
//   - whether a heartbeat of a lapsed lease sweeps its user;
//   - heartbeats for more than the length of the lease;
//   - whether a store that has not swept an invisible user yet takes a late page view as turning visible;
//   - the user without a status whose leases have lapsed, or who signs out;
//   - a list of page views that lacks one of before the sets began, which was written late;
//   - which users the bound of rule 15 evicts.
package presencetest
