// Package presencetest is the conformance kit that every [presence.Store] must
// pass, and a store that fails on demand.
//
// A store's own test says how it is made and how its time moves, and the kit
// does the rest:
//
//	var harness = presencetest.Harness{
//		New:     func(t *testing.T) presence.Store { return memstore.New() },
//		Advance: func(_ presence.Store, d time.Duration) { time.Sleep(d) },
//		Wrap:    synctest.Test,
//	}
//
//	func TestRules(t *testing.T) { presencetest.Run(t, harness) }
//	func TestModel(t *testing.T) { presencetest.Model(t, harness) }
//
// # What it checks
//
// [Run] holds a store against the numbered rules of [presence.Store], a case at
// a time. A case is called by its rule, so that
//
//	go test -run 'TestRules/rule_6'
//
// runs what there is about rule 6. [Model] applies random operations to the
// store and to a tiny oracle, and compares all that can be read after each.
// [Compare] plays one long random game with two stores.
//
// In all of them a topic is followed as a careful reader would follow it: each
// diff must fit the roster that the diffs before it made, the log must go on
// where the last one stopped, and what [presence.Store.Watch] delivered must be
// the log, diff by diff. Delivery may take its time.
//
// # What it leaves open
//
// A store may remove an expired lease whenever it likes, by a sweep at the
// latest; it may announce those whom one sweep found in one diff or in several;
// and it may turn the sets of page views by its own calendar, as long as they
// hold one to two periods. Random games leave open as well: which of two
// connections was the last, if they lapse in the same moment; which came first, a
// page view or a connection that joined before it and joins again; whether a
// heartbeat of a lapsed lease sweeps its user; heartbeats for another time than
// their holder joined for; and whether page views of a user count as recent who
// was invisible then and no longer is.
package presencetest
