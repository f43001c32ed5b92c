// Package backend is the contract between the engine and what keeps presence: a [Store] with its
// numbered rules. Stores import it, and the kit that checks them (presencetest). Sites hardly need
// it.
//
// # For stores
//
// A store implements [Core], which has twelve methods, by the numbered rules at [Store], which
// package presencetest checks one by one. A [Batch] of [Op] goes in, a [Diff] comes out. A store
// is also a [Bus] for notices. Everything else is optional: each of the [Features] is an
// interface, which the store implements where the site needs it, and so are [StatsStore] and
// [OutageReporter].
//
// # Files
//
//	core.go op.go diff.go bus.go            what every store does; what goes in, and what comes out
//	store.go feature.go feature_missing.go  the rules; the optional parts, and which a store has
//	kept_status.go nodes.go broadcast.go    statuses and the secret; leases of processes; signals
//	extras.go peaks.go roster_query.go      records, bots and names; pages of a large roster
//	staff.go stats.go                       what staff sees; the store's own figures
//	consumers.go                            the record of a program that is told of joins and leaves
//	records.go kept.go                      what keeps something of users; how they are erased
//	devices.go                              the hidden topic of all devices
package backend
