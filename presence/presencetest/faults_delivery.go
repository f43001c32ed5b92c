package presencetest

import (
	"context"
	"sync"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// A Disturbance changes how diffs and notices reach watches and listeners. The zero
// Disturbance delivers all of them at once, in order.
type Disturbance struct {
	// Lose is how many of the next deliveries each present watch and listener loses.
	Lose int
	// Swap makes the next two deliveries to each present watch and listener change
	// places: the first waits for the second.
	Swap bool
	// Delay is how long each delivery is on its way.
	Delay time.Duration
}

// Disturb changes deliveries from now on. It replaces the earlier Disturbance.
func (f *Faults) Disturb(d Disturbance) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.delay = d.Delay
	for l := range f.couriers {
		l.disturb(d)
	}
}

// Watch implements [backend.Store]. Its diffs and its broadcasts are disturbed apart from each other.
func (f *Faults) Watch(ctx context.Context, topic presence.Topic, w backend.Watcher) (stop func(), err error) {
	diffs, broadcasts := newCourier(f, w.Diff), newCourier(f, w.Broadcast)
	return f.subscribe(ctx, CallWatch, func() (func(), error) {
		return f.store.Watch(ctx, topic, backend.Watcher{Diff: diffs.take, Broadcast: broadcasts.take})
	}, diffs, broadcasts)
}

// Listen implements [backend.Store].
func (f *Faults) Listen(ctx context.Context, fn func(backend.Notice)) (stop func(), err error) {
	notices := newCourier(f, fn)
	return f.subscribe(ctx, CallListen, func() (func(), error) { return f.store.Listen(ctx, notices.take) }, notices)
}

// subscribe begins a watch or a listener whose deliveries Disturb can change.
func (f *Faults) subscribe(ctx context.Context, call Call, begin func() (func(), error), couriers ...disturber) (func(), error) {
	end := func() {}
	err := f.befall(ctx, call, func() error {
		stop, err := begin()
		if err == nil {
			end = stop
		}
		return err
	})
	stop := sync.OnceFunc(func() {
		end()
		for _, l := range couriers {
			l.stop()
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		for _, l := range couriers {
			delete(f.couriers, l)
		}
	})
	if err != nil {
		stop()
		return nil, err
	}
	return stop, nil
}

// awaitNotices waits until each listener has got the notices that are on their way now.
func (f *Faults) awaitNotices(ctx context.Context) error {
	f.mu.Lock()
	var last []chan struct{}
	for l := range f.couriers {
		if notices, ok := l.(*courier[backend.Notice]); ok {
			last = append(last, notices.latest())
		}
	}
	f.mu.Unlock()
	for _, through := range last {
		if through == nil {
			continue
		}
		select {
		case <-through:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// A disturber is a courier of any type.
type disturber interface {
	disturb(Disturbance)
	stop()
}

// A courier brings deliveries to one watch or listener, one at a time.
type courier[T any] struct {
	fn      func(T)
	stopped chan struct{}
	under   sync.WaitGroup // deliveries on their way

	mu      sync.Mutex
	way     Disturbance   // of deliveries to come
	swapped []T           // waits for the next
	last    chan struct{} // closed when the last delivery is through; nil: none is on its way
}

// newCourier returns a courier to fn; nil: to nobody.
func newCourier[T any](f *Faults, fn func(T)) *courier[T] {
	if fn == nil {
		fn = func(T) {}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	l := &courier[T]{fn: fn, way: Disturbance{Delay: f.delay}, stopped: make(chan struct{})}
	f.couriers[l] = struct{}{}
	return l
}

func (l *courier[T]) disturb(d Disturbance) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.way = d
	for _, v := range l.swapped {
		l.send(v)
	}
	l.swapped = nil
}

// take takes a delivery of the store.
func (l *courier[T]) take(v T) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.way.Lose > 0:
		l.way.Lose--
	case l.way.Swap && l.swapped == nil:
		l.swapped = []T{v}
	default:
		l.send(v)
		for _, first := range l.swapped {
			l.way.Swap = false
			l.send(first)
		}
		l.swapped = nil
	}
}

// send delivers a value after earlier ones and after the delay. The caller holds mu.
func (l *courier[T]) send(v T) {
	select {
	case <-l.stopped:
		return
	default:
	}
	if l.way.Delay == 0 && l.last == nil {
		l.fn(v)
		return
	}
	before, through, delay := l.last, make(chan struct{}), l.way.Delay
	l.last = through
	l.under.Go(func() {
		defer l.arrived(through)
		select {
		case <-time.After(delay):
		case <-l.stopped:
			return
		}
		if before != nil {
			<-before
		}
		select {
		case <-l.stopped:
		default:
			l.fn(v)
		}
	})
}

// latest returns a channel that is closed once the last delivery has arrived; nil if none
// is on its way.
func (l *courier[T]) latest() chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last
}

func (l *courier[T]) arrived(through chan struct{}) {
	close(through)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last == through {
		l.last = nil
	}
}

// stop drops the deliveries that are on their way.
func (l *courier[T]) stop() {
	l.mu.Lock()
	close(l.stopped)
	l.mu.Unlock()
	l.under.Wait()
}
