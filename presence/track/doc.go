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
// What happens has a moment, or a revision. So the writes of several nodes may arrive in
// any order.
//
// # Files
//
//	tracker_*.go tracker.go config.go kind.go     the verbs, by who calls them; the parts; settings
//	pages.go jobs.go staff.go acts.go             page views; sweeps and the like; acts of staff
//	users*.go leases*.go connection*.go           who is here, and who says so
//	visit.go                                      pages whose beats come here, and whose connection does not
//	whereabouts.go                                in which topics and by which devices a user is here
//	choices*.go settings*.go                      what users chose
//	idle*.go attended.go                          away by itself
//	signout.go signoff.go sessions*.go devices.go ends: of a user, a browser, a device's session
//	holdings.go writer*.go notices.go             what is to be written, and writes on their way
//	outage*.go                                    can the store be trusted
//	topic_*.go topics*.go                         the topics that are read here
//	outlet*.go line.go sources.go                 how versions reach readers
//	event_version.go                              the version of the stream
//	window*.go                                    readers of the first users of a topic, and of dots
//	watch*.go person*.go lastseen*.go             people, and what a viewer may see of them
//	directory_calls.go                            calls of the site's Directory
//	changes.go delivering.go                      events for programs: see package deliver
//	signal*.go recent*.go places*.go peaks*.go    signals; recent users; places; records
//	figure*.go answers.go                         figures of topics, and other answers that pages do not wait for
//	fleet.go seal.go                              other nodes; the fleet's secret
//	poller.go housekeeping*.go                    what each node asks again and again; its own lease
//	lifetime.go locks*.go                         goroutines; mutexes
//	ask_queue.go                                  what is asked about next
//	erase*.go                                     what is forgotten of a user
//	stats*.go health.go finding.go                figures of the node; its health; mistakes of wiring
//
// [memstore]: https://pkg.go.dev/github.com/rollcall-go/rollcall/presence/memstore
// [redisstore]: https://pkg.go.dev/github.com/rollcall-go/rollcall/presence/redisstore
package track

// Locks, for those who change this package.
//
// A goroutine that holds a mutex may only take one of a later level:
//
//	1  users.mu, Connection.mu, countedGuest.mu
//	2  topics.mu, peopleHere.mu
//	3  outlet.mu, which is Line.mu, replica.mu or watchList.mu; guestCounts.mu, answers.mu, untils.mu
//	4  all others
//
// Mutexes of one level are never held together. locks.go has a type for each.
//
// A sync.Mutex or RWMutex that is a field has no level: it is taken with no other mutex held. So have those of
// package deliver.
//
// users.mu also guards holder.held, each knownUser, and the questions about choices. A source, such as a
// replica, shares its mutex with its outlet. Methods whose name ends in Locked are called with the mutex of
// their type held (of users for knownUser and choices, of the outlet for sources). No method calls the store
// with a mutex held. A store may hold mutexes of its own while it calls a listener, which takes any of these.
//
// `go test -tags lockorder ./presence/track` fails where the order is broken (internal/lockorder).
