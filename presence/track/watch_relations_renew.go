package track

import (
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// keep has lists renewed whose relations are too old, and forgets changes that no answer
// is older than.
func (r *relations) keep() {
	now := time.Now()
	if now.Sub(r.looked) < keepEvery {
		return
	}
	r.looked = now
	r.people.mu.Lock()
	defer r.people.mu.Unlock()
	r.mu.Lock()
	var due []*watchList
	for _, l := range r.lists {
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
	r.mu.Unlock()
	for _, l := range due {
		l.askAgain(0)
	}
}

// askAgain has all relations of a list asked for again.
func (l *watchList) askAgain(why relationState) {
	l.out.mu.Lock()
	defer l.out.mu.Unlock()
	for i := range l.slots {
		l.said[i].again(l.slots[i].told != 0, why)
	}
	l.people.relations.want(l)
}

// relationsChanged takes a notice that a user's contacts or blocks have changed: the lists
// that watch the user ask again, and those with the user's contacts read them again.
func (p *people) relationsChanged(user presence.UserID) {
	if !p.directory.on() {
		return
	}
	r := p.relations
	r.mu.Lock()
	r.turn++
	if len(r.changed) >= maxChangedRelations {
		r.void = r.turn
		clear(r.changed)
	}
	r.changed[presence.UserID(strings.Clone(string(user)))] = changedRelations{r.turn, time.Now()}
	r.mu.Unlock()
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

// revoke has the relation to one person asked for again.
func (l *watchList) revoke(slot int) {
	l.out.mu.Lock()
	defer l.out.mu.Unlock()
	shown := l.slots[slot].told != 0
	l.said[slot].again(shown, relationRevoked)
	if soon := l.people.relations.want(l); !soon {
		l.said[slot].failed(shown)
		if l.markLocked(slot) {
			l.out.wakeLocked()
		}
	}
}

// relationsMissed is relationsChanged for all users: this node may have missed notices.
func (p *people) relationsMissed() {
	if !p.directory.on() {
		return
	}
	p.relations.mu.Lock()
	p.relations.turn++
	p.relations.void = p.relations.turn
	p.relations.mu.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.lists {
		if l == nil {
			continue
		}
		l.askAgain(relationRevoked)
	}
	for _, lists := range p.byViewer {
		for _, l := range lists {
			p.contacts.want(l)
		}
	}
}
