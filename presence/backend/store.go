package backend

import (
	"context"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// A Store is what the nodes of a fleet share: who is online, and what must outlive a node. All methods
// may be called concurrently, from any number of nodes. Each method says what it costs a store that is
// reached over a network, in round trips.
//
// # Rules
//
// Every store keeps these rules; the cases of presencetest cite their numbers.
//
//  1. A user is online in a topic exactly while something holds the user there (rule 3). There is no
//     counter of its own: a count changes only in the same atomic step as what holds the user.
//  2. A join is announced when a user comes into the roster, a leave when the user goes out of it, and an update
//     when others see a change. The roster has the users who are online,
//     but for those whose profile the topic does not know, and those whose status is [presence.Invisible]. Each is announced exactly once in the whole fleet, whichever node sweeps, and however often.
//     A change of state and its diff are one atomic step. The step appends the diff
//     to the topic's log, with the id of the diff before it. A reader whose last id
//     is not Prev has a gap: it reads the log, or a fresh snapshot if the log does
//     not reach back to that id. Pages see ids. So the ids of a topic tell nothing of
//     reserved topics: one sequence for both would have a gap where somebody who hides
//     comes or goes.
//     Turning invisible looks like leaving. The leave has the moment of the choice, and
//     page views from before count on as those of a user who left. What the user does until turning visible, also a sign-out,
//     changes nothing that others see. Turning visible is a proof of life (rule 5), so that nothing is ever told of the time
//     before.
//     Example: Bob opens a stream at 10:00. He turns invisible at 10:07:05, views pages until 11:00 and signs out. The diff of
//     10:07:05 has his leave, last seen at 10:07:05, and nothing changes at 11:00.
//  3. An operation says what a node knows, and a store merges it with what it has: of each fact the greater value counts. So
//     operations may come in any order, late, and several times, and in the end the same is known. Of a member of a topic a
//     store knows
//     - the word of each connection's [presence.Holder], which is an OpJoin, OpKeep or OpRelease: the one with the greatest
//     Op.Gen, and of those the one with the greatest Op.Rev;
//     - the latest moment at which a page joined (Op.Joined);
//     - the latest page view, and the grace that ends last;
//     - the latest OpSignOut, and the latest OpSignOut or OpSignOff;
//     - the choice, which is status and visibility, with the greatest [presence.User].Rev;
//     - the profile of the latest join or page view.
//     Of two words or choices with the same Rev the later one counts, and of two profiles of one moment too. From this follows what
//     holds the member:
//     - a connection whose word is no OpRelease, unless its latest page joined at the moment of the latest OpSignOut, or before;
//     - a page view, unless a page joined at its moment or later, or the user signed out or off then;
//     - a grace, unless the user signed out or off at its moment or later, or no page joined since the latest OpSignOut.
//     Each until the end that the operation names. An OpHeartbeat moves the end of a connection's lease, and nothing else.
//     A lease that is over goes by a sweep. Until then it keeps a member in the roster, and brings nobody there.
//     An OpKeep has no profile. So it keeps a member in the roster, and brings nobody there. What is known of a member is kept while
//     something holds the member, and for ten seconds after that, if an operation ended it. So what comes
//     late revives nobody, and the topic does not count as knowing the profile then.
//     Example: Alice signs out at node a, whose call fails. She signs in again, and opens a stream at node b. The store takes the
//     join of node b, and then the sign-out, which node a tells once more. She stays. Then it takes what node c, which did not
//     hear of the sign-out, says of her old page: that holds nobody.
//  4. Times are the store's, never those of a node's clock. A moment is told as how long ago it was: so it is later by as long as
//     the call is under way. What a store gets to after the deadline of its call's context
//     changes nothing. A store that is reached over a network may take its deadline by as much later as a call took lately.
//     Example: Redis hangs from 12:00:00 to 12:01:00. Node A writes Alice's page, gives up after
//     two seconds, and is deployed. Alice signs out. At 12:01:00 Redis gets to the write, and
//     refuses it.
//  5. Last seen is the last proof of life, not the moment of the sweep: of a lease that ended, the moment of the operation that
//     made or moved it; of an OpRelease and a sign-out their moment. It is kept for users who left, and trimmed by age and by
//     number. A page view that is written late counts from when it was viewed: as last seen, as the
//     Since of a user who was not there, as the activity of rule 9 and the minute there.
//     A user whose status ends with a "-", such as "online-", is unseen. A store treats
//     the user as it does without the "-" ("invisible-" is invisible), but tells and
//     keeps no last seen: the LastSeen of the Departure is zero, a last seen that is
//     kept from before goes, and the user is not among the names of rule 9. The status
//     at the end of a step counts. Turning seen is a proof of life and an
//     activity (rule 9), so that nothing is ever told of the time before.
//     Example: Carol comes at 10:00 as "online" and leaves at 10:05: her last seen is
//     10:05. She comes at 11:00 as "online-": her last seen is forgotten. At 11:05 she
//     turns "invisible-": the diff has her leave without last seen. She turns "online"
//     at 12:00, and her tab crashes at once: her last seen is 12:00.
//  6. A user is idle in a topic exactly while all that holds the user there is idle: connections and graces whose word says so. A page
//     view is not. Pages are those of connections alone. The store derives [presence.Member].Idle at the
//     end of each step, a sweep's too. A change is an update in the step's diff. The status that the user chose stays.
//     Example: Alice has a stream at node a and one at node b. At 12:00 nobody is at the
//     first page: node a writes an OpKeep, and nothing is told. At 12:05 nobody is at the
//     second either: node b writes an OpKeep, and the diff of that step says that she is idle.
//  7. A node's process has a lease too, which Poll renews. The connections of the
//     process, which [presence.Holder.Process] names, hang on it. Once it has lapsed, a
//     sweep with SweepOptions.Nodes ends the leases of these connections as it ends expired
//     ones. The process's last renewal counts as a proof of life of each of them (rule 5). Nothing hangs
//     on a process without a lease. A lapsed lease can be renewed until a sweep begins with it. It is forgotten
//     once all that hangs on it was swept, and a renewal for no time ends a lease at once.
//     A process that may not know what the store has of it begins a new generation, and writes what it holds again. After the
//     time that its poll says, a sweep ends what is left of the generations before (Op.Gen), also of its [presence.Visits], which
//     do not hang on its lease.
//     Example: node a renews its lease for 10 s at 12:00:00, and crashes at 12:00:02. The
//     lease lapses at 12:00:10. Alice's stream was at node a, and the next sweep announces
//     that she left, last seen at 12:00:00.
//  8. Page views, guests and bots count once in the current and the old set together. Ageing happens once a period in the whole
//     fleet, however many crons run: the store checks and stamps its own time. After two periods without
//     a call, the next call empties both sets. A sign-out takes the user out of the sets of page views, unless something still
//     holds the user, the user is invisible, or the topic remembers names without Keep.ForgetSignedOut (rule 9).
//     Up to [ExactGuests] guests are counted exactly, and OpForgetGuest takes a guest out at once. More
//     guests are estimated within 3 %, and OpForgetGuest lowers the estimate by one, for
//     4,096 guests at least. Guests are in no roster and in no diff. A store keeps of a guest only the id,
//     which is random and opaque, and only while the guest counts. It keeps about
//     ExactGuests ids a topic, and 4,096 of those who signed in, at most: so its memory is
//     bounded.
//     A bot counts under the latest name that came
//     with its id. A name that is not a [ValidBotName] is ignored. While [MaxBots] or more
//     are counted in a topic, a new one counts in the place of its [SharedBot], under the
//     latest name that came there. So the memory is bounded, and names with many bots keep
//     their share, whoever came first.
//     Example: 10,000 bots of as many names fill all places, and then 50 Googlebots come.
//     They take 50 places, and so about 50 are counted as Googlebot.
//  9. A topic keeps what the [presence.Keep] of its latest batch asks for, also in a sweep.
//     Keep.Names is how many users of a topic the store remembers by name: the latest
//     active ones, online or not. It keeps the newest profile of each, and the moment
//     of the latest activity: a page view or an announced join; at an announced leave
//     it is last seen. This moment never goes back. Of users active at the same moment
//     the store keeps those with the lesser IDs. A user whom the bound removed comes
//     back by an activity, and not by a new profile. Turning invisible
//     is an announced leave, and turning visible a join. In between nothing changes of what
//     is remembered of the user (rule 2).
//     With Keep.ForgetSignedOut a sign-out removes the user, also one who is offline,
//     unless something still holds the user. Nobody is remembered for longer
//     than [MaxWithin] after the last activity. If a Keep asks for fewer names, or for none, the store forgets the others: at
//     the latest by the first Age after the next announced join or leave.
//     With Keep.Active each member has the minute of the latest page view, or of the
//     join. A new minute is an update in the diff of the step with the page view.
//     Without Keep.Active members have none. After a site turned it off, a member
//     loses the minute by an update: at the next join, page view or update of the
//     member at the latest.
//     With Keep.Peak a topic has a record: the most visible users who were online at
//     one time, and when. The store compares at the end of each step with the Total
//     of Counts, which includes expired users until they are swept. The record grows
//     in the step that makes more users online; an equal number changes nothing. With
//     Keep.PeakGuests it also counts the guests of Counts, and a step that counts a
//     guest can raise it. OpPeak merges a record by [Peak.Better]. The record stays when the topic
//     is empty, and when a site turns Keep.Peak off. It takes about 100 bytes a topic.
//  10. Work and memory are bounded: a step touches one topic, and at most some hundred leases.
//     A topic is the unit of order, so all of it is on one server.
//     Within one period of its last user leaving, or a minute if that is longer, nothing
//     remains of a topic but last seen, recent users and the peak (rule 9).
//     A store that lost everything starts again from [Origin] with empty topics:
//     heartbeats report Unknown, and the nodes join again.
//     The status that a user chose outlives the user's leases and sign-outs, and only Trim forgets
//     it. The choice with the greatest Rev stays, in whatever order choices come, and however often.
//     A new choice names the Rev that it replaces. If the store keeps a greater one, PutStatus
//     returns [presence.ErrLaterChoice] and changes nothing. Otherwise the new choice gets a
//     greater Rev than both, also if the store's clock goes back.
//     A fleet has one secret. The store keeps the first that a node offers until it
//     is wiped, and returns it to every node.
//     EraseUser ends the user's leases in every topic, and the devices' in the inner one, and
//     announces the leaves. It then forgets the user: last seen, names, page views, the chosen
//     status, the notices about the user, and the entries of consumers' records. A log that
//     names the user starts anew at its end. The leases of a user who came after the erasure
//     was begun stay; the log starts anew all the same.
//     Example: Alice turns busy at node a, whose call of Redis hangs. She is told that it
//     failed, and turns away at node b. A minute later Redis takes the call of node a. It
//     refuses busy, which replaces what Alice chose before she turned away.
//  11. One holder at a time may write a consumer's record: the one that claimed it
//     last. The record stays that holder's until the claimed or committed time is over
//     and another holder claims it. A commit of any other holder changes nothing, and
//     neither does one that expects entries that the record has not. Only a claim with
//     Create makes a record that is missing. While the store is in doubt, a claim that would take the record
//     from another holder fails: in old data each holder's time is over.
//  12. A broadcast reaches each watcher of its topic, on every node, at most
//     once and byte for byte. What one node sends to a topic, one call of Send after the
//     other, comes in that order. No other topic hears it. Nothing is kept of it: it is no
//     diff, moves no version and makes no topic. Send refuses a broadcast that is not
//     [Broadcast.Validate], and then sends none of those that came with it. After stop has
//     returned no call begins. A broadcast may be lost, as while a connection breaks or
//     after the store was wiped.
//     Poll names each topic whose figures changed since the call that returned a
//     mark, or says that all may have: also after a sweep, a turn of the page views, and an
//     erasure, of whatever node, and after the store was wiped.
type Store interface {
	Bus
	UserRecords // rule 10
	ErasureList // for a site whose Directory has none

	// Apply applies each batch as one atomic step, and returns a Result for each, in
	// their order. It costs one round trip for all of them. The batches do not change
	// afterwards, so a call that was given up may go on reading them.
	Apply(ctx context.Context, batches []Batch) []Result

	// Sweep removes expired leases, in whatever topics, and announces the leaves.
	// Topics need not be known to this node, and sweeps may run at the same time.
	//
	// A server that restarts, or a replica that takes over, may have old data: leases in it look
	// expired although nodes have renewed them since. So the first sweep after a restart puts the store in
	// doubt, and says so: see Swept.Doubt. Until that ends no sweep removes anything. A server that began
	// without data, and a store that cannot restart, are never in doubt.
	Sweep(ctx context.Context, opts SweepOptions) (Swept, error)

	// Age rotates the sets of page views and of guests of each topic that was last rotated at
	// least period ago: the current sets become the old ones. It returns the number of topics
	// that it rotated.
	Age(ctx context.Context, period time.Duration) (turned int, err error)

	// Trim forgets users last seen more than keep ago, and in each topic all but the
	// most latest ones. It forgets chosen statuses by the same two bounds. It returns
	// how many entries it forgot, of both kinds.
	Trim(ctx context.Context, keep time.Duration, most int) (forgotten int, err error)

	// Snapshot returns a topic's roster. An unknown topic is empty, at Origin.
	Snapshot(ctx context.Context, topic presence.Topic) (Snapshot, error)

	// Log returns the diffs after one, in order; none if it is the latest. It returns
	// ErrGap if the log does not hold that diff. Origin counts as held while the log
	// reaches back to the topic's first diff. With an empty after, Log returns all
	// diffs that the log holds.
	Log(ctx context.Context, topic presence.Topic, after presence.DiffID) ([]Diff, error)

	// Counts returns the figures of each topic, with what is kept by rules 8 and 9, in one round trip.
	Counts(ctx context.Context, topics ...presence.Topic) ([]Counts, error)

	// Sightings returns for each user whether the user is online in a topic, with the holders, or when the
	// user was last seen there. It costs one round trip.
	Sightings(ctx context.Context, topic presence.Topic, users ...presence.UserID) ([]Sighting, error)

	// Watch calls w's functions for each diff and each broadcast of a topic from now on, in order, one call at a
	// time. Diffs may be lost on the way, which readers notice by rule 2, and some that
	// were made just before the call may still come. The functions must not block and must not
	// call the store. Watch returns once diffs and broadcasts are delivered; after stop has returned,
	// no call begins. It costs one round trip, or none where this node watches the topic already.
	Watch(ctx context.Context, topic presence.Topic, w Watcher) (stop func(), err error)

	// Recent returns a page of the users of rule 9, or what it has of the users that q names. It returns ErrInvalidPage for a
	// q.After that is no RecentPage.Next. It costs one round trip.
	Recent(ctx context.Context, topic presence.Topic, q RecentQuery) (RecentPage, error)

	// Topics returns up to most topics that have a user, guest or bot, or had one lately.
	// They are those after a given topic, in the order of their bytes. Invisible users
	// count. A topic of which only last seen, names or a record are left is not among
	// them. An empty topic is, as long as its log stays: for a minute at least. It costs a few
	// round trips.
	Topics(ctx context.Context, after presence.Topic, most int) ([]presence.Topic, error)

	// Inspect returns up to most users of a topic with their leases, also invisible users.
	// They are those after a given user, in the order of the bytes of their IDs. It is for
	// staff, and costs a few round trips.
	Inspect(ctx context.Context, topic presence.Topic, after presence.UserID, most int) ([]Inspected, error)

	// Send delivers each broadcast to the current watchers of its topic, on every node (rule 12). A broadcast
	// may be lost, and an error does not say whether it was. The error is
	// ErrInvalidBroadcast if one of them is invalid. It costs one round trip for all of them.
	Send(ctx context.Context, broadcasts ...Broadcast) error

	// Statuses returns the status that each user chose last. It is zero for a user whose choice is
	// unknown or was trimmed (rule 10). It costs one round trip.
	Statuses(ctx context.Context, users ...presence.UserID) ([]ChosenStatus, error)

	// PutStatus keeps a status that a user chose in place of a choice with c.Rev, and returns the Rev of the new
	// choice. With again c is no new choice, but one that the store may have lost: it has its Rev, and changes
	// nothing if the store keeps a greater one (rule 10). It costs one round trip.
	PutStatus(ctx context.Context, user presence.UserID, c ChosenStatus, again bool) (rev int64, err error)

	// Secret returns the fleet's secret. A store that has none keeps and returns the
	// offer (rule 10), which has 16 to 64 bytes. It costs one round trip.
	Secret(ctx context.Context, offer []byte) ([]byte, error)

	// ClaimConsumer makes claim.Holder the holder of a consumer's record (rule 11). It is a no-op while
	// another holder has time left, and for a record that is missing unless claim.Create
	// is set. It costs one round trip.
	ClaimConsumer(ctx context.Context, consumer string, claim ConsumerClaim) (ConsumerClaimed, error)

	// CommitConsumer writes entries in one atomic step, and begins the holder's time anew.
	// It is a no-op unless step.Holder holds the record. It costs one round trip.
	CommitConsumer(ctx context.Context, consumer string, step ConsumerStep) (ConsumerState, error)

	// ReadConsumer returns the whole record; nil if there is none. A record that another
	// holder writes meanwhile may be returned in part as it was and in part as it became. It
	// costs a round trip for every 500 entries.
	ReadConsumer(ctx context.Context, consumer string) (map[string]string, error)

	// Poll renews the lease of a node's process, and says what happened since the node polled last. A node calls it
	// about once a second. The listeners of this node are called with the lasting notices that they have not heard
	// yet, many of them after Poll has returned. It costs one round trip.
	Poll(ctx context.Context, p Poll) (Polled, error)

	// Check returns nil, an error that is [presence.ErrStoreOut] if the store cannot be reached now, or an
	// error that says why the store will never work here.
	Check(ctx context.Context) error

	// Stats costs no round trip.
	Stats() StoreStats
}
