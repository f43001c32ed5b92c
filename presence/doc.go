// Package presence has the words of who is online: topics, users, visitors, devices, statuses,
// settings, and the errors of all that. Everything imports it, and it imports nothing of the
// packages beside it. It knows no HTTP, no framework and no database.
//
//   - package track has the engine: a site makes one track.Tracker.
//   - package backend is the contract of stores, by numbered rules.
//
// # Files
//
//	topic.go tenant.go cursor.go        names of topics, in one fleet of several sites; their versions
//	user.go member.go visitor.go        who is present; who asks
//	device.go session.go token.go op.go a user's devices; a page's token; who holds a lease
//	directory.go person.go              the site's lasting knowledge of people; what one viewer sees
//	status.go visibility.go             what a user chose to show, and to whom
//	event.go signal.go place.go         what pages are told
//	kind.go finding.go act.go           settings by kind of topic; mistakes of wiring; acts of staff
//	errors.go                           what functions of all packages return
//
// # Words
//
// Each word means the same in code, JSON, metrics and docs. Heartbeat, join, recent and record have two meanings, by
// what they are of:
//
//   - topic: a scope in which users are present, such as "site" or "thread:42".
//   - user: a visitor who is signed in. Guest: a visitor who is not. Guests are counted,
//     never named.
//   - connection: one live stream of one page.
//   - lease: says that one holder keeps a user online in a topic until a moment. The
//     holder is a node, for all pages of the user that are open there, or [HolderWeb] for
//     page views, or [HolderGrace] for the time after a connection closed.
//   - visit: a node that hears a page's beats, while the page's connection is at another
//     node, holds the user of the page for a TTL.
//   - word: what a node says of its pages of a user in a topic. Generation of a node: a number of its words. After a loss of
//     data the node begins the next one, and what is left of those before ends.
//   - moment: when something happened, told to the store as a duration until now. Revision:
//     a number that is greater for each later choice of a user.
//   - heartbeat of a lease: renews it, and never makes one. Heartbeat of a stream: the event that
//     nothing is new, with the totals ([EventHeartbeat]).
//   - join: a user gets a first lease in a topic. Leave: the last lease ends. Joins of an event: the
//     users who joined, and those whose profile or status is new, whom a backend.Diff has in its
//     Updates. The operation backend.OpJoin makes or renews a lease, and is a join only if the lease
//     is the user's first.
//   - roster: the users who are present. State: the roster at a cursor. Diff: the joins, leaves and
//     new profiles between two cursors. Cursor: an opaque name of one version of a topic, or in a
//     stream of one version of each of its topics.
//   - age: the current set of page views becomes the old one. There are two sets, so
//     `recent` covers one to two periods. Sweep: expired leases are removed and their
//     leaves announced.
//   - kind: the part of a topic before its first colon; also the settings of such topics
//     ([Kind]). Count-only: a kind of topic whose visitors get figures and no names.
//   - record of a topic, or peak: the most users who were online there at one time. Record of a consumer:
//     what the store keeps of it.
//   - recent, as a figure: how many users viewed a page within one to two periods, whether they are still
//     online or not. Recent users: the latest active ones by name, as many as [Kind].Recent, for 24 hours.
//   - place: a topic with people in it. Bot: a crawler that says that it is one.
//   - consumer: a program that track.Tracker.Deliver tells of joins and leaves.
//   - node: one process of a fleet. Notice: a message from one node to all nodes.
//
// # Who is online, exactly
//
// A page view holds a user online in a topic for one age period. An open connection holds
// its user online in its topics while it is alive, and for one grace time longer. A
// connection takes the place of the page views from before it was opened.
// Signing out ends at once everything from before. The rules that a store keeps to make
// this so are numbered at backend.Store.
//
// Example with the defaults (age 5 min, grace 10 s). Alice views a page at 12:00:00, and
// its stream opens at 12:00:01. She closes the tab at 12:03:00 and is gone at 12:03:10:
// the page view would hold until 12:05:00, but is older than the stream. With JavaScript
// turned off she is gone at 12:05:00.
//
// # Kinds of topics
//
// Each kind of topic may have settings of its own, its [Kind]: see track.Config.Kinds. All that a
// store can keep beyond who is online is off by default, and costs nothing while it is off.
//
//	track.Config{Kinds: map[string]presence.Kind{
//		"site": {Recent: 1000, Peak: true, Bots: true}, // {{recentlyActive "site"}} and the like
//		"edit": {TTL: 15 * time.Second, Grace: -1},     // an editor who is gone is gone at once
//		"hall": {CountOnly: true},                      // how many, and not who
//	}}
//
// Pages read track.Tracker.LatelyActive, track.Tracker.Counts and track.Tracker.Places, which wait for
// the store no longer than track.Tracker.View does. track.Tracker.Recent, track.Staff.Topics and
// track.Staff.Inspect ask the store each time.
package presence
