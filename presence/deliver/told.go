package deliver

import (
	"context"
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// tell makes events of a diff.
func (l *leader) tell(f *followed, d backend.Diff) {
	for _, m := range d.Joins {
		l.join(f, m)
	}
	for _, m := range d.Updates {
		l.join(f, m)
	}
	for _, left := range d.Leaves {
		l.leave(f, left)
		f.knows(left.LastSeen)
	}
	f.knowsAll(d.Joins)
	l.move(f, position{at: d.ID, doubt: f.doubt, loss: f.loss})
}

// move sets the position of a topic.
func (l *leader) move(f *followed, to position) {
	to.latest = f.latest
	f.position, f.begun = to, true
	l.set(positionKey(f.topic), to.encode())
}

// join makes a join, unless the consumer was told of the user already. Then join only notes the user's name,
// and whether the user is unseen.
func (l *leader) join(f *followed, m presence.Member) {
	was, told := f.users[m.ID]
	if told {
		now := was
		now.name, now.unseen = m.Name, m.Status.Unseen()
		if !f.doubt.IsZero() && m.Since.After(was.since) { // restored
			now.seen = later(m.Since, f.doubt)
		}
		if now != was {
			l.note(f, m.ID, now)
		}
		return
	}
	since := m.Since
	if !f.doubt.IsZero() {
		if l.revived(f, m) {
			return
		}
		since = sinceInDoubt(since, f.doubt)
	}
	for l.ended.has(f.topic, m.ID, since) { // left and came back within one tick of the clock
		since = since.Add(1)
	}
	l.came(f, m, since)
}

// revived reports whether a member of the store's roster has really left. The store lost the leave, since it
// went back in time or began with an old file. The consumer gets no join of this user: see decide.
func (l *leader) revived(f *followed, m presence.Member) bool {
	return m.Since.Before(f.latest) || l.ended.has(f.topic, m.ID, m.Since)
}

// knows notes that all events until a moment were told.
func (f *followed) knows(until time.Time) { f.latest = later(f.latest, until) }

// knowsAll notes that the consumer was told of some members of the roster, and of all earlier events.
func (f *followed) knowsAll(members []presence.Member) {
	for _, m := range members {
		f.knows(m.Since)
	}
}

// sinceInDoubt returns when a session began that is in the old data of a store. Another node may have told the
// leave of that session already. So the last nanoseconds of the result name the loss, and the continued
// session has other IDs.
func sinceInDoubt(since, doubt time.Time) time.Time {
	return since.Truncate(time.Microsecond).Add(time.Duration(1 + doubt.UnixMilli()%998))
}

// came makes a join.
func (l *leader) came(f *followed, m presence.Member, since time.Time) {
	u := toldUser{name: m.Name, since: since, unseen: m.Status.Unseen()}
	l.event(Event{Type: Join, Topic: f.topic, User: presence.User{ID: m.ID, Name: m.Name}, Since: u.since}, sessionOf(u.since))
	l.note(f, m.ID, u)
}

// note writes into the record that the consumer was told of a user's join.
func (l *leader) note(f *followed, id presence.UserID, u toldUser) {
	f.users[id] = u
	l.set(toldKey(f.topic, id), u.encode())
}

// leave makes a leave, if the consumer was told of the user's join. In a doubt, a leave of before that join is in the
// log of an older file, with which the store began after it was wiped: it ended an earlier session.
func (l *leader) leave(f *followed, left backend.Departure) {
	was, told := f.users[left.ID]
	earlier := !f.doubt.IsZero() && !left.LastSeen.IsZero() && left.LastSeen.Before(was.since.Truncate(time.Microsecond))
	if !told || earlier {
		return
	}
	d := Event{Type: Leave, Topic: f.topic, User: presence.User{ID: left.ID, Name: was.name}, Since: was.since}
	if !left.LastSeen.IsZero() {
		d.leave(left.LastSeen)
	}
	l.event(d, sessionOf(was.since))
	delete(f.users, left.ID)
	l.changes = append(l.changes, recordChange{key: toldKey(f.topic, left.ID), gone: true})
	l.ended.add(f.topic, left.ID, was.since)
	if !was.seen.IsZero() { // a node restored the user: the store has had the user since then
		l.ended.add(f.topic, left.ID, was.seen)
	}
}

// endOf returns the latest moment in a diff.
func endOf(d backend.Diff) (end time.Time) {
	for _, m := range d.Joins {
		end = later(end, m.Since)
	}
	for _, left := range d.Leaves {
		end = later(end, left.LastSeen)
	}
	return end
}

// maxSightings is how many users the store is asked for at once.
const maxSightings = 500

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// leaveAll makes the leaves of users who are gone without a leave in any diff. The store may know when a user
// was last seen. If not, the time of the data loss is used: of the first loss since the topic is in doubt, or
// of the latest one for a user who came or was restored in between. A leave has no such time for an unseen
// user (rule 21 of Store), nor where the site has a Directory: any user may have turned unseen.
func (l *leader) leaveAll(ctx context.Context, f *followed, gone []presence.UserID) {
	slices.Sort(gone)
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	for some := range slices.Chunk(gone, maxSightings) {
		seen, err := l.node.Store.Sightings(ctx, f.topic, some...)
		for i, id := range some {
			u, left := f.users[id], backend.Departure{ID: id}
			switch {
			case err == nil && seen[i].LastSeen.After(u.since):
				left.LastSeen = seen[i].LastSeen
			case u.unseen || !l.node.TellsLastSeen: // the leave has no last seen
			case later(u.seen, u.since).Before(f.doubt):
				left.LastSeen = f.doubt
			default:
				left.LastSeen = later(u.seen, f.loss)
			}
			l.leave(f, left)
		}
	}
}

// endedSessions remembers sessions whose leave was told lately. The zero value is empty.
type endedSessions struct {
	known map[endedSession]struct{}
	order []endedSession // the oldest first, from next on
	next  int
}

type endedSession struct {
	topic presence.Topic
	user  presence.UserID
	since int64
}

// maxEnded bounds endedSessions.
const maxEnded = 4096

func (e *endedSessions) has(topic presence.Topic, user presence.UserID, since time.Time) bool {
	_, ok := e.known[endedSession{topic, user, since.UnixNano()}]
	return ok
}

func (e *endedSessions) add(topic presence.Topic, user presence.UserID, since time.Time) {
	s := endedSession{topic, user, since.UnixNano()}
	if e.known == nil {
		e.known = make(map[endedSession]struct{})
	}
	if len(e.order) < maxEnded {
		e.order = append(e.order, s)
	} else {
		delete(e.known, e.order[e.next])
		e.order[e.next] = s
		e.next = (e.next + 1) % maxEnded
	}
	e.known[s] = struct{}{}
}
