package feedtest

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed"
)

// A FaultyStore is a [feed.Store] that passes all calls on to another one, and fails on demand.
// Tests use it to show what a site does while its database is slow, out, or lost an answer. All
// methods may be called concurrently.
type FaultyStore struct {
	store feed.Store

	mu     sync.Mutex
	faults map[Call]Fault
	decide func(Call) Fault
	calls  map[Call]int
}

var _ feed.Store = (*FaultyStore)(nil)

// NewFaultyStore returns a FaultyStore over another store, without faults.
func NewFaultyStore(s feed.Store) *FaultyStore {
	return &FaultyStore{store: s, faults: make(map[Call]Fault), calls: make(map[Call]int)}
}

// A Call names a method of [feed.Store].
type Call string

// The methods of a Store.
const (
	CallSend    Call = "Send"
	CallRelay   Call = "Relay"
	CallHeads   Call = "Heads"
	CallPage    Call = "Page"
	CallChanges Call = "Changes"
	CallMark    Call = "Mark"
	CallEdit    Call = "Edit"
	CallRemove  Call = "Remove"
	CallMute    Call = "Mute"
	CallMutes   Call = "Mutes"
	CallDue     Call = "Due"
	CallSettle  Call = "Settle"
	CallTrim    Call = "Trim"
	CallRecount Call = "Recount"
	CallWaiting Call = "Waiting"
)

// AllCalls returns every method of a Store.
func AllCalls() []Call {
	return []Call{CallSend, CallRelay, CallHeads, CallPage, CallChanges, CallMark, CallEdit, CallRemove, CallMute, CallMutes,
		CallDue, CallSettle, CallTrim, CallRecount, CallWaiting}
}

// A Fault changes how calls of a method end. The zero Fault changes nothing.
type Fault struct {
	Delay time.Duration // passes before anything else, or until the call's context ends
	Hang  bool          // the call waits until its context ends
	Err   error         // what the call returns, without effect
	Lost  error         // what the call returns after its effect: the answer was lost
}

// Break sets the fault of the named methods, or of all methods if none is named. It replaces their earlier
// faults.
func (f *FaultyStore) Break(fault Fault, calls ...Call) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(calls) == 0 {
		calls = AllCalls()
	}
	for _, call := range calls {
		f.faults[call] = fault
	}
}

// Decide sets a function that returns the fault of each call. It replaces all other faults. Calls of the
// function do not overlap.
func (f *FaultyStore) Decide(fault func(Call) Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.decide = fault
}

// Heal ends all faults.
func (f *FaultyStore) Heal() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults, f.decide = make(map[Call]Fault), nil
}

// Calls returns how often each method was called so far, with or without a fault.
func (f *FaultyStore) Calls() map[Call]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.calls)
}

func (f *FaultyStore) meet(call Call) Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls[call]++
	if f.decide != nil {
		return f.decide(call)
	}
	return f.faults[call]
}

// befall makes one call with its fault.
func befall[T any](ctx context.Context, f *FaultyStore, call Call, effect func() (T, error)) (none T, err error) {
	fault := f.meet(call)
	if fault.Hang {
		<-ctx.Done()
	}
	if fault.Delay > 0 {
		select {
		case <-ctx.Done():
		case <-time.After(fault.Delay):
		}
	}
	switch {
	case ctx.Err() != nil:
		return none, ctx.Err()
	case fault.Err != nil:
		return none, fault.Err
	}
	v, err := effect()
	if fault.Lost != nil && err == nil {
		return none, fault.Lost
	}
	return v, err
}

// act is befall for a call that returns an error only.
func act(ctx context.Context, f *FaultyStore, call Call, effect func() error) error {
	_, err := befall(ctx, f, call, func() (struct{}, error) { return struct{}{}, effect() })
	return err
}

// Send implements [feed.Store].
func (f *FaultyStore) Send(ctx context.Context, ms ...feed.Message) error {
	return act(ctx, f, CallSend, func() error { return f.store.Send(ctx, slices.Clone(ms)...) })
}

// Relay implements [feed.Store].
func (f *FaultyStore) Relay(ctx context.Context, o feed.RelayOptions) (feed.Relayed, error) {
	return befall(ctx, f, CallRelay, func() (feed.Relayed, error) { return f.store.Relay(ctx, o) })
}

// Heads implements [feed.Store].
func (f *FaultyStore) Heads(ctx context.Context, names ...feed.Name) ([]feed.Head, error) {
	return befall(ctx, f, CallHeads, func() ([]feed.Head, error) { return f.store.Heads(ctx, names...) })
}

// Page implements [feed.Store].
func (f *FaultyStore) Page(ctx context.Context, n feed.Name, before int64, limit int) (feed.Head, []feed.Item, bool, error) {
	p, err := befall(ctx, f, CallPage, func() (feed.Page, error) {
		head, items, more, err := f.store.Page(ctx, n, before, limit)
		return feed.Page{Head: head, Items: items, More: more}, err
	})
	return p.Head, p.Items, p.More, err
}

// Changes implements [feed.Store].
func (f *FaultyStore) Changes(ctx context.Context, since ...feed.Since) ([]feed.Change, error) {
	return befall(ctx, f, CallChanges, func() ([]feed.Change, error) { return f.store.Changes(ctx, since...) })
}

// Mark implements [feed.Store].
func (f *FaultyStore) Mark(ctx context.Context, n feed.Name, m feed.Mark) (feed.Head, error) {
	return befall(ctx, f, CallMark, func() (feed.Head, error) { return f.store.Mark(ctx, n, m) })
}

// Edit implements [feed.Store].
func (f *FaultyStore) Edit(ctx context.Context, n feed.Name, id string, m feed.Message) (feed.Head, error) {
	return befall(ctx, f, CallEdit, func() (feed.Head, error) { return f.store.Edit(ctx, n, id, m) })
}

// Remove implements [feed.Store].
func (f *FaultyStore) Remove(ctx context.Context, n feed.Name, id string) (feed.Head, error) {
	return befall(ctx, f, CallRemove, func() (feed.Head, error) { return f.store.Remove(ctx, n, id) })
}

// Mute implements [feed.Store].
func (f *FaultyStore) Mute(ctx context.Context, user presence.UserID, m feed.Mute) error {
	return act(ctx, f, CallMute, func() error { return f.store.Mute(ctx, user, m) })
}

// Mutes implements [feed.Store].
func (f *FaultyStore) Mutes(ctx context.Context, user presence.UserID) ([]feed.Mute, error) {
	return befall(ctx, f, CallMutes, func() ([]feed.Mute, error) { return f.store.Mutes(ctx, user) })
}

// Due implements [feed.Store].
func (f *FaultyStore) Due(ctx context.Context, most int, claim time.Duration) ([]feed.Digest, error) {
	return befall(ctx, f, CallDue, func() ([]feed.Digest, error) { return f.store.Due(ctx, most, claim) })
}

// Settle implements [feed.Store].
func (f *FaultyStore) Settle(ctx context.Context, d feed.Digest, sent bool, later time.Duration) error {
	return act(ctx, f, CallSettle, func() error { return f.store.Settle(ctx, d, sent, later) })
}

// Trim implements [feed.Store].
func (f *FaultyStore) Trim(ctx context.Context, o feed.TrimOptions) (int, error) {
	return befall(ctx, f, CallTrim, func() (int, error) { return f.store.Trim(ctx, o) })
}

// Recount implements [feed.Store].
func (f *FaultyStore) Recount(ctx context.Context, most int) (int, error) {
	return befall(ctx, f, CallRecount, func() (int, error) { return f.store.Recount(ctx, most) })
}

// Waiting implements [feed.Store].
func (f *FaultyStore) Waiting(ctx context.Context) (feed.Outbox, error) {
	return befall(ctx, f, CallWaiting, func() (feed.Outbox, error) { return f.store.Waiting(ctx) })
}
