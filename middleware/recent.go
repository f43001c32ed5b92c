package middleware

import (
	"hash/maphash"
	"sync"

	"github.com/rollcall-go/rollcall/presence"
)

// recent remembers when users without cookies were recorded, for a throttle
// time at least and two at most. If they are very many it remembers the latest
// maxRecent at least, and a page view of any other is recorded once more, which
// does no harm. It keeps hashes, so that its memory does not depend on what ids
// look like, nor hold on to the requests that they came with.
type recent struct {
	throttle int64 // milliseconds
	seed     maphash.Seed

	mu         sync.Mutex
	turned     int64 // when young was begun
	young, old map[uint64]int64
}

// maxRecent is how many users a generation holds: 2 x 32k are about 2 MB.
const maxRecent = 32 << 10

func newRecent(throttle int64) *recent {
	return &recent{throttle: throttle, seed: maphash.MakeSeed(), young: make(map[uint64]int64)}
}

// last returns when a user was recorded, and 0 if that is not known.
func (r *recent) last(id presence.UserID) int64 {
	key := maphash.String(r.seed, string(id))
	r.mu.Lock()
	defer r.mu.Unlock()
	if stamp, ok := r.young[key]; ok {
		return stamp
	}
	return r.old[key]
}

// record notes that a user is recorded now.
func (r *recent) record(id presence.UserID, now int64) {
	key := maphash.String(r.seed, string(id))
	r.mu.Lock()
	defer r.mu.Unlock()
	if now-r.turned >= r.throttle || len(r.young) >= maxRecent {
		r.old, r.young, r.turned = r.young, make(map[uint64]int64), now
	}
	r.young[key] = now
}

// forget has a user's next page view recorded.
func (r *recent) forget(id presence.UserID) {
	key := maphash.String(r.seed, string(id))
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.young, key)
	delete(r.old, key)
}
