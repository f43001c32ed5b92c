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

// A followed is a topic of a leader. The field users has those whose joins the consumer was told. The leader
// compares each diff with users. The join of one of them is no event, and neither is the leave of anybody
// else. So it does no harm to read a diff twice, or to read the joins of users whom the nodes restored after
// the store lost its data.
type followed struct {
	*tapped
	ofKind bool // the topic is not named: see followedKind
	over   bool // the topic is about to rest
	begun  bool // the topic has a position
	position
	users    map[presence.UserID]toldUser // users whose joins were told
	decideAt time.Time                    // when the doubt ends
	sound    time.Time                    // when the store last had the version that the consumer was told of
	unheld   bool                         // nobody held the record for quietFor before this node did: see readLog
	differs  presence.DiffID              // the version at which the store's total differed from that of users
	blind    bool                         // events may be missing without a trace in the store: see lookout
}

// quietFor is how long a record may have no holder before an empty topic that starts from Origin has a gap:
// somebody may have come and left. A log stays for a minute.
const quietFor = 30 * time.Second

// decideAgain is how much longer a doubt lasts for users whose leave the store lost.
const decideAgain = 5 * time.Second

// advanceFor bounds a round of advance, so that the leader commits in time to stay one.
const advanceFor = time.Second

// advance makes events of the diffs that came. If due is set, it also asks the store for the heads of the
// topics, since diffs may be lost on their way, and ends doubts. If a round takes too long, the next round
// begins with the topics that are left.
func (l *leader) advance(ctx context.Context, due bool) {
	var counts []backend.Counts
	if due {
		l.lookForTopics(ctx)
		var err error
		if counts, err = l.counts(ctx); err != nil {
			return
		}
		l.lookout.look()
		if _, lost := l.node.RestoringSince(); l.lookout.missed(lost) {
			for _, f := range l.follows {
				f.blind = f.begun
			}
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
	told := f.latest
	skipped, behind := l.take(f)
	if due && !c.Unknown {
		behind = behind || f.unheld || c.Head != f.at
		if c.Head == f.at {
			f.sound = time.Now()
		}
	}
	if behind {
		l.readLog(ctx, f, skipped, told)
	}
	if f.blind && f.doubt.IsZero() {
		l.gap(ctx, f, nil)
	}
	f.blind = f.blind && f.doubt.IsZero() // if the store did not answer
	if due {
		l.compareTotal(f, c)
		l.decide(ctx, f)
		f.over = !c.Unknown && c.Total == 0 && f.restsAt(c.Head)
	}
}

// beginTopic makes a join for each user who is in the topic. If a node prepared a part of the record, some
// users were told already. beginTopic makes the leaves of those who are gone.
func (l *leader) beginTopic(ctx context.Context, f *followed) bool {
	snap, err := l.snapshot(ctx, f)
	if err != nil {
		return false
	}
	there := make(map[presence.UserID]bool, len(snap.Members))
	for _, m := range slices.Backward(snap.Members) { // joins come in the order in which the users came
		there[m.ID] = true
		l.join(f, m)
	}
	l.leaveAll(ctx, f, f.gone(there))
	f.knowsAll(snap.Members)
	l.move(f, position{at: snap.ID})
	return true
}

// gone returns the users whose join was told, and who are not there.
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

// take makes events of the diffs that the watch brought, in order. It returns the diffs that do not continue
// from the position, and whether the log must be read.
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

// readLog makes events of the diffs in the store's log after the position. If the log does not reach back to
// the position, there is a gap. An empty topic that starts again from Origin is no gap, unless the record had
// no holder for long: then somebody may have come and left. If a log from Origin on has events that were told
// already, the topic has not started again: the store went back in time.
//
// Example: Alice, the last one in thread:1, leaves at 12:00:00.0. The consumer is told, and the topic
// rests. At 12:00:00.5 Redis fails over, and loses that. Its log of thread:1 begins with users who came
// and left long ago.
//
// There is a gap, too, if the log lacks a skipped diff with an event of after told, when the latest event was that
// the consumer was told of. The store went back in time, and went on from the position.
func (l *leader) readLog(ctx context.Context, f *followed, skipped []backend.Diff, told time.Time) {
	try, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	diffs, err := l.node.Store.Log(try, f.topic, f.at)
	if err == nil && f.unheld && f.at == backend.Origin {
		err = presence.ErrGap // the log may start again from Origin
	}
	from := f.at
	if errors.Is(err, presence.ErrGap) && len(f.users) == 0 && !f.unheld {
		from = backend.Origin
		if diffs, err = l.node.Store.Log(try, f.topic, from); err == nil && len(diffs) == 0 {
			l.move(f, position{at: from, doubt: f.doubt, loss: f.loss})
		}
	}
	if err == nil && from == backend.Origin && len(f.users) == 0 && slices.ContainsFunc(diffs, l.toldOf(f)) {
		err = presence.ErrGap
	}
	if err != nil && !errors.Is(err, presence.ErrGap) {
		f.giveBack(skipped)
		return // the next tick finds that the topic is behind
	}
	if slices.ContainsFunc(skipped, func(d backend.Diff) bool {
		return endOf(d).After(told) && !slices.ContainsFunc(diffs, func(kept backend.Diff) bool { return kept.ID == d.ID })
	}) {
		err = presence.ErrGap
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

// toldOf returns a function that reports whether a diff has the join of a user whose leave was told already.
func (l *leader) toldOf(f *followed) func(backend.Diff) bool {
	return func(d backend.Diff) bool {
		return slices.ContainsFunc(d.Joins, func(m presence.Member) bool { return l.revived(f, m) })
	}
}

// gap makes a gap, because events may be missing. It continues with the diffs that the watch brought since the
// store began anew, or else with the store's present roster. New users join at once. Users who are gone are in
// doubt until every node has had time to restore its leases.
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
	loss := later(l.lossSeen(), f.sound) // the record alone may have been lost, earlier than that
	if loss.Sub(f.loss) < holdFor {      // that loss is known, perhaps from another node: this is the next one
		loss = time.Now()
	}
	f.loss = loss
	if f.doubt.IsZero() {
		f.doubt = f.loss
		l.event(Event{Type: Gap, Topic: f.topic}, string(f.at)+" "+sessionOf(f.doubt))
		l.stats.gaps.Add(1)
		l.log().Warn("presence: a consumer may have missed joins and leaves", slog.String("topic", string(f.topic)))
	}
	f.decideAt = time.Now().Add(l.node.CatchUp(f.topic))
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

// lossSeen returns when this node found that the store lost its data: before it rebuilt the record, or now.
func (c *consumer) lossSeen() time.Time {
	if time.Since(c.lost) < holdFor+newWait {
		return c.lost
	}
	return time.Now()
}

// compareTotal puts a topic in doubt if its total in the store differs, twice at the same version, from the
// number of users whose joins were told. Then the store lost users, but not its log.
func (l *leader) compareTotal(f *followed, c backend.Counts) {
	if c.Unknown || c.Head != f.at || c.Total == len(f.users) || !f.doubt.IsZero() {
		f.differs = ""
		return
	}
	if f.differs == c.Head {
		now := time.Now()
		l.move(f, position{at: f.at, doubt: now, loss: now})
		f.decideAt = time.Now().Add(l.node.CatchUp(f.topic))
	}
	f.differs = c.Head
}

// decide ends a doubt. Users whose join was told and who are not in the store's roster have left. It compares
// at one version, to which the log leads. A store that went back in time may have lost the leave of a user,
// who is then in the roster again. Such a user stays in doubt until leases that no node renews have expired.
func (l *leader) decide(ctx context.Context, f *followed) {
	restoring, _ := l.node.RestoringSince()
	lostNow := time.Since(later(l.lost, restoring)) < l.node.CatchUp(f.topic) // the store lost data once more
	if lostNow || f.doubt.IsZero() || time.Now().Before(f.decideAt) || !l.node.Trusted() {
		return
	}
	snap, err := l.snapshot(ctx, f)
	if err != nil || !l.tellUntil(ctx, f, snap.ID) {
		return
	}
	there := make(map[presence.UserID]bool, len(snap.Members))
	revived := false
	expired := time.Since(later(f.loss, restoring)) > l.node.CatchUp(f.topic)+l.node.TTL(f.topic)+l.node.Settles
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
