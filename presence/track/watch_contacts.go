package track

import (
	"context"
	"slices"

	"github.com/rollcall-go/rollcall/internal/generations"
	"github.com/rollcall-go/rollcall/internal/wait"
	"github.com/rollcall-go/rollcall/presence"
)

// A contactReader reads the contacts of viewers whose lists include them: when a list is opened, when the
// site says that they have changed, and again after an error.
type contactReader struct {
	*peopleHere
	kick wait.Wakeup

	mu     relationsMutex
	wanted askQueue[*watchList]
	asked  uint64                                          // number of reads that have begun
	known  *generations.Map[presence.UserID, readContacts] // the latest answers, for viewers who reconnect while the Directory is out
}

// readContacts are the contacts of a viewer, and the number of the read that returned them.
type readContacts struct {
	ids  []presence.UserID
	read uint64
}

// maxContactsKnown is how many viewers' contacts a node remembers: 2,000 lists of 500 ids
// take about 30 MB.
const maxContactsKnown = 2_000

func newContactReader(p *peopleHere) *contactReader {
	return &contactReader{peopleHere: p, kick: wait.NewWakeup(), known: generations.New[presence.UserID, readContacts](maxContactsKnown, nil)}
}

// followContacts puts on a list the users that the page named, and the contacts of its viewer. The contacts
// are read later.
func (p *peopleHere) followContacts(l *watchList, named []presence.UserID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l.follows, l.named = true, named
	p.byViewer[l.viewer] = append(p.byViewer[l.viewer], l)
	l.watchLocked(named)
}

// forgetContactsLocked undoes followContacts, except that the people stay on the list.
func (p *peopleHere) forgetContactsLocked(l *watchList) {
	if !l.follows {
		return
	}
	l.follows, l.named = false, nil
	others := slices.DeleteFunc(p.byViewer[l.viewer], func(other *watchList) bool { return other == l })
	if p.byViewer[l.viewer] = others; len(others) == 0 {
		delete(p.byViewer, l.viewer)
	}
}

// read reads the contacts for a list, and reports whether the Directory answered. If not, they are read again
// later. Until then the list stays as it is. A new list gets the contacts that were read last, because each
// long poll makes a new list.
func (r *contactReader) read(ctx context.Context, l *watchList) bool {
	r.mu.Lock()
	r.asked++
	turn := r.asked
	r.mu.Unlock()
	contacts, err := r.directory.contacts(ctx, l.viewer, presence.MaxWatched)
	r.mu.Lock()
	switch known, _ := r.known.Get(l.viewer); {
	case err != nil:
		contacts = known.ids
	case turn > known.read: // otherwise another list of the viewer has a later answer
		r.known.Set(l.viewer, readContacts{contacts, turn})
	}
	r.mu.Unlock()
	if err != nil {
		defer r.want(l)
	}
	return r.takeContacts(l, contacts, turn, err == nil)
}

// takeContacts puts contacts on a list that were read in a turn. answered is false if they are from an
// earlier answer. It reports whether they need not be read again.
func (p *peopleHere) takeContacts(l *watchList, contacts []presence.UserID, turn uint64, answered bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !l.follows || turn < l.read { // the list has ended, its page named others, or a later answer came first
		return true
	}
	if !answered && l.read > 0 {
		return false
	}
	if answered {
		l.read = turn
	}
	most := presence.MaxWatched
	ids := append(make([]presence.UserID, 0, most), l.named...)
	known, tenant := make(map[presence.UserID]struct{}, most), l.viewer.Tenant()
	for _, id := range ids {
		known[id] = struct{}{}
	}
	for _, id := range contacts {
		if _, twice := known[id]; twice || len(ids) == most || (presence.User{ID: id}).ValidateInside() != nil || id.Tenant() != tenant {
			continue
		}
		known[id] = struct{}{}
		ids = append(ids, id)
	}
	l.watchLocked(ids)
	return answered
}

// want schedules a read of a list's contacts. It does not wait.
func (r *contactReader) want(l *watchList) {
	r.mu.Lock()
	r.wanted.put(l)
	r.mu.Unlock()
	r.kick.Wake()
}

// run reads until ctx ends.
func (r *contactReader) run(ctx context.Context) {
	askInTurn(ctx, r.kick, 0, func() (asked, answered bool) {
		r.mu.Lock()
		l, wanted := r.wanted.next()
		r.mu.Unlock()
		return wanted, wanted && (!r.followsContacts(l) || r.read(ctx, l))
	})
}

func (p *peopleHere) followsContacts(l *watchList) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return l.follows
}
