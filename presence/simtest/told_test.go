package simtest_test

import (
	"slices"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// What pages are told of a user is held against when the user was told to be hidden, and went.
// It takes a node a moment to catch up after something went wrong there; and what waited at one
// node, such as a join and a leave of who has gone meanwhile, is told at all.

const (
	onTheWay  = 300 * time.Millisecond // an event was made at most so long ago: people have a window of 250 ms
	catchesUp = 3 * time.Second        // a node does, after something went wrong
	asksAgain = 3 * time.Second        // a node waits, after a loss of data, before it asks what users chose and writes what waited
)

// A clock says when something last went wrong.
type clock struct {
	going int
	last  time.Time
	first time.Time // when it began to go wrong that time, for failures of the whole: see fails
}

func (c *clock) begins() { c.going++ }

func (c *clock) ends() {
	c.going--
	c.last = time.Now()
}

func (c *clock) since() time.Duration {
	if c.going > 0 {
		return 0
	}
	return time.Since(c.last)
}

// What fails, by what it may do to users who have gone.
const (
	ofNodes     = iota // they end, and begin
	ofStore            // calls are late, or lost; so are data
	ofHearing          // messages come late to one node, or not at all
	ofDirectory        // it is slow, or out
	rewinds            // data are back that the store had before
	troubles           // of so many kinds
)

// troubleOf returns of which kind a failure is.
func troubleOf(do string) int {
	switch do {
	case "kill", "deploy":
		return ofNodes
	case "lag", "part lags", "restart store":
		return rewinds
	case "lose diffs", "late diffs", "topic late":
		return ofHearing
	}
	if _, directory := directoryFailures[do]; directory {
		return ofDirectory
	}
	return ofStore
}

// quietLocked returns for how long nothing at all has gone wrong.
func (w *world) quietLocked() time.Duration {
	return w.quietOfLocked(ofNodes, ofStore, ofHearing, ofDirectory, rewinds)
}

// quietOfLocked returns for how long nothing of some kinds has gone wrong.
func (w *world) quietOfLocked(kinds ...int) time.Duration {
	quiet := w.sinceLocked(kinds[0])
	for _, kind := range kinds {
		quiet = min(quiet, w.sinceLocked(kind))
	}
	return quiet
}

// sinceLocked returns for how long nothing of a kind has gone wrong. A diff is lost when one comes
// next, which may be long after the act that says so.
func (w *world) sinceLocked(kind int) time.Duration {
	since := w.trouble[kind].since()
	for _, p := range w.nodes {
		if p != nil && kind == ofHearing {
			since = min(since, p.link.lostFor())
		}
	}
	return since
}

// failedOver returns how long ago the latest failover was.
func (w *world) failedOver() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.trouble[rewinds].since()
}

// fails is later for what fails meanwhile.
func (w *world) fails(do string, fn func()) {
	c := &w.trouble[troubleOf(do)]
	w.mu.Lock()
	if c.since() > w.game.ttl()+settles { // else it is a part of what went wrong before
		c.first = time.Now()
	}
	c.begins()
	w.mu.Unlock()
	w.later(func() {
		fn()
		w.mu.Lock()
		defer w.mu.Unlock()
		c.ends()
	})
}

// told is for when the page is told of a user who is there. A node that is well tells of nobody
// who hid before: unless the store has lost that, and a node that knew it has ended; or a node wrote of
// the user that had not heard of it, as the write was under way when the node's stall ended, or as
// notices come late there. A node whose Directory has not answered since hides a user within a second (rule P6).
// So does one to which a write was on its way then that takes long.
func (s *picture) told(user, by string) {
	u, well, asked := s.p.w.person(user), s.p.process.well(), s.p.process.asksWell()
	if u == nil {
		return
	}
	known := s.p.w.know(u)
	s.p.w.mu.Lock()
	hidden, well := u.hidden, min(well, s.p.w.trouble[rewinds].since())
	if s.p.w.lost && (u.set != s.p.w.starts.Load() || s.p.w.muted.After(hidden) && !known) {
		hidden = time.Time{}
	}
	most := s.p.reads()
	s.p.w.mu.Unlock()
	slow := func(p *process) bool { return p.link.tookLong(user, hidden) }
	if asked < time.Since(hidden) || slices.ContainsFunc(s.p.w.everyProcess(), slow) {
		most = hides + s.p.waited
	}
	outrun := func(p *process) bool { return p.link.outrun(user, hidden) }
	if ago := time.Since(hidden); !hidden.IsZero() && ago > most && well > catchesUp && !slices.ContainsFunc(s.p.w.everyProcess(), outrun) {
		s.fault("is told by %s of %s, who hid %v ago", by, user, ago)
	}
}

// know reports whether one of the processes that know what a user chose runs and has been well for a
// while, so that it has told the others.
func (w *world) know(u *person) bool {
	run := w.processes()
	w.mu.Lock()
	some := u.known
	w.mu.Unlock()
	return slices.ContainsFunc(some, func(p *process) bool { return slices.Contains(run, p) && p.well() > catchesUp })
}

// joins is for when a diff has a user who was not there. Where nothing but failovers goes wrong,
// and where other nodes but hear late, nobody comes back who has gone. paced is for a diff to a window of
// a larger topic, which is sent once the window's bytes allow it.
func (s *picture) joins(user string, paced bool) {
	u, well := s.p.w.person(user), s.p.process.well()
	if u == nil || u.kind == visits {
		return
	}
	if s.p.w.forgot(u, catchesUp) || s.p.w.stays(u) {
		return
	}
	s.p.w.mu.Lock()
	gone, quiet := u.gone, min(s.p.w.quietOfLocked(ofNodes, ofStore, ofDirectory), well)
	outage, failover := &s.p.w.trouble[ofStore], &s.p.w.trouble[rewinds]
	if gone.After(failover.last) { // no revived user, but a late word
		quiet = min(quiet, failover.since())
	}
	if back := outage.last; back.After(gone) && back.Sub(s.p.w.muted) < s.p.w.game.restTime() {
		quiet -= asksAgain // nodes notice a loss when the store is back
	}
	// After an outage nodes remove nobody for a while. A page that comes to a node then is told of who came after
	// its latest event, or in the outage if that event is of then, since the join may have waited. The user has closed
	// the last page since the outage began, or the grace lasted until then. So it is after a failover, as nodes remove
	// nobody until they have restored what it lost; but no join waits then. It has brought nobody back of whom no page
	// was told that the user left.
	holds := s.p.w.game.grace() + s.p.w.game.sweep() + time.Second
	keeps := func(c *clock) bool { return gone.After(c.first.Add(-holds)) && c.since() < s.p.w.game.ttl()+settles }
	listed := keeps(outage) && (u.came.After(s.since) || s.since.After(outage.first)) || keeps(failover) && u.came.After(s.since)
	listed = listed && s.fresh && !s.leftLocked(u)
	// A failover that takes back a sign-out brings back the lease, which stands until it is swept. A page that moves to
	// another node meanwhile is told of the join there, if its last node had not read that.
	unswept := s.fresh && u.outLost && failover.since() < s.p.w.game.ttl()+settles
	out, late := u.out, paced || s.fresh || s.p.w.withheldLocked() < s.p.w.game.ttl()+settles
	s.p.w.mu.Unlock()
	if unswept {
		return
	}
	most := s.p.reads()
	if slices.ContainsFunc(s.p.w.everyProcess(), func(p *process) bool { return p.link.tookLong(user, out) }) {
		most += s.p.w.game.slowness()
	}
	if !out.IsZero() && time.Since(out) > most && well > catchesUp && s.p.w.tellsOuts(u, out) {
		s.fault("is told that %s joins, who signed out %v ago", user, time.Since(out))
	}
	ago := time.Since(gone)
	// Who is there for the grace; and after a failover a node may withhold for so long who came back elsewhere.
	if listed || late && ago < holds {
		return
	}
	if !gone.IsZero() && ago > s.p.reads() && quiet-s.p.waited > catchesUp { // as of when it was told, if the page read late
		s.fault("is told that %s joins, who went %v ago", user, ago)
	}
}

// leftLocked reports whether a page was told that a user left the topic, since the user went. Others may be told a
// moment later.
func (s *picture) leftLocked(u *person) bool {
	left := s.p.w.left[parting{u.id, s.topic}]
	return left.After(u.gone) && time.Since(left) > s.p.reads()
}

// withheldLocked returns for how long nodes may have withheld users whom a failover brought back, and who have come
// again at other nodes: since the failover, or since an outage that began before they were shown.
func (w *world) withheldLocked() time.Duration {
	failover, outage := &w.trouble[rewinds], &w.trouble[ofStore]
	if !failover.last.IsZero() && outage.first.Sub(failover.last) < w.game.ttl()+settles {
		return min(failover.since(), outage.since())
	}
	return failover.since()
}

// reads is how late the page reads the event that it takes: one that beats, or that asks for other topics,
// reads nothing until nodes have answered.
func (p *page) reads() time.Duration { return onTheWay + p.waited }

// tellsOuts reports whether all nodes hear of a user's sign-out before they write anything of the user, also
// those that come back: unless a write was under way, or the store has lost the sign-out.
func (w *world) tellsOuts(u *person, out time.Time) bool {
	w.mu.Lock()
	lost, well := w.muted.After(u.published), w.trouble[rewinds].since()
	w.mu.Unlock()
	return !lost && well > catchesUp && !slices.ContainsFunc(w.everyProcess(), func(p *process) bool { return p.link.outrun(u.id, out) })
}

// drops is for when a user is no longer there: that must be as soon as is promised.
func (s *picture) drops(user string) {
	u, w := s.p.w.person(user), s.p.w
	if u == nil || u.kind == visits || s.old {
		return
	}
	w.mu.Lock()
	gone, late := u.gone, w.lateLocked(u.gone)
	hidden := time.Since(u.hidden)
	if u.hidden.IsZero() || s.fresh || w.quietOfLocked(ofNodes, ofStore, ofHearing, rewinds) < hidden+catchesUp {
		hidden = 0
	}
	w.mu.Unlock()
	if hidden > hides+s.p.waited {
		s.fault("has had %s, who hid, for %v", user, hidden)
	}
	if !gone.IsZero() && late > s.p.waited {
		s.fault("has had %s for %v since the last page closed, %v for too long", user, time.Since(gone), late)
	}
}

// lateLocked returns for how long a user has been due to be gone everywhere whose last page
// closed at a moment: a grace later; or where a node ended, when its lease has expired; or after an
// outage, when every lease has that nobody renews. A sweep comes up to a second late.
func (w *world) lateLocked(closed time.Time) time.Duration {
	g, late := w.game, time.Since(closed)-w.game.grace()
	for kind, term := range []time.Duration{ofNodes: min(g.ttl(), nodeTTL), ofStore: g.ttl() + settles, ofHearing: g.ttl() + settles, ofDirectory: g.ttl() + settles, rewinds: g.ttl() + settles} {
		late = min(late, w.sinceLocked(kind)-term)
		if w.trouble[kind].going > 0 {
			return 0
		}
	}
	return late - g.sweep() - time.Second
}

// hides is how long others may see a user who hid: a second, and what is on its way.
const hides = time.Second + onTheWay

// returns is called when a state of another node lists a user again whom the page saw leave. The store's
// log says that the user left, and is asked where a node hears late: it takes no page back in time.
// Not so who watches people: that cursor names no version, so that it tells nothing of who is hidden.
//
// After a loss of data a roster may be provisional. Then the log says nothing of users who never came
// back, or whose leave it has lost. Nor does it say anything of who left and came back before that: the
// nodes that make their leases again say since when they are there. cursor is that of the state.
//
// A node that was cut off while the user left, until the store lost that, never hears of it. If the user has come
// again by when it reads the topic, it takes the new lease for one that was made again: see keptThrough.
//
// Nor does a node that lost the diff of a leave know of it, if the store loses its log before the node has read that. The
// diff may also be lost with the connection: it waits while the node stands still, or is sent while the connection is
// broken. Or it is held up until the store has lost its data.
//
// A node hides a user when it hears of that, and may lose the diff. If the user shows again before the node has found
// out, it gets both diffs at once, and for it the user has stayed. So it is after a loss of data, until the nodes have
// read the topic again: see hidUnread. A page that comes then reads nothing until its node asks what users chose.
func (s *picture) returns(user string, now profile, cursor string) {
	w := s.p.w
	if w.hidesNow(user) || w.lostHide(user) { // each node hides the user when it hears
		return
	}
	if came := s.came[user]; !came.IsZero() && w.lostData().After(came) {
		return
	}
	if s.keptThrough(user) || s.cameOutside(user) {
		return
	}
	if provisional(cursor) && (s.decided[user] && !w.hides(user) || slices.ContainsFunc(w.undecided(), s.p.process.link.missedBefore)) {
		return
	}
	w.mu.Lock()
	quiet := min(w.quietOfLocked(ofNodes, ofStore, ofDirectory), w.withheldLocked()-w.game.ttl()-settles)
	w.mu.Unlock()
	if s.hidUnread(user) {
		quiet -= asksAgain
	}
	if s.topic != presence.PeopleTopic && s.went[user] == now.Since && quiet > catchesUp {
		s.fault("is taken back to when %s was there, who left", user)
	}
}

// hidUnread reports whether the leave that the page saw is that of a user who hid in a loss of data, before the nodes had
// caught up. They hide the user when they hear of that. Once they hear that the user shows again, they show the same entry
// as before, with its since: they have read no leave. What the store says then is no leave either, since it had lost the
// user, or they read it together with the join.
func (s *picture) hidUnread(user string) bool {
	u, w := s.p.w.person(user), s.p.w
	if u == nil {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return s.parted[user].After(u.hid) && u.hid.After(w.trouble[ofStore].first) && u.hid.Sub(w.muted) < catchesUp
}

// keptThrough reports whether the page's process may not know of a leave that the page saw. That process did not
// reach the store from the leave until a loss of data, and the user has come back since. Or it did not reach the store
// from the loss until other nodes decided that the user had left, and the user came back before it decided that too.
func (s *picture) keptThrough(user string) bool {
	u, w, left := s.p.w.person(user), s.p.w, s.parted[user]
	if u == nil || left.IsZero() {
		return false
	}
	w.mu.Lock()
	gone, losses := u.gone, slices.Clone(w.losses)
	w.mu.Unlock()
	link := s.p.process.link
	return slices.ContainsFunc(losses, func(at time.Time) bool {
		from, to := left, at
		if at.Before(left) {
			from, to = at, left
			if !s.decided[user] || w.hides(user) || link.upSince(left) > w.game.restTime() {
				return false
			}
		}
		return (gone.IsZero() || gone.After(to)) && link.upFor(from, to) < hearEvery
	})
}

// joins notes the users of a batch who join, or whose leases are made again.
func (w *world) joins(b backend.Batch) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, op := range b.Ops {
		if op.Kind == backend.OpJoin {
			w.joined[parting{string(op.User.ID), b.Topic}] = time.Now()
		}
	}
}

// leaves notes that a page was told that a user left a topic.
func (w *world) leaves(user string, topic presence.Topic) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.left[parting{user, topic}] = time.Now()
}

// cameOutside reports whether a user has joined again since the page saw the user leave. A page with a window hears
// nothing of who comes behind it. A node that was away meanwhile has the leave and the join as one change, and still
// shows the old since.
func (s *picture) cameOutside(user string) bool {
	w := s.p.w
	w.mu.Lock()
	defer w.mu.Unlock()
	return s.windowed() && w.joined[parting{user, s.topic}].After(s.parted[user])
}

// provisional reports whether a cursor names a version that one node alone has, because it lists users
// whom the store has lost.
func provisional(cursor string) bool { return strings.Count(cursor, "-") > 1 }

// missedBefore reports whether a diff to the process was lost that was on its way shortly before at, so that the process
// cannot have noticed the gap by then: the time does not count in which it was stalled or broken.
func (l *link) missedBefore(at time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.missed, func(lost time.Time) bool { return lost.Before(at) && l.upLocked(lost, at) < 2*hearEvery })
}

// missedJoin reports whether the page's process may not have received the join of a user who has just come: a diff
// to it was lost, and so was the store's answer when it looked for what the page has seen.
func (s *picture) missedJoin(user string) bool {
	u, w, link := s.p.w.person(user), s.p.w, s.p.process.link
	if u == nil || link.lookedInVain() > s.p.reads() || !link.missedBefore(time.Now()) {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Since(u.came) < 2*hearEvery
}

// hides reports whether nobody sees a user: every node hears of that.
func (w *world) hides(user string) bool {
	u := w.person(user)
	w.mu.Lock()
	defer w.mu.Unlock()
	return u != nil && !u.hidden.IsZero()
}

// hidesNow reports whether a user is choosing something, or hid in the last second.
func (w *world) hidesNow(user string) bool {
	u := w.person(user)
	w.mu.Lock()
	defer w.mu.Unlock()
	return u != nil && (u.status == unknown || u.changing > 0 || time.Since(u.hidden) < hides)
}

// lostHide reports whether a user hid lately, and a node has lost diffs since then.
func (w *world) lostHide(user string) bool {
	u := w.person(user)
	w.mu.Lock()
	defer w.mu.Unlock()
	if u == nil || u.hid.IsZero() {
		return false
	}
	hid := time.Since(u.hid)
	return hid < w.game.restTime() && w.sinceLocked(ofHearing) <= hid
}

// lostData returns when the store last lost all its data.
func (w *world) lostData() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.muted
}

// undecided returns when the store lost all its data, or its logs, as far as the nodes may not have decided since who
// has not come back: they begin anew with each loss.
func (w *world) undecided() (losses []time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	next := time.Now()
	for _, at := range slices.Backward(w.losses) {
		if next.Sub(at) > w.game.restTime() {
			break
		}
		losses, next = append(losses, at), at
	}
	return append(losses, w.unlogged)
}

// parts is for when who watches people is told that a user left. Who hides leaves as others do: with
// the moment when the user was last seen.
func (s *picture) parts(user string, how departure) {
	u, w := s.p.w.person(user), s.p.w
	if u == nil {
		return
	}
	w.mu.Lock()
	quiet, hides := w.quietLocked(), !u.hidden.IsZero()
	w.mu.Unlock()
	if hides && how.LastSeen == "" && quiet > catchesUp {
		s.fault("is told that %s left, who hid, and not when the user was last seen", user)
	}
}

// settles is how long after an outage the nodes write what waited, and judge leases again.
const settles = 8 * time.Second

// has is for when a user comes back: no page has the user who had gone before, and was due. What a
// page showed before it connected, or in a topic that it no longer shows, may be old.
func (w *world) has(u *person) {
	for _, p := range w.everyPage() {
		p.mu.Lock()
		for _, s := range p.pictures {
			if s.topic == thread && !slices.Contains(p.topics, thread) || s.fresh {
				continue
			}
			if s.roster[u.id] != "" && p.conn != nil {
				s.drops(u.id)
			}
		}
		p.mu.Unlock()
	}
}

// goes notes that the last page of a user closed, or (false) that one opens.
func (u *person) goes(gone bool) {
	u.w.mu.Lock()
	defer u.w.mu.Unlock()
	if u.gone = (time.Time{}); gone {
		u.gone = time.Now()
	} else {
		u.out, u.published, u.outID = time.Time{}, time.Time{}, ""
	}
}

func (w *world) person(id string) *person {
	for _, u := range w.persons {
		if u.id == id {
			return u
		}
	}
	return nil
}
