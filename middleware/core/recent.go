package core

import (
	"hash/maphash"
	"sync"

	"github.com/rollcall-go/rollcall/internal/generations"
	"github.com/rollcall-go/rollcall/presence"
)

// recent remembers when users were recorded whose browsers have no cookie for them. Such a browser keeps no
// cookies, or keeps a guest's cookie because its pages come from caches. recent remembers a user for one to
// two throttle times. It holds at least the latest maxRecent users; a page view of another user is recorded
// once more, which does no harm. It keeps hashes of ids, so that its memory does not depend on their length
// and does not keep requests alive.
type recent struct {
	throttle int64 // milliseconds
	seed     maphash.Seed

	mu       sync.Mutex
	turned   int64 // when a generation was begun
	recorded *generations.Map[uint64, int64]
}

// maxRecent bounds the users in each of two generations: 2 x 32k users are about 2 MB.
const maxRecent = 32 << 10

func newRecent(throttle int64) *recent {
	return &recent{throttle: throttle, seed: maphash.MakeSeed(), recorded: generations.New[uint64, int64](2*maxRecent, nil)}
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
	stamp, _ := r.recorded.Get(key)
	return stamp
}

// record notes that a user is recorded now.
func (r *recent) record(id presence.UserID, browser string, now int64) {
	key := r.key(id, browser)
	r.mu.Lock()
	defer r.mu.Unlock()
	due := now-r.turned >= r.throttle
	if due {
		r.recorded.Turn()
	}
	if r.recorded.Set(key, now) || due {
		r.turned = now
	}
}

// remove removes a user, so that the next page view is recorded.
func (r *recent) remove(id presence.UserID, browser string) {
	key := r.key(id, browser)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.recorded.Delete(key)
}
