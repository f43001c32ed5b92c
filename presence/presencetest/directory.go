package presencetest

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// A MemoryDirectory is a [presence.Directory] in memory, for tests. Make it with
// [NewMemoryDirectory]. It may be used concurrently.
type MemoryDirectory struct {
	mu       sync.Mutex
	settings map[presence.UserID]presence.Settings
	seen     map[presence.UserID]time.Time
	lists    map[presence.UserID][]presence.UserID // contacts, the dearest first
	blocks   map[presence.Pair]bool
	fault    error
}

// NewMemoryDirectory returns an empty MemoryDirectory.
func NewMemoryDirectory() *MemoryDirectory {
	return &MemoryDirectory{
		settings: make(map[presence.UserID]presence.Settings),
		seen:     make(map[presence.UserID]time.Time),
		lists:    make(map[presence.UserID][]presence.UserID),
		blocks:   make(map[presence.Pair]bool),
	}
}

// Fail makes every call return an error, until it is nil.
func (d *MemoryDirectory) Fail(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fault = err
}

// Befriend puts users behind the others on a user's list. No-op for a user of another tenant.
func (d *MemoryDirectory) Befriend(user presence.UserID, others ...presence.UserID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, other := range others {
		if user.Tenant() == other.Tenant() && !slices.Contains(d.lists[user], other) {
			d.lists[user] = append(d.lists[user], other)
		}
	}
}

// Unfriend takes a user off another's list.
func (d *MemoryDirectory) Unfriend(user, other presence.UserID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lists[user] = slices.DeleteFunc(d.lists[user], func(id presence.UserID) bool { return id == other })
}

// Block makes a user unseen by another, or ends that. No-op for a user of another tenant.
func (d *MemoryDirectory) Block(user, other presence.UserID, on bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	was := d.settingsLocked(user)
	if on && user.Tenant() == other.Tenant() {
		d.blocks[presence.Pair{User: user, Viewer: other}] = true
	} else {
		delete(d.blocks, presence.Pair{User: user, Viewer: other})
	}
	if d.settingsLocked(user).Except != was.Except {
		was.Rev = nextRev(was.Rev)
		d.settings[user] = was
	}
}

// nextRev returns the revision of settings that replace those of another revision.
func nextRev(rev int64) int64 { return max(rev+1, time.Now().UnixMilli()) }

// Settings implements [presence.Directory].
func (d *MemoryDirectory) Settings(ctx context.Context, users ...presence.UserID) ([]presence.Settings, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := make([]presence.Settings, len(users))
	for i, user := range users {
		all[i] = d.settingsLocked(user)
	}
	return all, cmp.Or(d.fault, ctx.Err())
}

func (d *MemoryDirectory) settingsLocked(user presence.UserID) presence.Settings {
	s := d.settings[user]
	s.Except = false
	for pair := range maps.Keys(d.blocks) {
		s.Except = s.Except || pair.User == user
	}
	return s
}

// SetSettings implements [presence.Directory].
func (d *MemoryDirectory) SetSettings(ctx context.Context, user presence.UserID, s presence.Settings) (rev int64, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := cmp.Or(s.Validate(), d.fault, ctx.Err()); err != nil {
		return 0, err
	}
	if s.Rev != d.settings[user].Rev {
		return 0, presence.ErrLaterChoice
	}
	s.Rev = nextRev(s.Rev)
	d.settings[user] = s
	return s.Rev, nil
}

// Choose replaces what a user chose, whatever that was, as a program of the site's own does.
func (d *MemoryDirectory) Choose(user presence.UserID, s presence.Settings) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s.Rev = nextRev(d.settings[user].Rev)
	d.settings[user] = s
}

// Contacts implements [presence.Directory].
func (d *MemoryDirectory) Contacts(ctx context.Context, user presence.UserID, most int) ([]presence.UserID, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	listed := slices.DeleteFunc(slices.Clone(d.lists[user]), func(other presence.UserID) bool {
		return d.blocks[presence.Pair{User: user, Viewer: other}]
	})
	return listed[:min(len(listed), most)], cmp.Or(d.fault, ctx.Err())
}

// Relations implements [presence.Directory].
func (d *MemoryDirectory) Relations(ctx context.Context, pairs ...presence.Pair) ([]presence.Relation, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := make([]presence.Relation, len(pairs))
	for i, pair := range pairs {
		switch {
		case d.blocks[pair]:
			all[i] = presence.Blocked
		case slices.Contains(d.lists[pair.User], pair.Viewer):
			all[i] = presence.Contact
		}
	}
	return all, cmp.Or(d.fault, ctx.Err())
}

// Saw implements [presence.Directory].
func (d *MemoryDirectory) Saw(ctx context.Context, at map[presence.UserID]time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := cmp.Or(d.fault, ctx.Err()); err != nil {
		return err
	}
	for user, seen := range at {
		if seen.After(d.seen[user]) {
			d.seen[user] = seen
		}
	}
	return nil
}

// LastSeen implements [presence.Directory].
func (d *MemoryDirectory) LastSeen(ctx context.Context, users ...presence.UserID) ([]presence.Seen, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := make([]presence.Seen, len(users))
	for i, user := range users {
		all[i] = presence.Seen{At: d.seen[user], Settings: d.settingsLocked(user)}
	}
	return all, cmp.Or(d.fault, ctx.Err())
}
