// Package feed keeps lists that last: the inbox of each user, and rooms such as the posts of
// a thread. A page follows a feed over the same stream as who is online, and a page that comes
// back gets what it missed, once. The rows are in the site's own database: see package
// sqlstore.
//
// # Words
//
//   - feed: a numbered list of items. Its [Name] is a kind and an id: "inbox:alice",
//     "thread:42".
//   - item: one entry of a feed. Its place is its position in the list; a higher place is
//     newer. In an inbox an item is unread, read or archived.
//   - revision: a feed has a number that grows by one with each change, and each item has the
//     revision of its latest change. So "what changed after 17" is one range of rows.
//   - message: what somebody sends. A message becomes an item, or joins one (see group).
//   - outbox: the table in which messages wait. Relay: moves messages from there to feeds.
//   - group: unread messages with the same group, about the same thing, are one item: "Alice
//     and 3 others replied".
//   - mute: a user's wish to get no messages of a sort.
//   - feed state: a feed that pages of this node follow. Hint: tells other nodes that a feed has a
//     new revision, and no more.
//   - digest: one mail with all that a user has not read.
//
// # Rules
//
// Every [Store] keeps these rules; the cases of feedtest cite their numbers. The rules that
// are about what pages follow are kept by [Keeper].
//
//	F1  A message that was committed to the outbox is in every recipient's feed exactly once,
//	    whatever dies when. A message that was rolled back is nowhere, ever.
//	F2  Revisions of a feed have no gaps, and commit in order. What a reader had at revision r,
//	    with the changes since r applied, is what a page read afresh has, but for SeenAt.
//	F3  Unread and Unseen equal a count of the rows, at every commit.
//	F4  The same message ID in the same feed counts once, for as long as items are kept, also
//	    inside a group and after it was read.
//	F5  Nobody gets a message from themselves. Mutes hold as of the relay. A message with Must
//	    passes mutes of its type and of everything.
//	F6  Any number of relays, senders and markers at once: no deadlock, and no lost update.
//	F7  Marking is idempotent, returns the new head, and changes only the feed that it names. An
//	    item that has moved to another place since the page saw it stays as it is. An item keeps
//	    when the mark Seen passed it, and when it was first read since it was last unread.
//	F8  A page that shows a revision is right for that revision. A stream from there repeats
//	    nothing and misses nothing. A cursor older than Head.Floor, or more than 200 items
//	    behind, gets a state.
//	F9  A hint that is lost, doubled or forged changes when pages are told, and nothing else.
//	    No text of a message is in the presence store.
//	F10 A request that sends waits for its own insert only. A page waits for the number at its
//	    bell for at most 50 ms, and then shows none.
//	F11 A digest goes to nobody who is at a page, and has nothing that was read. An unread
//	    item is in at most one successful digest.
//	F12 A feed holds at most Config.Most items, for at most Config.Keep. Trimming removes at
//	    most 1,000 rows a step, and never an unread item younger than Config.Keep.
//	F13 Inboxes are named by the server, from the visitor: no request can name another's.
//	F14 Time is the database's.
package feed
