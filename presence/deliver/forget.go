package deliver

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/rollcall-go/rollcall/presence/backend"
)

// Forget makes each consumer forget a user.
func (d *Consumers) Forget(e backend.Erasure) {
	d.mu.Lock()
	running := slices.Collect(maps.Keys(d.running))
	d.mu.Unlock()
	for _, c := range running {
		c.erasing.add(e)
		c.woken.Wake()
	}
}

// erasing has the erasures that a consumer's goroutine has not taken yet.
type erasing struct {
	mu  sync.Mutex // taken with no other mutex held
	all []erasedAt
}

// An erasedAt is an erasure, and the time of its request.
type erasedAt struct {
	backend.Erasure
	at time.Time
}

func (q *erasing) add(e backend.Erasure) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.all = append(q.all, erasedAt{e, time.Now().Add(-e.Ago)})
}

func (q *erasing) take() (all []erasedAt) {
	q.mu.Lock()
	defer q.mu.Unlock()
	all, q.all = q.all, nil
	return all
}

// forgetErased removes erased users from what a node that does not lead remembers.
func (c *consumer) forgetErased() {
	for _, e := range c.erasing.take() {
		maps.DeleteFunc(c.memory, e.NamesEntry)
	}
}

// forgetErased removes erased users from the record: those whose joins were told, and their events that wait.
func (l *leader) forgetErased() {
	for _, e := range l.erasing.take() {
		for _, f := range l.follows {
			if u, told := f.users[e.User]; told && u.Since.Before(e.at) {
				delete(f.users, e.User)
				l.set(toldKey(f.topic, e.User), "")
			}
		}
		l.drop(l.out.forget(e))
	}
}
