// Package backend is the contract between the engine and what keeps presence: a [Store] with its
// numbered rules, a [Bus] for notices, and [Consumers] of events. Stores import it, and the kit
// that checks them (presencetest). Sites hardly need it.
//
// # For stores
//
// A store implements [Store] by its numbered rules, which package presencetest checks one by
// one. A [Batch] of [Op] goes in, a [Diff] comes out. A store is also a [Bus] for
// notices. [StatsStore] and [OutageReporter] are optional.
//
// # Files
//
//	store.go op.go diff.go roster_query.go  the rules; what goes in, and what comes out
//	bus.go broadcast.go                     notices between nodes; signals
//	extras.go peaks.go stats.go             what a store keeps beyond who is online; its figures
//	consumers.go                            the record of a program that is told of joins and leaves
//	records.go kept.go                      what keeps something of users; how they are erased
//	devices.go                              the hidden topic of all devices
package backend
