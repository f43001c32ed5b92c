package deliver

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// A followed is a topic of a leader. The leader compares each diff with users, whose joins
// the consumer was told. The join of such a user is no event, and neither is the leave of
// another user. So it does no harm to read a diff twice, or to read the joins of users whom
// the nodes restored after the store lost its data.
type followed struct {
	*tapped
	ofKind bool // it is not named: see followedKind
	over   bool // it is to rest
	begun  bool // it has a position
	position
	users    map[presence.UserID]toldUser // who were told to be there
	decideAt time.Time                    // when the doubt ends
	sound    time.Time                    // when the store last had the version that the consumer was told of
	unheld   bool                         // nobody held the record for quietFor before this node did: see readLog
	differs  presence.DiffID              // the version at which the store's total was another than that of users
}

// quietFor is how long nobody may hold a record before an empty topic that starts from
// Origin counts as one that somebody may have come to and left. A log stays for a minute.
const quietFor = 30 * time.Second

// decideAgain is how long a doubt goes on for users who came back from the dead.
const decideAgain = 5 * time.Second

// catchUp is how long after a loss of data a doubt goes on: until all nodes have restored their
// leases, also where the store loses its data several times in a row.
func (c *consumer) catchUp(topic presence.Topic) time.Duration {
	return c.node.CatchUp(topic)
}

// advanceFor bounds a round of advance, so that the leader commits in time to stay one.
const advanceFor = time.Second

// advance takes the diffs that came. If it is due it also asks the store for the heads of
// the topics, since diffs may be lost on their way, and ends doubts. A round that takes too long
// leaves the last topics for the next one, which begins with them.
func (l *leader) advance(ctx context.Context, due bool) {
	var counts []backend.Counts
	if due {
		l.lookForTopics(ctx)
		var err error
		if counts, err = l.counts(ctx); err != nil {
			return
		}
	} else {
		counts = make([]backend.Counts, len(l.follows))
	}
	began, done := time.Now(), 0
	for i, f := range l.follows {
		if time.Since(began) > advanceFor {
			break
		}
		l.advanceIn(ctx, f, due, counts[i])
		done++
	}
	if done < len(l.follows) {
		l.follows = slices.Concat(l.follows[done:], l.follows[:done])
	}
	if due {
		l.beginKinds()
		l.rest()
	}
}

func (l *leader) counts(ctx context.Context) ([]backend.Counts, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	topics := make([]presence.Topic, len(l.follows))
	for i, f := range l.follows {
		topics[i] = f.topic
	}
	return l.node.Store.Counts(ctx, topics...)
}

// advanceIn is advance for one topic.
func (l *leader) advanceIn(ctx context.Context, f *followed, due bool, c backend.Counts) {
	if !f.begun && !l.beginTopic(ctx, f) {
		return
	}
	skipped, behind := l.take(f)
	if due && !c.Unknown {
		behind = behind || f.unheld || c.Head != f.at
		if c.Head == f.at {
			f.sound = time.Now()
		}
	}
	if behind {
		l.readLog(ctx, f, skipped)
	}
	if due {
		l.compareTotal(f, c)
		l.decide(ctx, f)
		f.over = !c.Unknown && c.Total == 0 && f.restsAt(c.Head)
	}
}

// beginTopic makes a join for each user who is in the topic. There are users who were told
// already if a node prepared a part of the record: of these it makes the leaves.
func (l *leader) beginTopic(ctx context.Context, f *followed) bool {
	snap, err := l.snapshot(ctx, f)
	if err != nil {
		return false
	}
	there := make(map[presence.UserID]bool, len(snap.Members))
	for _, m := range slices.Backward(snap.Members) { // who came first is told first
		there[m.ID] = true
		l.join(f, m)
	}
	l.leaveAll(ctx, f, f.gone(there))
	f.knowsAll(snap.Members)
	l.move(f, position{at: snap.ID})
	return true
}

// gone returns the users who were told to be there, and are not.
func (f *followed) gone(there map[presence.UserID]bool) (gone []presence.UserID) {
	for id := range f.users {
		if !there[id] {
			gone = append(gone, id)
		}
	}
	return gone
}

func (l *leader) snapshot(ctx context.Context, f *followed) (backend.Snapshot, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	return l.node.Store.Snapshot(ctx, f.topic)
}

// take makes events of the diffs that the watch brought, in order. It returns the diffs that
// do not continue from the position, and whether the log must be read.
func (l *leader) take(f *followed) (skipped []backend.Diff, behind bool) {
	early, lost := f.tapped.take()
	for _, d := range early {
		if f.continues(d) {
			l.tell(f, d)
		} else {
			skipped = append(skipped, d)
		}
	}
	return skipped, lost || len(skipped) > 0
}

// continues reports whether a diff is the next one.
func (f *followed) continues(d backend.Diff) bool {
	return d.Prev == f.at || d.Prev == backend.Origin && len(f.users) == 0 && !f.unheld
}

// readLog makes events of the diffs in the store's log after the position. If the log does
// not reach back to the position, there is a gap. An empty topic that starts again from
// Origin is no gap, unless nobody held the record for long: then somebody may have come and
// left meanwhile. Nor does a topic start again whose log has what was told: the store went back.
//
// Example: Alice, the last one in thread:1, leaves at 12:00:00.0. The consumer is told, and the topic
// rests. At 12:00:00.5 Redis fails over, and loses that. Its log of thread:1 begins with users who came
// and left long ago.
func (l *leader) readLog(ctx context.Context, f *followed, skipped []backend.Diff) {
	try, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	diffs, err := l.node.Store.Log(try, f.topic, f.at)
	if err == nil && f.unheld && f.at == backend.Origin {
		err = presence.ErrGap // the log may start again from Origin, for all that anybody knows
	}
	if errors.Is(err, presence.ErrGap) && len(f.users) == 0 && !f.unheld {
		if diffs, err = l.node.Store.Log(try, f.topic, backend.Origin); err == nil && len(diffs) == 0 {
			l.move(f, position{at: backend.Origin, doubt: f.doubt, loss: f.loss})
		}
		if err == nil && slices.ContainsFunc(diffs, l.toldOf(f)) {
			err = presence.ErrGap
		}
	}
	if err != nil && !errors.Is(err, presence.ErrGap) {
		f.giveBack(skipped)
		return // the next tick finds that the topic is behind
	}
	for _, d := range diffs {
		if err != nil || !f.continues(d) {
			err = presence.ErrGap
			break
		}
		l.tell(f, d)
	}
	if err != nil {
		l.gap(try, f, skipped)
		return
	}
	f.unheld, f.sound = false, time.Now()
}

// toldOf returns a function that reports whether a diff has a user who was told to have come and left.
func (l *leader) toldOf(f *followed) func(backend.Diff) bool {
	return func(d backend.Diff) bool {
		return slices.ContainsFunc(d.Joins, func(m presence.Member) bool { return l.revived(f, m) })
	}
}

// gap makes a gap, because events may be missing. Then it goes on with the diffs that the
// watch brought since the store began anew, or else with the store's present roster. Users
// who are new join at once. Users who are gone are in doubt until every node has had time to
// restore its leases.
func (l *leader) gap(ctx context.Context, f *followed, skipped []backend.Diff) {
	anew := slices.IndexFunc(skipped, func(d backend.Diff) bool { return d.Prev == backend.Origin })
	var snap backend.Snapshot
	if anew < 0 {
		var err error
		if snap, err = l.snapshot(ctx, f); err != nil {
			return
		}
	}
	f.unheld = false
	loss := later(l.lossSeen(), f.sound) // the record may have been lost alone, before
	if loss.Sub(f.loss) < holdFor {      // that one is known, perhaps from another node: this is the next
		loss = time.Now()
	}
	f.loss = loss
	if f.doubt.IsZero() {
		f.doubt = f.loss
		l.event(Event{Type: Gap, Topic: f.topic}, string(f.at)+" "+sessionOf(f.doubt))
		l.stats.gaps.Add(1)
		l.log().Warn("presence: a consumer may have missed joins and leaves", slog.String("topic", string(f.topic)))
	}
	f.decideAt = time.Now().Add(l.catchUp(f.topic))
	if anew < 0 {
		for _, m := range slices.Backward(snap.Members) {
			l.join(f, m)
		}
		f.knowsAll(snap.Members)
		l.move(f, position{at: snap.ID, doubt: f.doubt, loss: f.loss})
		return
	}
	for _, d := range skipped[anew:] {
		if d.Prev == backend.Origin || f.continues(d) {
			l.tell(f, d)
		}
	}
}

// lossSeen returns when this node found that the store lost its data: before it made the
// record again, or now.
func (c *consumer) lossSeen() time.Time {
	if time.Since(c.lost) < holdFor+newWait {
		return c.lost
	}
	return time.Now()
}

// compareTotal puts a topic in doubt if its total in the store differs from the number of
// users who were told, twice at the same version: the store lost users, but not its log.
func (l *leader) compareTotal(f *followed, c backend.Counts) {
	if c.Unknown || c.Head != f.at || c.Total == len(f.users) || !f.doubt.IsZero() {
		f.differs = ""
		return
	}
	if f.differs == c.Head {
		now := time.Now()
		l.move(f, position{at: f.at, doubt: now, loss: now})
		f.decideAt = time.Now().Add(l.catchUp(f.topic))
	}
	f.differs = c.Head
}

// decide ends a doubt: users who were told, and who are not in the store's roster, have left.
// It compares at one version, to which the log leads. A store that went back in time may
// have lost the leave of a user, who is then in the roster again. Such a user waits until
// leases that no node renews have expired.
func (l *leader) decide(ctx context.Context, f *followed) {
	lostNow := time.Since(later(l.lost, l.node.RestoringSince())) < l.catchUp(f.topic) // the store lost data once more
	if lostNow || f.doubt.IsZero() || time.Now().Before(f.decideAt) || !l.node.Trusted() {
		return
	}
	snap, err := l.snapshot(ctx, f)
	if err != nil || !l.tellUntil(ctx, f, snap.ID) {
		return
	}
	there := make(map[presence.UserID]bool, len(snap.Members))
	revived := false
	expired := time.Since(f.loss) > l.catchUp(f.topic)+l.node.TTL(f.topic)+l.node.Settles
	for _, m := range snap.Members {
		there[m.ID] = true
		if _, told := f.users[m.ID]; !told && l.revived(f, m) {
			if revived = revived || !expired; expired {
				l.came(f, m, time.Now())
			}
			continue
		}
		l.join(f, m)
	}
	l.leaveAll(ctx, f, f.gone(there))
	if revived {
		f.decideAt = time.Now().Add(decideAgain)
		return
	}
	l.move(f, position{at: f.at})
}

// tellUntil tells the diffs up to a version. It returns false if the log does not lead
// there.
func (l *leader) tellUntil(ctx context.Context, f *followed, version presence.DiffID) bool {
	if f.at == version {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	diffs, err := l.node.Store.Log(ctx, f.topic, f.at)
	for _, d := range diffs {
		if err != nil || !f.continues(d) {
			return false
		}
		if l.tell(f, d); d.ID == version {
			return true
		}
	}
	return false
}
