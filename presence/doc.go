// Package presence knows who is online: topics, users, leases, and the diffs
// between one moment and the next. It knows no HTTP, no framework and no
// database; those live in packages beside it, which know this one.
//
// # Words
//
// Each has one meaning, the same in code, JSON, metrics and docs:
//
//   - topic: a scope in which people are present, such as "site" or "thread:42".
//   - user: someone signed in. Guest: someone who is not; guests are counted,
//     never named.
//   - connection: one live stream of one page.
//   - lease: a user held online in a topic by one holder until a moment. The
//     holder is a connection, or [HolderWeb] for page views, or [HolderGrace]
//     for the time after a connection closed.
//   - heartbeat: renews a lease. It only lengthens, and never makes one.
//   - join, leave: a user's first lease in a topic, the last one gone.
//   - roster: who is present. State: the roster at a cursor. Diff: the joins
//     and leaves between two cursors. Cursor: an opaque name of one version of
//     a topic.
//   - age: the current set of page views becomes the old one. Sweep: expired
//     leases are removed and their leaves announced.
//
// # How it hangs together
//
//	page views                            live pages
//	    │                                     │      ▲
//	    ▼ Seen                        Connect ▼      │ Events, encoded once
//	┌───────────────────────── Tracker ──────────────────────────┐
//	│ writer: merged batches          replica: views, ring, log  │
//	└───────────┬─────────────────────────────▲──────────────────┘
//	            ▼ Apply                       │ Watch
//	                           Store
//
// Writes go down, changes come up, nothing goes sideways. A [Store] is the only
// shared truth. A [Tracker], one a process, collects what happens into small
// batches for the store, and keeps a replica of each topic that somebody here
// looks at: every read is answered from memory.
//
// # Who is online, exactly
//
// A page view holds a user online in a topic for one age period. An open
// connection holds a user online in its topics as long as it is alive, and one
// grace time longer. When the last connection closes and no page view came
// since it was opened, the user is gone after the grace, also if an earlier
// page view would have held longer. Signing out ends everything at once. The
// rules that a store keeps to make this so are numbered at [Store].
package presence
