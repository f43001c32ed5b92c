package presencetest_test

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// planted is a store with a bug: it calls the store below, except where a function is set.
type planted struct {
	backend.Store
	op         func(presence.Topic, backend.Op) []backend.Op // in place of an op
	apply      func(context.Context, []backend.Batch) []backend.Result
	sweep      func(context.Context, int) (backend.Swept, error)
	sweepNodes func(context.Context, backend.SweepOptions) (backend.Swept, error)
	renewNode  func(context.Context, string, time.Duration) (bool, time.Duration, error)
	age        func(context.Context, time.Duration) (int, error)
	trim       func(context.Context, time.Duration, int) (int, error)
	snapshot   func(context.Context, presence.Topic) (backend.Snapshot, error)
	log        func(context.Context, presence.Topic, presence.DiffID) ([]backend.Diff, error)
	counts     func(presence.Topic, backend.Counts) backend.Counts
	sightings  func(presence.Topic, presence.UserID, backend.Sighting) backend.Sighting
	watch      func(context.Context, presence.Topic, func(backend.Diff)) (func(), error)
	listen     func(context.Context, func(backend.Notice)) (func(), error)
	publish    func(context.Context, backend.Notice) error
	send       func(context.Context, []backend.Broadcast) error
	broadcasts func(context.Context, presence.Topic, func([]byte)) (func(), error)
	statuses   func([]backend.ChosenStatus) []backend.ChosenStatus
	secret     func(context.Context, []byte) ([]byte, error)
	keep       func(presence.Keep) presence.Keep
	extras     func(presence.Topic, backend.Extras) backend.Extras
	recent     func(context.Context, presence.Topic, backend.RecentQuery) (backend.RecentPage, error)
	remembered func([]presence.UserID, []backend.RecentUser) []backend.RecentUser
	topics     func(context.Context, presence.Topic, int) ([]presence.Topic, error)
	inspect    func(context.Context, presence.Topic, presence.UserID, int) ([]backend.Inspected, error)
	topic      func(presence.Topic) presence.Topic
}

func (p planted) Apply(ctx context.Context, batches []backend.Batch) []backend.Result {
	batches = slices.Clone(batches)
	for i := range batches {
		batches[i].Topic = p.name(batches[i].Topic)
		if p.keep != nil {
			batches[i].Keep = p.keep(batches[i].Keep)
		}
	}
	if p.op != nil {
		return p.rewrite(ctx, batches)
	}
	if p.apply != nil {
		return p.apply(ctx, batches)
	}
	return p.Store.Apply(ctx, batches)
}

// rewrite applies other operations than the given ones, and answers as if for those.
func (p planted) rewrite(ctx context.Context, batches []backend.Batch) []backend.Result {
	var results []backend.Result
	for _, b := range batches {
		var ops []backend.Op
		var origin []int
		for i, op := range b.Ops {
			for _, instead := range p.op(b.Topic, op) {
				ops = append(ops, instead)
				origin = append(origin, i)
			}
		}
		r := p.Store.Apply(ctx, []backend.Batch{{Topic: b.Topic, Ops: ops, Keep: b.Keep}})[0]
		for k, j := range r.Unknown {
			r.Unknown[k] = origin[j]
		}
		r.Unknown = slices.Compact(r.Unknown)
		results = append(results, r)
	}
	return results
}

func (p planted) name(t presence.Topic) presence.Topic {
	if p.topic != nil {
		return p.topic(t)
	}
	return t
}

func (p planted) RenewNode(ctx context.Context, process string, term time.Duration) (bool, time.Duration, error) {
	if p.renewNode != nil {
		return p.renewNode(ctx, process, term)
	}
	return p.Store.RenewNode(ctx, process, term)
}

func (p planted) Sweep(ctx context.Context, opts backend.SweepOptions) (backend.Swept, error) {
	if p.sweepNodes != nil && opts.Nodes {
		return p.sweepNodes(ctx, opts)
	}
	if p.sweep != nil {
		return p.sweep(ctx, opts.Limit)
	}
	return p.Store.Sweep(ctx, opts)
}

func (p planted) Age(ctx context.Context, period time.Duration) (int, error) {
	if p.age != nil {
		return p.age(ctx, period)
	}
	return p.Store.Age(ctx, period)
}

func (p planted) Trim(ctx context.Context, keep time.Duration, most int) (int, error) {
	if p.trim != nil {
		return p.trim(ctx, keep, most)
	}
	return p.Store.Trim(ctx, keep, most)
}

func (p planted) Snapshot(ctx context.Context, t presence.Topic) (backend.Snapshot, error) {
	if p.snapshot != nil {
		return p.snapshot(ctx, t)
	}
	return p.Store.Snapshot(ctx, p.name(t))
}

func (p planted) Log(ctx context.Context, t presence.Topic, after presence.DiffID) ([]backend.Diff, error) {
	if p.log != nil {
		return p.log(ctx, t, after)
	}
	return p.Store.Log(ctx, p.name(t), after)
}

func (p planted) Counts(ctx context.Context, topics ...presence.Topic) ([]backend.Counts, error) {
	topics = slices.Clone(topics)
	for i := range topics {
		topics[i] = p.name(topics[i])
	}
	all, err := p.Store.Counts(ctx, topics...)
	if p.counts != nil {
		for i := range all {
			all[i] = p.counts(topics[i], all[i])
		}
	}
	return all, err
}

func (p planted) Sightings(ctx context.Context, t presence.Topic, users ...presence.UserID) ([]backend.Sighting, error) {
	all, err := p.Store.Sightings(ctx, p.name(t), users...)
	if p.sightings != nil {
		for i := range all {
			all[i] = p.sightings(t, users[i], all[i])
		}
	}
	return all, err
}

func (p planted) Extras(ctx context.Context, topics ...presence.Topic) ([]backend.Extras, error) {
	all, err := p.Store.Extras(ctx, topics...)
	if p.extras != nil {
		for i := range all {
			all[i] = p.extras(topics[i], all[i])
		}
	}
	return all, err
}

func (p planted) Recent(ctx context.Context, t presence.Topic, q backend.RecentQuery) (backend.RecentPage, error) {
	if p.recent != nil {
		return p.recent(ctx, t, q)
	}
	return p.Store.Recent(ctx, t, q)
}

func (p planted) Remembered(ctx context.Context, t presence.Topic, users ...presence.UserID) ([]backend.RecentUser, error) {
	all, err := p.Store.Remembered(ctx, p.name(t), users...)
	if p.remembered != nil && err == nil {
		all = p.remembered(users, all)
	}
	return all, err
}

func (p planted) Topics(ctx context.Context, after presence.Topic, most int) ([]presence.Topic, error) {
	if p.topics != nil {
		return p.topics(ctx, after, most)
	}
	return p.Store.Topics(ctx, after, most)
}

func (p planted) Inspect(ctx context.Context, t presence.Topic, after presence.UserID, most int) ([]backend.Inspected, error) {
	if p.inspect != nil {
		return p.inspect(ctx, t, after, most)
	}
	return p.Store.Inspect(ctx, t, after, most)
}

func (p planted) Watch(ctx context.Context, t presence.Topic, fn func(backend.Diff)) (func(), error) {
	if p.watch != nil {
		return p.watch(ctx, t, fn)
	}
	return p.Store.Watch(ctx, p.name(t), fn)
}

func (p planted) Send(ctx context.Context, all ...backend.Broadcast) error {
	all = slices.Clone(all)
	for i := range all {
		all[i].Topic = p.name(all[i].Topic)
	}
	if p.send != nil {
		return p.send(ctx, all)
	}
	return p.Store.Send(ctx, all...)
}

func (p planted) WatchBroadcasts(ctx context.Context, t presence.Topic, fn func([]byte)) (func(), error) {
	if p.broadcasts != nil {
		return p.broadcasts(ctx, t, fn)
	}
	return p.Store.WatchBroadcasts(ctx, p.name(t), fn)
}

func (p planted) Listen(ctx context.Context, fn func(backend.Notice)) (func(), error) {
	if p.listen != nil {
		return p.listen(ctx, fn)
	}
	return p.Store.Listen(ctx, fn)
}

func (p planted) Publish(ctx context.Context, n backend.Notice) error {
	if p.publish != nil {
		return p.publish(ctx, n)
	}
	return p.Store.Publish(ctx, n)
}

func (p planted) Statuses(ctx context.Context, users ...presence.UserID) ([]backend.ChosenStatus, error) {
	all, err := p.Store.Statuses(ctx, users...)
	if p.statuses != nil {
		all = p.statuses(all)
	}
	return all, err
}

func (p planted) Secret(ctx context.Context, offer []byte) ([]byte, error) {
	if p.secret != nil {
		return p.secret(ctx, offer)
	}
	return p.Store.Secret(ctx, offer)
}

// A leaseBook tracks the leases of a store by the operations that it gets. Mutants need it
// to do a wrong thing at the right moment.
type leaseBook struct {
	mu     sync.Mutex
	leases map[leaseKey]*entry
}

type leaseKey struct {
	topic  presence.Topic
	user   presence.UserID
	holder presence.Holder
}

type entry struct {
	user  presence.User
	until time.Time
}

func newLeaseBook() *leaseBook { return &leaseBook{leases: make(map[leaseKey]*entry)} }

// note records the effect of an operation, and returns the former lease.
func (b *leaseBook) note(topic presence.Topic, op backend.Op) (was entry, there bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if op.Kind == backend.OpSeen {
		op.Holder = presence.HolderWeb
	}
	key := leaseKey{topic, op.User.ID, op.Holder}
	e, there := b.leases[key]
	if there {
		was = *e
	}
	until := time.Now().Add(op.For)
	switch op.Kind {
	case backend.OpJoin, backend.OpSeen:
		b.leases[key] = &entry{op.User, until}
	case backend.OpHeartbeat:
		if there && e.until.After(time.Now()) && until.After(e.until) {
			e.until = until
		}
	case backend.OpRelease, backend.OpDrop, backend.OpSignOff:
		delete(b.leases, key)
	case backend.OpSignOut:
		for k := range b.leases {
			if k.topic == topic && k.user == op.User.ID {
				delete(b.leases, k)
			}
		}
	}
	return was, there
}

// expired returns the leases that are due, and forgets them.
func (b *leaseBook) expired() (keys []leaseKey) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for k, e := range b.leases {
		if !e.until.After(time.Now()) {
			keys = append(keys, k)
			delete(b.leases, k)
		}
	}
	return keys
}
