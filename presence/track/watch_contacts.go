package track

import (
	"context"

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
	wanted []*watchList
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

// contactReads says which read of the viewer's contacts a list has, and whether a newer one is wanted.
type contactReads struct {
	wanted bool   // the list is in contactReader.wanted; contactReader.mu guards it
	read   uint64 // the number of the read whose answer the list has; people.mu guards it
}

func newContactReader(p *peopleHere) *contactReader {
	return &contactReader{peopleHere: p, kick: wait.NewWakeup(), known: generations.New[presence.UserID, readContacts](maxContactsKnown, nil)}
}

// followContacts puts on a list the users that the page named, and the contacts of its viewer. The contacts
// are read later.
func (p *peopleHere) followContacts(l *watchList, named []presence.UserID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l.named = named
	p.byViewer[l.viewer] = append(p.byViewer[l.viewer], l)
	l.watchLocked(named)
}

// forgetContactsLocked undoes followContacts, except that the people stay on the list.
func (p *peopleHere) forgetContactsLocked(l *watchList) {
	lists := p.byViewer[l.viewer]
	for i := range lists {
		if lists[i] != l {
			continue
		}
		if lists[i] = lists[len(lists)-1]; len(lists) == 1 {
			delete(p.byViewer, l.viewer)
		} else {
			lists[len(lists)-1] = nil
			p.byViewer[l.viewer] = lists[:len(lists)-1]
		}
		l.named = nil
		return
	}
}

func (p *peopleHere) followsContactsLocked(l *watchList) bool {
	for _, other := range p.byViewer[l.viewer] {
		if other == l {
			return true
		}
	}
	return false
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
	if !p.followsContactsLocked(l) || turn < l.contacts.read { // the list has ended, its page named others, or a later answer came first
		return true
	}
	if !answered && l.contacts.read > 0 {
		return false
	}
	if answered {
		l.contacts.read = turn
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
	if !l.contacts.wanted {
		l.contacts.wanted = true
		r.wanted = append(r.wanted, l)
	}
	r.mu.Unlock()
	r.kick.Wake()
}

func (r *contactReader) next() *watchList {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.wanted) == 0 {
		r.wanted = nil
		return nil
	}
	l := r.wanted[0]
	r.wanted[0] = nil
	r.wanted = r.wanted[1:]
	l.contacts.wanted = false
	return l
}

// run reads until ctx ends. After an error it waits longer each time.
func (r *contactReader) run(ctx context.Context) {
	backoff := backoffFirst
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.kick:
		}
		for l := r.next(); l != nil; l = r.next() {
			if !r.followsContacts(l) || r.read(ctx, l) {
				backoff = backoffFirst
				continue
			}
			if !wait.For(ctx, backoff) {
				return
			}
			backoff = min(2*backoff, maxPeopleBackoff)
		}
	}
}

func (p *peopleHere) followsContacts(l *watchList) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.followsContactsLocked(l)
}
