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
//	go test -run 'TestRules/rule_3'
//
// runs the cases of rule 3. [Model] applies random operations to the store and to a tiny
// oracle, and compares all that can be read after each. It also tells what nodes know of a user in any
// order, with repetitions, at once and bit by bit: in the end the same is known. A store in memory takes a
// minute for a million of such orders:
//
//	go test -run TestModel/orders -rapid.checks=1000000
//
// A store with a server plays a hundred, the default of package rapid, or some thousand. [Compare] plays one long
// random game with two stores.
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
//   - heartbeats for more than the length of the lease, and those of a user whom only an expired lease keeps out of the roster;
//   - the grace of a page that closed before another one and holds longer;
//   - which moment is told of a user who hides by several choices in one step;
//   - whether Inspect shows a user of whom no profile is known;
//   - a list of page views that lacks one of before the sets began, which was written late;
//   - which users the bound of rule 9 evicts.
package presencetest
