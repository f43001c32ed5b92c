// Package feedtest is for tests: of a site that has feeds, and of a [feed.Store]. It has the
// conformance kit that every Store must pass, a store in memory, and one that fails on demand.
//
// # The test of a site
//
// [NewMemory] returns a Store in memory. Its time is time.Now, so that a test in a bubble of
// [testing/synctest] skips the minutes before a digest with time.Sleep:
//
//	synctest.Test(t, func(t *testing.T) {
//		store := feedtest.NewMemory()
//		keeper, err := feed.New(store, tracker, feed.Config{})
//		…
//		store.Out(true) // the database is out
//	})
//
// # The test of a store
//
// A store's own test says how to make the store, and what else happens to its database:
//
//	var harness = feedtest.Harness{New: func(t testing.TB) feedtest.Site {
//		store := …
//		return feedtest.Site{Store: store, Insert: …, Advance: …}
//	}}
//
//	func TestRules(t *testing.T)  { feedtest.Run(t, harness) }
//	func TestModel(t *testing.T)  { feedtest.Model(t, harness) }
//	func TestFaults(t *testing.T) { feedtest.Faults(t, harness) }
//
// [Run] tests a store by the numbered rules of package feed, case by case. A case is named
// after its rule, so that
//
//	go test -run 'TestRules/rule_F7'
//
// runs the cases of rule F7. After each step of a case readers who stopped at earlier
// revisions catch up, and must have what a page read afresh has (rule F2).
//
// [Model] makes random moves in the store and in a [Memory], and compares all that can be read
// after each. [Faults] does so while calls of the store fail, before or after their effect, and
// are repeated. The environment says how long: FEEDTEST_MOVES=100000, and from which
// FEEDTEST_SEED, which a failure prints.
//
// # What it leaves open
//
// How long a row that cannot be moved waits, within its bounds. How many revisions the moving
// of several rows takes, from one to one a row. Which rows a trim removes first, if it may not
// remove all, and whether it notices at once that Keep or Archived differ from those of the last
// one: the processes of a site agree on them. Whether a recount gives a feed a revision. Which ID a message leaves behind that
// came to a full inbox.
package feedtest
