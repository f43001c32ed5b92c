package track

import (
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// keep renews lists whose relations are becoming too old, and forgets changes that are older than all
// answers. Only one goroutine may call it.
func (r *relations) keep() {
	now := time.Now()
	if now.Sub(r.looked) < keepEvery {
		return
	}
	r.looked = now
	r.peopleHere.mu.Lock()
	defer r.peopleHere.mu.Unlock()
	for _, l := range r.old(r.lists, now) {
		l.askAgain(0)
	}
}

// old returns the lists whose relations are becoming too old, each once. It forgets changes that are older
// than all answers.
func (r *relations) old(lists []*watchList, now time.Time) (due []*watchList) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, l := range lists {
		if l != nil && !l.asked.since.IsZero() && now.Sub(l.asked.since) >= relationsFor-keepEvery {
			l.asked.since = time.Time{}
			due = append(due, l)
		}
	}
	for user, c := range r.changed {
		if now.Sub(c.at) > relationsFor+2*directoryWait {
			delete(r.changed, user)
		}
	}
	return due
}

// askAgain queues questions about all relations of a list.
func (l *watchList) askAgain(why relationState) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.slots {
		l.said[i].again(l.slots[i].told != 0, why)
	}
	l.people.relations.want(l)
}

// relationsChanged handles a notice that a user's contacts or blocks have changed: the lists that watch the
// user ask again, and those with the user's contacts read them again.
func (p *peopleHere) relationsChanged(user presence.UserID) {
	if !p.directory.on() {
		return
	}
	p.relations.change(user)
	p.mu.Lock()
	defer p.mu.Unlock()
	if w := p.byID[user]; w != nil {
		for _, f := range w.followers {
			p.lists[f.list].revoke(int(f.slot))
		}
	}
	for _, l := range p.byViewer[user] {
		p.contacts.want(l)
	}
}

// change makes earlier answers about a user void.
func (r *relations) change(user presence.UserID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.turn++
	if len(r.changed) >= maxChangedRelations {
		r.void = r.turn
		clear(r.changed)
	}
	r.changed[presence.UserID(strings.Clone(string(user)))] = changedRelations{r.turn, time.Now()}
}

// changeAll is change for all users.
func (r *relations) changeAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.turn++
	r.void = r.turn
}

// revoke queues a question about the relation to one person.
func (l *watchList) revoke(slot int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	shown := l.slots[slot].told != 0
	l.said[slot].again(shown, relationRevoked)
	if soon := l.people.relations.want(l); !soon {
		l.said[slot].failed(shown)
		l.noteLocked(slot)
	}
}

// relationsMissed is relationsChanged for all users: this node may have missed notices.
func (p *peopleHere) relationsMissed() {
	if !p.directory.on() {
		return
	}
	p.relations.changeAll()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.lists {
		if l == nil {
			continue
		}
		if l.askAgain(relationRevoked); l.follows {
			p.contacts.want(l)
		}
	}
}
