package presencetest

import (
	"context"
	"sync"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// A FaultyDirectory is a [presence.Directory] that passes all calls on to another one, and
// fails on demand. Tests use it to show what a site does while its database is slow, out, or
// wrong. All methods may be called concurrently.
type FaultyDirectory struct {
	directory presence.Directory

	mu     sync.Mutex
	faults map[DirectoryCall]DirectoryFault
	calls  map[DirectoryCall]int
	healed chan struct{} // closed by the next Heal
}

var _ presence.Directory = (*FaultyDirectory)(nil)

// NewFaultyDirectory returns a FaultyDirectory over another directory, without faults.
func NewFaultyDirectory(d presence.Directory) *FaultyDirectory {
	return &FaultyDirectory{
		directory: d,
		faults:    make(map[DirectoryCall]DirectoryFault),
		calls:     make(map[DirectoryCall]int),
		healed:    make(chan struct{}),
	}
}

// A DirectoryCall names a method of [presence.Directory].
type DirectoryCall string

// The methods of a directory.
const (
	CallSettings    DirectoryCall = "Settings"
	CallSetSettings DirectoryCall = "SetSettings"
	CallContacts    DirectoryCall = "Contacts"
	CallRelations   DirectoryCall = "Relations"
	CallSaw         DirectoryCall = "Saw"
	CallLastSeen    DirectoryCall = "LastSeen"
)

// AllDirectoryCalls returns every method of a directory.
func AllDirectoryCalls() []DirectoryCall {
	return []DirectoryCall{CallSettings, CallSetSettings, CallContacts, CallRelations, CallSaw, CallLastSeen}
}

// A DirectoryFault changes how calls of a method end. The zero fault changes nothing.
type DirectoryFault struct {
	Err   error         // what a call returns, without effect
	Panic any           // what a call panics with, without effect. Nil: it does not
	Delay time.Duration // passes before a call has its effect, or until its context ends
	Hang  bool          // the call waits until its context ends, and returns the context's error
	Deaf  bool          // the call ignores its context, and waits for Heal
	Late  time.Duration // passes between the effect of a call and its answer, or until its context ends: then the effect stays
	Extra int           // zero answers behind the right ones; negative: so many of the last are missing
}

// Break applies a fault to calls of the named methods, or of all methods if none is named.
// It replaces their earlier faults.
func (f *FaultyDirectory) Break(fault DirectoryFault, calls ...DirectoryCall) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(calls) == 0 {
		calls = AllDirectoryCalls()
	}
	for _, call := range calls {
		f.faults[call] = fault
	}
}

// Heal ends all faults. Deaf calls under way return.
func (f *FaultyDirectory) Heal() {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.faults)
	close(f.healed)
	f.healed = make(chan struct{})
}

// Calls returns how often a method was called so far, with or without a fault.
func (f *FaultyDirectory) Calls(call DirectoryCall) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[call]
}

func (f *FaultyDirectory) meet(call DirectoryCall) (DirectoryFault, <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls[call]++
	return f.faults[call], f.healed
}

// befall makes one call, with its fault.
func befall[T any](ctx context.Context, f *FaultyDirectory, call DirectoryCall, effect func() ([]T, error)) ([]T, error) {
	fault, healed := f.meet(call)
	switch {
	case fault.Deaf:
		<-healed
	case fault.Hang:
		<-ctx.Done()
		return nil, ctx.Err()
	case fault.Delay > 0:
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(fault.Delay):
		}
	}
	if fault.Panic != nil {
		panic(fault.Panic)
	}
	if fault.Err != nil {
		return nil, fault.Err
	}
	all, err := effect()
	if fault.Late > 0 {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(fault.Late):
		}
	}
	if fault.Extra < 0 {
		return all[:max(0, len(all)+fault.Extra)], err
	}
	return append(all, make([]T, fault.Extra)...), err
}

// Settings implements [presence.Directory].
func (f *FaultyDirectory) Settings(ctx context.Context, users ...presence.UserID) ([]presence.Settings, error) {
	return befall(ctx, f, CallSettings, func() ([]presence.Settings, error) { return f.directory.Settings(ctx, users...) })
}

// SetSettings implements [presence.Directory].
func (f *FaultyDirectory) SetSettings(ctx context.Context, user presence.UserID, s presence.Settings) (rev int64, err error) {
	revs, err := befall(ctx, f, CallSetSettings, func() ([]int64, error) {
		rev, err := f.directory.SetSettings(ctx, user, s)
		return []int64{rev}, err
	})
	if len(revs) == 0 { // it was not called, or too late
		return 0, err
	}
	return revs[0], err
}

// Contacts implements [presence.Directory].
func (f *FaultyDirectory) Contacts(ctx context.Context, user presence.UserID, most int) ([]presence.UserID, error) {
	return befall(ctx, f, CallContacts, func() ([]presence.UserID, error) { return f.directory.Contacts(ctx, user, most) })
}

// Relations implements [presence.Directory].
func (f *FaultyDirectory) Relations(ctx context.Context, pairs ...presence.Pair) ([]presence.Relation, error) {
	return befall(ctx, f, CallRelations, func() ([]presence.Relation, error) { return f.directory.Relations(ctx, pairs...) })
}

// Saw implements [presence.Directory].
func (f *FaultyDirectory) Saw(ctx context.Context, at map[presence.UserID]time.Time) error {
	_, err := befall(ctx, f, CallSaw, func() ([]struct{}, error) { return nil, f.directory.Saw(ctx, at) })
	return err
}

// LastSeen implements [presence.Directory].
func (f *FaultyDirectory) LastSeen(ctx context.Context, users ...presence.UserID) ([]presence.Seen, error) {
	return befall(ctx, f, CallLastSeen, func() ([]presence.Seen, error) { return f.directory.LastSeen(ctx, users...) })
}
