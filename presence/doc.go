// Package presence knows who is online. It keeps topics, users and leases, and the diffs
// between one moment and the next. It knows no HTTP, no framework and no database; those
// live in packages beside it, which import it.
//
// # Words
//
// Each word has one meaning, the same in code, JSON, metrics and docs:
//
//   - topic: a scope in which users are present, such as "site" or "thread:42".
//   - user: a visitor who is signed in. Guest: a visitor who is not. Guests are counted,
//     never named.
//   - connection: one live stream of one page.
//   - lease: says that one holder keeps a user online in a topic until a moment. The
//     holder is a connection, or [HolderWeb] for page views, or [HolderGrace] for the
//     time after a connection closed.
//   - heartbeat: renews a lease. It never makes one.
//   - join: a user gets a first lease in a topic. Leave: the last lease ends.
//   - roster: the users who are present. State: the roster at a cursor. Diff: the joins
//     and leaves between two cursors. Cursor: an opaque name of one version of a topic.
//   - age: the current set of page views becomes the old one. There are two sets, so
//     `recent` covers one to two periods. Sweep: expired leases are removed and their
//     leaves announced.
//   - kind: the part of a topic before its first colon; also the settings of such topics
//     ([Kind]). Count-only: a kind of topic whose visitors get figures and no names.
//   - record, or peak: the most users who were online in a topic at one time.
//   - recent: users who viewed a page within one to two periods, whether they are still
//     online or not.
//   - place: a topic with people in it. Bot: a crawler that says that it is one.
//   - consumer: a program that [Tracker.Deliver] tells of joins and leaves. Its record is
//     what the store keeps of it, and has nothing to do with the record of a topic.
//   - node: one process of a fleet. Notice: a message from one node to all nodes.
//
// # Who is online, exactly
//
// A page view holds a user online in a topic for one age period. An open connection holds
// its user online in its topics while it is alive, and for one grace time longer. When
// the last connection closes, page views from before that connection was opened no longer
// count.
// Signing out ends everything at once. The rules that a store keeps to make this so are
// numbered at [Store].
//
// Example with the defaults (age 5 min, grace 10 s). Alice views a page at 12:00:00, and
// its stream opens at 12:00:01. She closes the tab at 12:03:00 and is gone at 12:03:10:
// the page view would hold until 12:05:00, but is older than the stream. With JavaScript
// turned off she is gone at 12:05:00.
//
// # For sites
//
// A site makes one [Tracker] over a store ([memstore] for one process, [redisstore] for a
// fleet) and gives it to the packages middleware, handlers, templates and jobs. Of this
// package it uses [New], [Config], [User], and the verbs [Tracker.SignOut],
// [Tracker.SetStatus], [Tracker.View] and [Tracker.Changes].
//
// # Kinds of topics
//
// Each kind of topic may have settings of its own, its [Kind]: see [Config].Kinds. All that a
// store can keep beyond who is online is off by default, and costs nothing while it is off.
//
//	presence.Config{Kinds: map[string]presence.Kind{
//		"site": {Recent: 1000, Peak: true, Bots: true}, // {{recentlyActive "site"}} and the like
//		"edit": {TTL: 15 * time.Second, Grace: -1},     // an editor who is gone is gone at once
//		"hall": {CountOnly: true},                      // how many, and not who
//	}}
//
// Pages read [Tracker.LatelyActive], [Tracker.Counts] and [Tracker.Places], which wait for
// the store no longer than [Tracker.View] does. [Tracker.Recent], [Tracker.Topics] and
// [Tracker.Inspect] ask the store each time.
//
// # For transports
//
// A transport sends what happens in topics to pages. It opens a [Connection] with
// [Tracker.Connect], waits for [Connection.Ready] or for a [Group] of connections, and
// writes what [Connection.Events] returns, or [Connection.Bytes] in a [Form] of its own.
// A page proves that it is alive with its [Token]: see [Tracker.Beat] and
// [Tracker.Leave]. The package handlers is one such transport.
//
// # For stores
//
// A store implements [Store] by its numbered rules, which package presencetest checks one by
// one. A [Batch] of [Op] goes in, a [Diff] comes out. A store is also a [Bus] for
// notices. [StatsStore] and [OutageReporter] are optional.
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
// # Locks
//
// A goroutine that holds a mutex may only take one of a later level:
//
//	1  Connection.mu
//	2  users.mu
//	3  topics.mu, people.mu, leases.mu
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
// users.mu also guards Connection.opened, each knownUser, and the queue of choices. outlet.mu
// also guards the state of the source that has the outlet, such as a replica. Methods whose name
// ends in Locked are called with the mutex of their type held (of users for knownUser and
// choices, of the outlet for sources). The mutexes of deliver_*.go, idle.go and sources.go have
// no level: they are taken with no other one held. No method calls the store with a mutex held.
// A store may hold mutexes of its own while it calls a listener, which takes any of these.
//
// `go test -tags lockorder ./presence` fails where the order is broken (locks_ordered.go).
//
// [memstore]: https://pkg.go.dev/github.com/rollcall-go/rollcall/presence/memstore
// [redisstore]: https://pkg.go.dev/github.com/rollcall-go/rollcall/presence/redisstore
package presence
