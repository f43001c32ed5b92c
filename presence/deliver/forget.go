package deliver

import (
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// Forget makes each consumer forget a user.
func (d *Consumers) Forget(e backend.Erasure) {
	d.mu.Lock()
	running := make([]*consumer, 0, len(d.running))
	for c := range d.running {
		running = append(running, c)
	}
	d.mu.Unlock()
	for _, c := range running {
		c.forget(e)
	}
}

// forget hands an erasure to the goroutine that owns the consumer.
func (c *consumer) forget(e backend.Erasure) {
	c.erasing.mu.Lock()
	c.erasing.all = append(c.erasing.all, erasedAt{e, time.Now().Add(-e.Ago)})
	c.erasing.mu.Unlock()
	c.woken.Wake()
}

// takeErased returns the users to forget.
func (c *consumer) takeErased() []erasedAt {
	c.erasing.mu.Lock()
	defer c.erasing.mu.Unlock()
	all := c.erasing.all
	c.erasing.all = nil
	return all
}

// An erasedAt is an erasure, and the time of its request.
type erasedAt struct {
	backend.Erasure
	at time.Time
}

// forgetErased removes erased users from the copies of a standby node.
func (c *consumer) forgetErased() {
	for _, e := range c.takeErased() {
		for _, entries := range []map[string]string{c.copy, c.read.entries} {
			for key, value := range entries {
				if e.NamesEntry(key, value) {
					delete(entries, key)
				}
			}
		}
	}
}

// forgetErased removes erased users from the record: those whose joins were told, and their events that wait.
// An event for which a lane is calling fn now is the last one.
func (l *leader) forgetErased() {
	for _, e := range l.takeErased() {
		for _, f := range l.follows {
			if u, told := f.users[e.User]; told && u.since.Before(e.at) {
				delete(f.users, e.User)
				l.changes = append(l.changes, recordChange{key: toldKey(f.topic, e.User), gone: true})
			}
		}
		l.changes = append(l.changes, l.out.forget(e)...)
		l.ended.forget(e.User)
	}
}

// forget drops the events about a user. It returns the changes of the record.
func (o *outbox) forget(e erasedAt) (changes []recordChange) {
	o.mu.Lock()
	defer o.mu.Unlock()
	var gone []*parcel
	o.all.Scan(func(_ uint64, p *parcel) bool {
		if p.User.ID == e.User && p.Since.Before(e.at) {
			gone = append(gone, p)
		}
		return true
	})
	for _, p := range gone {
		if p.taken {
			p.last = true
			continue
		}
		o.removeLocked(p)
		changes = append(changes, recordChange{key: eventKey(p.number), gone: true})
	}
	o.countLocked()
	return changes
}

func (e *endedSessions) forget(user presence.UserID) {
	for i, s := range e.order {
		if s.user == user {
			delete(e.known, s)
			e.order[i] = endedSession{}
		}
	}
}
