// Package track is the engine: who is online, and who came and went. A [Tracker], one a process,
// works over a [backend.Store]. Sites make it, and the packages handlers, templates, middleware,
// jobs and feed ask it. The words are those of package presence.
//
// # For sites
//
// A site makes one [Tracker] over a store ([memstore] for one process, [redisstore] for a
// fleet) and gives it to the packages middleware, handlers, templates and jobs. Of this
// package it uses [New], [Config], [presence.User], and the verbs [Tracker.SignOut],
// [Tracker.SetStatus], [Tracker.View] and [Tracker.Changes].
//
// # For transports
//
// A transport sends what happens in topics to pages. It opens a [Connection] with
// [Tracker.Connect], waits for [Connection.Ready] or for a [Group] of connections, and
// writes what [Connection.Events] returns, or [Connection.Bytes] in a [Form] of its own.
// A page proves that it is alive with its [presence.Token]: see [Tracker.Beat] and
// [Tracker.Leave]. The package handlers is one such transport.
//
// # How it hangs together
//
//	page views                            live pages
//	    │                                     │      ▲
//	    ▼ Seen                        Connect ▼      │ events, encoded once
//	┌───────────────────────── Tracker ──────────────────────────┐
//	│ users: who is here      topics: replicas, each with        │
//	│ leases, writer          a roster and an outlet             │
//	└───────────┬─────────────────────────────▲──────────────────┘
//	            ▼ Apply                       │ Watch
//	                           Store
//
// Writes go down, changes come up. The store is the only shared truth. A Tracker, one a
// process, collects what happens into small batches for the store, and keeps a replica
// of each topic that somebody here looks at, so that every read is answered from memory.
//
// # Files
//
//	tracker_*.go tracker.go config.go         the verbs, by who calls them; the parts; settings
//	pages.go jobs.go staff.go                 page views; sweeps and the like; acts of staff
//	users*.go leases*.go connection*.go       who is here, and who says so
//	choices*.go status.go settings*.go idle.go  what users chose; away by itself
//	writer*.go outage*.go notices.go          writes on their way; can the store be trusted
//	topic_*.go topics*.go roster_pages.go     the topics that are read here
//	outlet*.go line.go sources.go             how versions reach readers
//	window*.go                                readers of the first users of a topic, and of dots
//	people: watch*.go person*.go lastseen*.go
//	delivering.go                             events for programs: see package deliver
//	signal*.go recent.go places*.go peaks*.go erase*.go stats*.go
//
// [memstore]: https://pkg.go.dev/github.com/rollcall-go/rollcall/presence/memstore
// [redisstore]: https://pkg.go.dev/github.com/rollcall-go/rollcall/presence/redisstore
package track

// Locks, for those who change this package.
//
// A goroutine that holds a mutex may only take one of a later level:
//
//	1  Connection.mu
//	2  users.mu
//	3  topics.mu, people.mu, leases.mu, guestCounts.mu
//	4  outlet.mu
//	5  Group.mu, View.mu
//	6  writer.mu
//	7  outage.mu, lastSeen.mu, untils.mu, signals.mu, the mutexes of answers,
//	   figures, records and askedUsers, those of what people heard and of relations, and
//	   that of the calls of the Directory
//	8  notices.mu, lifetime.mu, acts.mu
//
// Mutexes of one level are never held together. locks.go has a type for each.
//
// users.mu also guards holder.held, each knownUser, and the questions about choices. A source, such as a
// replica, shares its mutex with its outlet: outlet.mu stands for it here. Methods whose name
// ends in Locked are called with the mutex of their type held (of users for knownUser and
// choices, of the outlet for sources). The mutexes of package deliver and of fleet.go, idle.go and sources.go have
// no level: they are taken with no other one held. No method calls the store with a mutex held.
// A store may hold mutexes of its own while it calls a listener, which takes any of these.
//
// `go test -tags lockorder ./presence/track` fails where the order is broken (locks_ordered.go).
