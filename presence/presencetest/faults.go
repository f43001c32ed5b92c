package presencetest

import (
	"context"
	"sync"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// Faults is a [backend.Store] that passes all calls on to another one, and fails on
// demand. Tests use it to show how a tracker behaves when its store is slow, out, or loses
// an answer, and when a diff is lost on its way. All methods may be called concurrently.
type Faults struct {
	store backend.Store

	mu       sync.Mutex
	faults   map[Call]*Fault
	calls    map[Call]int
	couriers map[disturber]struct{} // watches and listeners
	delay    time.Duration          // of couriers to come
}

// NewFaults returns Faults that pass all calls on to store, without faults.
func NewFaults(store backend.Store) *Faults {
	return &Faults{
		store:    store,
		faults:   make(map[Call]*Fault),
		calls:    make(map[Call]int),
		couriers: make(map[disturber]struct{}),
	}
}

var _ backend.Store = (*Faults)(nil)

// Call names a method of [backend.Store].
type Call string

// The methods of a store.
const (
	CallApply     Call = "Apply"
	CallSweep     Call = "Sweep"
	CallAge       Call = "Age"
	CallTrim      Call = "Trim"
	CallSnapshot  Call = "Snapshot"
	CallLog       Call = "Log"
	CallCounts    Call = "Counts"
	CallSightings Call = "Sightings"
	CallWatch     Call = "Watch"
	CallPublish   Call = "Publish"
	CallListen    Call = "Listen"
	CallStatuses  Call = "Statuses"
	CallPutStatus Call = "PutStatus"
	CallSecret    Call = "Secret"
	CallHear      Call = "Hear"
	CallRecent    Call = "Recent"
	CallTopics    Call = "Topics"
	CallInspect   Call = "Inspect"
	CallSend      Call = "Send"
	CallPoll      Call = "Poll"

	CallClaimConsumer  Call = "ClaimConsumer"
	CallCommitConsumer Call = "CommitConsumer"
	CallReadConsumer   Call = "ReadConsumer"

	CallExportUser    Call = "ExportUser"
	CallEraseUser     Call = "EraseUser"
	CallAddErasure    Call = "AddErasure"
	CallClaimErasures Call = "ClaimErasures"
	CallEndErasure    Call = "EndErasure"
)

// AllCalls returns every method of a store.
func AllCalls() []Call {
	return []Call{
		CallApply, CallSweep, CallAge, CallTrim, CallSnapshot, CallLog,
		CallCounts, CallSightings, CallWatch, CallPublish, CallListen,
		CallStatuses, CallPutStatus, CallSecret, CallHear,
		CallRecent, CallTopics, CallInspect,
		CallClaimConsumer, CallCommitConsumer, CallReadConsumer,
		CallSend, CallPoll,
		CallExportUser, CallEraseUser, CallAddErasure, CallClaimErasures, CallEndErasure,
	}
}

// A Fault changes how calls of a method end. They take Delay longer, and then fail with Err
// or hang. The zero Fault changes nothing.
type Fault struct {
	// Err is what a call returns. An Apply returns it for each batch.
	Err error
	// Landed calls take effect before they fail: only the answer is lost.
	// The Watch or Listen of such a call is stopped again.
	Landed bool
	// Delay passes before the call has its effect. A call whose context ends
	// first fails with the context's error, without effect.
	Delay time.Duration
	// Hang makes calls wait until their context ends and fail with its error,
	// after their effect if Landed, else without.
	Hang bool
	// Times is how many calls of each method fail. Default: all, until Heal.
	Times int
}

// Break applies a fault to calls of the named methods, or of all methods if none is named.
// It replaces their earlier faults.
func (f *Faults) Break(fault Fault, calls ...Call) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(calls) == 0 {
		calls = AllCalls()
	}
	for _, call := range calls {
		own := fault
		f.faults[call] = &own
	}
}

// Heal ends the effects of Break and Disturb. Calls that hang or are delayed already go on
// doing so.
func (f *Faults) Heal() {
	f.Disturb(Disturbance{})
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.faults)
}

// Calls returns how often a method was called so far, with or without a fault.
func (f *Faults) Calls(call Call) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[call]
}

// meet counts a call, and returns its fault.
func (f *Faults) meet(call Call) Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls[call]++
	fault := f.faults[call]
	if fault == nil {
		return Fault{}
	}
	now := *fault
	if fault.Times > 0 {
		if fault.Times--; fault.Times == 0 {
			delete(f.faults, call)
		}
	}
	return now
}

// befall makes one call, with its fault.
func (f *Faults) befall(ctx context.Context, call Call, effect func() error) error {
	fault := f.meet(call)
	if fault.Delay > 0 {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(fault.Delay):
		}
	}
	fails := fault.Hang || fault.Err != nil
	if !fails || fault.Landed {
		if err := effect(); err != nil {
			return err
		}
	}
	if fault.Hang {
		<-ctx.Done()
		return ctx.Err()
	}
	return fault.Err
}

// ask is befall for a call with a result: the zero value if the call fails.
func ask[T any](ctx context.Context, f *Faults, call Call, effect func() (T, error)) (result T, err error) {
	err = f.befall(ctx, call, func() (err error) {
		result, err = effect()
		return err
	})
	if err != nil {
		var none T
		return none, err
	}
	return result, nil
}

// Apply implements [backend.Store].
func (f *Faults) Apply(ctx context.Context, batches []backend.Batch) []backend.Result {
	results, err := ask(ctx, f, CallApply, func() ([]backend.Result, error) {
		return f.store.Apply(ctx, batches), nil
	})
	if err != nil {
		results = make([]backend.Result, len(batches))
		for i := range results {
			results[i].Err = err
		}
	}
	return results
}

// Sweep implements [backend.Store].
func (f *Faults) Sweep(ctx context.Context, opts backend.SweepOptions) (backend.Swept, error) {
	return ask(ctx, f, CallSweep, func() (backend.Swept, error) { return f.store.Sweep(ctx, opts) })
}

// Poll implements [backend.Store].
func (f *Faults) Poll(ctx context.Context, p backend.Poll) (backend.Polled, error) {
	return ask(ctx, f, CallPoll, func() (backend.Polled, error) { return f.store.Poll(ctx, p) })
}

// Age implements [backend.Store].
func (f *Faults) Age(ctx context.Context, period time.Duration) (int, error) {
	return ask(ctx, f, CallAge, func() (int, error) { return f.store.Age(ctx, period) })
}

// Trim implements [backend.Store].
func (f *Faults) Trim(ctx context.Context, keep time.Duration, most int) (int, error) {
	return ask(ctx, f, CallTrim, func() (int, error) { return f.store.Trim(ctx, keep, most) })
}

// Snapshot implements [backend.Store].
func (f *Faults) Snapshot(ctx context.Context, topic presence.Topic) (backend.Snapshot, error) {
	return ask(ctx, f, CallSnapshot, func() (backend.Snapshot, error) { return f.store.Snapshot(ctx, topic) })
}

// Log implements [backend.Store].
func (f *Faults) Log(ctx context.Context, topic presence.Topic, after presence.DiffID) ([]backend.Diff, error) {
	return ask(ctx, f, CallLog, func() ([]backend.Diff, error) { return f.store.Log(ctx, topic, after) })
}

// Counts implements [backend.Store].
func (f *Faults) Counts(ctx context.Context, topics ...presence.Topic) ([]backend.Counts, error) {
	return ask(ctx, f, CallCounts, func() ([]backend.Counts, error) { return f.store.Counts(ctx, topics...) })
}

// Check implements [backend.Store]. It does not fail, and neither does Stats.
func (f *Faults) Check(ctx context.Context) error { return f.store.Check(ctx) }

// Stats implements [backend.Store].
func (f *Faults) Stats() backend.StoreStats { return f.store.Stats() }

// Sightings implements [backend.Store].
func (f *Faults) Sightings(ctx context.Context, topic presence.Topic, users ...presence.UserID) ([]backend.Sighting, error) {
	return ask(ctx, f, CallSightings, func() ([]backend.Sighting, error) { return f.store.Sightings(ctx, topic, users...) })
}

// Recent implements [backend.Store].
func (f *Faults) Recent(ctx context.Context, topic presence.Topic, q backend.RecentQuery) (backend.RecentPage, error) {
	return ask(ctx, f, CallRecent, func() (backend.RecentPage, error) { return f.store.Recent(ctx, topic, q) })
}

// Topics implements [backend.Store].
func (f *Faults) Topics(ctx context.Context, after presence.Topic, most int) ([]presence.Topic, error) {
	return ask(ctx, f, CallTopics, func() ([]presence.Topic, error) { return f.store.Topics(ctx, after, most) })
}

// Inspect implements [backend.Store].
func (f *Faults) Inspect(ctx context.Context, topic presence.Topic, after presence.UserID, most int) ([]backend.Inspected, error) {
	return ask(ctx, f, CallInspect, func() ([]backend.Inspected, error) { return f.store.Inspect(ctx, topic, after, most) })
}

// Send implements [backend.Store].
func (f *Faults) Send(ctx context.Context, broadcasts ...backend.Broadcast) error {
	return f.befall(ctx, CallSend, func() error { return f.store.Send(ctx, broadcasts...) })
}

// Publish implements [backend.Store].
func (f *Faults) Publish(ctx context.Context, n backend.Notice) error {
	return f.befall(ctx, CallPublish, func() error { return f.store.Publish(ctx, n) })
}

// Statuses implements [backend.Store].
func (f *Faults) Statuses(ctx context.Context, users ...presence.UserID) ([]backend.ChosenStatus, error) {
	return ask(ctx, f, CallStatuses, func() ([]backend.ChosenStatus, error) { return f.store.Statuses(ctx, users...) })
}

// PutStatus implements [backend.Store].
func (f *Faults) PutStatus(ctx context.Context, user presence.UserID, c backend.ChosenStatus, again bool) (int64, error) {
	return ask(ctx, f, CallPutStatus, func() (int64, error) { return f.store.PutStatus(ctx, user, c, again) })
}

// Secret implements [backend.Store].
func (f *Faults) Secret(ctx context.Context, offer []byte) ([]byte, error) {
	return ask(ctx, f, CallSecret, func() ([]byte, error) { return f.store.Secret(ctx, offer) })
}

// Hear implements [backend.Store]. It also waits for notices that Disturb delays.
func (f *Faults) Hear(ctx context.Context) error {
	return f.befall(ctx, CallHear, func() error {
		if err := f.store.Hear(ctx); err != nil {
			return err
		}
		return f.awaitNotices(ctx)
	})
}
