package track

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// A topic over the roster limit publishes totals, and a node shows a few of its users: a sample,
// and those for whom a page or a connection here asks. So the replica of a large topic is
// partial: it has the total, the sample, and askedUsers, all three kept current by the store's
// diffs. It takes some MB, whatever the number of users is, and a node that starts reads a page
// of the roster instead of all of it.
//
// The sample is that page, which is in the store's own order, and everybody who joined since. The
// longest there make room. So it has all who came after some moment, sampling.since, and of those
// before it just anybody: pages of the roster name the latter as the store has them.
//
//	whole ──── over the limit, and over wholeUsers ───▶ partial   at once: what is left out is dropped
//	whole ◀─── 10 % below either, or a Go program ───── partial   after the roster was read again;
//	           follows Tracker.Changes                            readers get a state, and no diff
//
// While a Go program follows the changes the replica stays whole, since the program is promised
// each join and leave once.
//
// After a loss of data the sample, the asked users and the total stay for restoreFor (see
// provisional), because nodes restore their leases meanwhile; then the topic is read again.
// Until then the total shown is the larger one of before and of now.

const (
	// wholeUsers is the number of users up to which a replica keeps the whole roster although events have
	// only totals.
	wholeUsers = 5_000
	// sampleUsers is how many users the sample of a partial replica has: as many as a page shows.
	sampleUsers = 1_000
	// refillEvery is the least time between two reads of a sample that lost many users.
	refillEvery = 5 * time.Second
)

// A sampling is what a partial ledger has beside its roster, which is the sample. A whole ledger has none.
type sampling struct {
	asked  *askedUsers
	most   int       // users in the sample
	users  int       // users online at the head
	shown  int       // users online at the published version
	frozen bool      // the sample gets no new users, because nodes are restoring users
	filled time.Time // when the sample was read
	since  time.Time // the sample has every user who came later, by the store's clock
}

// nobodySince is the since of a sample of which that is unknown, until a user joins.
var nobodySince = time.Unix(0, math.MaxInt64)

func (p *sampling) partial() bool { return p != nil }

// askedUsers returns the askedUsers of a partial ledger, or nil.
func (p *sampling) askedUsers() *askedUsers {
	if p == nil {
		return nil
	}
	return p.asked
}

// shrink makes a whole ledger partial, in which everything is published. It takes no since from the roster: a
// roster keeps the Since of a user who was away for a moment, and the store does not.
func (l *ledger) shrink(asked *askedUsers, most int) {
	sample := newRoster(l.roster.probes)
	n := 0
	l.roster.bySince.Scan(func(e *entry) bool {
		sample.set(e)
		n++
		return n < most
	})
	l.sampling = &sampling{asked: asked, most: most, users: l.roster.len(), shown: l.roster.len(), filled: time.Now(), since: nobodySince}
	l.roster = sample
	l.history.strip()
}

// addPart is add for a partial ledger.
func (l *ledger) addPart(d backend.Diff) {
	for _, m := range d.Joins {
		l.takePart(m, true)
	}
	for _, m := range d.Updates {
		l.takePart(m, false)
	}
	for _, left := range d.Leaves {
		l.roster.remove(left.ID)
		l.asked.tell(left.ID, nil)
	}
	l.users, l.head = d.Total, d.ID
	l.history.add(version{id: d.ID, total: d.Total})
}

// takePart adds a user of a diff. Users who were there before a join came at the moment of the join or
// earlier. So with the first join it is known since when the sample has every user.
func (l *ledger) takePart(m presence.Member, joined bool) {
	was := l.roster.get(m.ID)
	e := stayed(was, newEntry(m))
	l.asked.tell(m.ID, e)
	if was == nil && (!joined || l.frozen) || !e.Since.Equal(m.Since) {
		l.lack(m.Since)
	}
	if was == nil && (!joined || l.frozen) {
		return
	}
	l.keepPart(e)
	if joined && !l.frozen && l.since.Equal(nobodySince) {
		newest, _ := l.roster.bySince.Min()
		l.since = m.Since
		l.lack(newest.Since)
	}
}

// keepPart adds a user to the sample. If it is full, the user who has been in it longest is removed.
func (l *ledger) keepPart(e *entry) {
	l.roster.set(e)
	if l.roster.len() > l.most {
		if oldest, ok := l.roster.bySince.Max(); ok {
			l.roster.remove(oldest.ID)
			l.lack(oldest.Since)
		}
	}
}

// lack notes that the sample lacks a user who came at a moment, by the store's clock, or has another moment
// for the user.
func (p *sampling) lack(at time.Time) {
	if at.After(p.since) {
		p.since = at
	}
}

// find returns a user's entry at the head, nil if absent. For an unknown user it returns false, and asks the
// store in the background.
func (l *ledger) find(id presence.UserID) (e *entry, known bool) {
	e = l.get(id)
	if e != nil || !l.partial() {
		return e, true
	}
	return l.asked.get(id)
}

// strip drops the changes of all versions, because readers get only totals.
func (h *history) strip() {
	for i := range h.versions {
		h.versions[i].changes = nil
	}
	h.changes = 0
}

// fetchPart reads a part of a topic, in three round trips, and in four if its kind has extras.
func (env *topicEnv) fetchPart(ctx context.Context, topic presence.Topic, kind presence.Kind, counts backend.Counts) (stored, error) {
	most := env.sampleUsers
	page, err := env.store.Roster(ctx, topic, backend.RosterQuery{Limit: min(most, maxRosterQuery)})
	if err != nil {
		return stored{}, err
	}
	log, err := env.store.Log(ctx, topic, "")
	if err != nil {
		return stored{}, err
	}
	h, newer := coldHistory(page.ID, log, env.cfg.LogSize)
	l := newLedger(page.ID, newRoster(env.probes), h)
	l.sampling = &sampling{asked: newAskedUsers(env.store, topic, env.spawn), most: most, users: page.Total, shown: page.Total, filled: time.Now(), since: nobodySince}
	for _, m := range h.joined() {
		l.takePart(m, true)
	}
	for _, m := range page.Members {
		if l.roster.get(m.ID) == nil {
			l.lack(m.Since) // the log has no join of the user, who therefore came before it, unless the store's clock was set back
			l.keepPart(newEntry(m))
		}
	}
	h.strip()
	now := stored{ledger: l, newer: newer, counts: counts}
	now.extras, now.known = env.extras(ctx, topic, kind)
	return now, nil
}

// joined returns the users who joined in the history and are there at its end, the newest last. The store's
// roster may be in another order, but its log is in the order of the joins.
func (h *history) joined() []presence.Member {
	there := make(map[presence.UserID]*entry)
	for _, v := range h.versions {
		for _, c := range v.changes {
			switch {
			case c.after == nil:
				delete(there, c.id)
			case !c.present || there[c.id] != nil:
				there[c.id] = c.after
			}
		}
	}
	all := make([]presence.Member, 0, len(there))
	for _, e := range there {
		all = append(all, e.Member)
	}
	slices.SortFunc(all, func(a, b presence.Member) int { return presence.NewestFirst(b, a) })
	return all
}

// openWindow returns a window of the topic. It waits until the replica is whole, or ctx ends, because a part
// may lack the first users.
func (r *replica) openWindow(ctx context.Context, want Window) *windowSource {
	if !r.kind.CountOnly {
		defer r.follow(ctx, nil)()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.windows == nil {
		r.windows = newWindows(r, r.out)
	}
	return r.windows.get(want)
}
