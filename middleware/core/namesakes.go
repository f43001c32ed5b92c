package core

import (
	"hash/maphash"
	"sync"
	"time"

	"github.com/rollcall-go/rollcall/internal/generations"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/track"
)

// namesakes finds two users who have one id, by the name of the id: it changes with each page view. A user who
// takes a new name, and takes it back, is none. It remembers hashes of the latest 8k to 16k users.
type namesakes struct {
	seed  maphash.Seed
	mu    sync.Mutex
	known *generations.Map[uint64, naming]
}

// A naming is the names that an id had lately, as hashes.
type naming struct {
	name, before uint64
	at           time.Time // when name came
	back         int       // how many changes in a row led back to the name before
}

const (
	maxNamings = 8 << 10 // in each of two generations
	backWithin = 10 * time.Minute
	maxBack    = 2 // Alice, Bob, Alice, Bob
)

func newNamesakes() *namesakes {
	return &namesakes{seed: maphash.MakeSeed(), known: generations.New[uint64, naming](2*maxNamings, nil)}
}

// see takes a recorded page view of a user, and reports [presence.SharedID].
func (n *namesakes) see(t *track.Tracker, user presence.User) {
	if n.swings(maphash.String(n.seed, string(user.ID)), maphash.String(n.seed, user.Name), time.Now()) {
		t.Found(presence.SharedID, "id", user.ID.Local())
	}
}

// swings notes the name of an id, and reports whether it has gone back and forth.
func (n *namesakes) swings(id, name uint64, now time.Time) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	was, known := n.known.Get(id)
	is := naming{name: name, before: was.name, at: now}
	switch {
	case !known:
	case name == was.name:
		is = was
	case name == was.before && now.Sub(was.at) < backWithin:
		is.back = was.back + 1
	}
	n.known.Set(id, is)
	return name != was.name && is.back >= maxBack
}
