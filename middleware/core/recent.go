package core

import (
	"hash/maphash"
	"sync"

	"github.com/rollcall-go/rollcall/presence"
)

// recent remembers when users were recorded whose browsers have no cookie of theirs: none,
// or one of a guest that pages from caches do not replace. It does so for one to two throttle
// times. Of very many users it remembers at least the latest maxRecent; a page view of
// another is recorded once more, which does no harm. It keeps hashes of ids, so that its
// memory does not depend on their length and does not keep requests alive.
type recent struct {
	throttle int64 // milliseconds
	seed     maphash.Seed

	mu         sync.Mutex
	turned     int64 // when young was started
	young, old map[uint64]int64
}

// maxRecent bounds the users in young and in old: 2 x 32k users are about 2 MB.
const maxRecent = 32 << 10

func newRecent(throttle int64) *recent {
	return &recent{throttle: throttle, seed: maphash.MakeSeed(), young: make(map[uint64]int64)}
}

// key returns the key of a user in a browser; "" stands for all browsers without cookies.
func (r *recent) key(id presence.UserID, browser string) uint64 {
	key := maphash.String(r.seed, string(id))
	if browser != "" {
		key ^= maphash.String(r.seed, browser)
	}
	return key
}

// last returns when a user was last recorded, or 0 if that is unknown.
func (r *recent) last(id presence.UserID, browser string) int64 {
	key := r.key(id, browser)
	r.mu.Lock()
	defer r.mu.Unlock()
	if stamp, ok := r.young[key]; ok {
		return stamp
	}
	return r.old[key]
}

// record notes that a user is recorded now.
func (r *recent) record(id presence.UserID, browser string, now int64) {
	key := r.key(id, browser)
	r.mu.Lock()
	defer r.mu.Unlock()
	if now-r.turned >= r.throttle || len(r.young) >= maxRecent {
		r.old, r.young, r.turned = r.young, make(map[uint64]int64), now
	}
	r.young[key] = now
}

// remove removes a user, so that the next page view is recorded.
func (r *recent) remove(id presence.UserID, browser string) {
	key := r.key(id, browser)
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.young, key)
	delete(r.old, key)
}
