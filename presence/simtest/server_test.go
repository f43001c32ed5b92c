package simtest_test

import (
	"context"
	"crypto/rand"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/memstore"
)

// A server is the store that the nodes share. It can lose its data, and go back to what it had
// some seconds ago, as a Redis does whose replica takes over without the latest writes.
type server struct {
	*memstore.Store
	saved *memstore.Store // what the replica has; nil: it follows
	file  *filed          // what it starts with again; nil: without data

	mu         sync.Mutex
	cold       bool         // it began with old data, and no sweep has met it since
	doubt      time.Time    // until then sweeps remove nothing
	log        []lateNotice // the lasting notices
	replicated int          // of these the replica has

	changes changeLog

	losses   atomic.Int64 // how often the log lost some: listeners notice it
	outdated atomic.Int64 // when it last began with a file that lacked a sixth of NodeTTL or more, in Unix ns
}

// save begins to lose writes: rewind goes back to this moment.
func (s *server) save() {
	if s.saved != nil {
		return
	}
	s.saved = memstore.New()
	s.mu.Lock()
	defer s.mu.Unlock()
	move(s.saved, s.Store)
	s.replicated = len(s.log)
}

// rewind loses all writes since save.
func (s *server) rewind() {
	if s.saved == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	move(s.Store, s.saved)
	s.changes.rewinds(s, false)
	if len(s.log) > s.replicated {
		s.losses.Add(1)
	}
	s.saved, s.log = nil, s.log[:s.replicated]
	s.cold = true
}

// takenOver is for when a server of a cluster has taken over from another one: the next sweep finds that.
func (s *server) takenOver() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cold = true
}

// Sweep implements [backend.Store], as redisstore does after a restart.
func (s *server) Sweep(ctx context.Context, o backend.SweepOptions) (backend.Swept, error) {
	s.mu.Lock()
	begins := s.cold
	if s.cold = false; begins {
		s.doubt = time.Now().Add(o.Doubt)
	}
	doubt := time.Now().Before(s.doubt)
	s.mu.Unlock()
	if doubt {
		return backend.Swept{Doubt: begins}, nil
	}
	return s.Store.Sweep(ctx, o)
}

// ClaimConsumer implements [backend.Store], as redisstore does after a restart.
func (s *server) ClaimConsumer(ctx context.Context, consumer string, claim backend.ConsumerClaim) (backend.ConsumerClaimed, error) {
	s.mu.Lock()
	doubt := s.cold || time.Now().Before(s.doubt)
	s.mu.Unlock()
	if !doubt {
		return s.Store.ClaimConsumer(ctx, consumer, claim)
	}
	switch state, err := s.Store.CommitConsumer(ctx, consumer, backend.ConsumerStep{Holder: claim.Holder, For: claim.For}); {
	case err != nil || state == backend.ConsumerHeld:
		return backend.ConsumerClaimed{State: state}, err
	case state == backend.ConsumerTaken:
		return backend.ConsumerClaimed{}, presence.ErrStoreOut
	}
	return s.Store.ClaimConsumer(ctx, consumer, claim)
}

// wipe loses everything.
func (s *server) wipe() {
	s.mu.Lock()
	defer s.mu.Unlock()
	move(s.Store, memstore.New())
	s.changes.rewinds(s, true)
	s.losses.Add(1)
	s.saved, s.log = nil, nil
}

// Publish implements [backend.Store]. Lasting notices are kept.
func (s *server) Publish(ctx context.Context, n backend.Notice) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.Store.Publish(ctx, n); err != nil {
		return err
	}
	if n.Lasting {
		s.log = append(s.log, lateNotice{n, time.Now()})
	}
	return nil
}

// notices returns the log of notices.
func (s *server) notices() []lateNotice {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.log)
}

// Listen implements [backend.Store]. A listener also gets the notices that are kept.
func (s *server) Listen(ctx context.Context, fn func(backend.Notice)) (func(), error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, kept := range s.log {
		fn(kept.now())
	}
	return s.Store.Listen(ctx, fn)
}

// subscriptions are fields of a store that belong to the connections of its clients and not to
// its data.
var subscriptions = map[string]bool{"watchers": true, "hearers": true, "listeners": true}

// apartFields are parts of a store that have mutexes of their own.
var apartFields = []string{"bus", "consumers", "erasures"}

// fields copies the fields of a struct that are data. What has a lock of its own is left out.
func (c copier) fields(to, from reflect.Value) {
	for i := range to.NumField() {
		f := to.Type().Field(i)
		if subscriptions[f.Name] || slices.Contains(apartFields, f.Name) || f.Type == reflect.TypeFor[sync.Mutex]() {
			continue
		}
		open(to.Field(i)).Set(c.of(open(from.Field(i))))
	}
}

// move copies the data of one store into another. A store that goes on after a loss names its
// diffs anew, as Redis does, where an id has a random part.
func move(to, from *memstore.Store) {
	locks := []*memstore.Store{to, from}
	for _, s := range locks {
		lockOf(s, "mu").Lock()
		for _, part := range apartFields {
			lockOf(s, part, "mu").Lock()
		}
	}
	a, b := reflect.ValueOf(to).Elem(), reflect.ValueOf(from).Elem()
	copies := make(copier)
	copies.fields(a, b)
	for _, part := range apartFields {
		copies.fields(a.FieldByName(part).Elem(), b.FieldByName(part).Elem())
	}
	open(a.FieldByName("epoch")).SetString(strings.ToLower(rand.Text()[:8]))
	for _, s := range locks {
		for _, part := range apartFields {
			lockOf(s, part, "mu").Unlock()
		}
		lockOf(s, "mu").Unlock()
	}
}

func lockOf(s *memstore.Store, path ...string) *sync.Mutex {
	v := reflect.ValueOf(s).Elem()
	for _, name := range path {
		if v = v.FieldByName(name); v.Kind() == reflect.Pointer {
			v = v.Elem()
		}
	}
	return open(v).Addr().Interface().(*sync.Mutex)
}

// open makes an addressable field readable and writable.
func open(v reflect.Value) reflect.Value {
	return reflect.NewAt(v.Type(), unsafe.Pointer(v.UnsafeAddr())).Elem()
}

// A copier copies values deeply. It has what each pointer was copied to.
type copier map[unsafe.Pointer]reflect.Value

func (c copier) of(v reflect.Value) reflect.Value {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return v
		}
		if made, ok := c[v.UnsafePointer()]; ok {
			return made
		}
		made := reflect.New(v.Type().Elem())
		c[v.UnsafePointer()] = made
		made.Elem().Set(c.of(v.Elem()))
		return made
	case reflect.Interface:
		if v.IsNil() {
			return v
		}
		return c.of(v.Elem())
	case reflect.Map:
		if v.IsNil() {
			return v
		}
		made := reflect.MakeMapWithSize(v.Type(), v.Len())
		for each := v.MapRange(); each.Next(); {
			made.SetMapIndex(each.Key(), c.of(each.Value()))
		}
		return made
	case reflect.Slice:
		if v.IsNil() {
			return v
		}
		made := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		for i := range v.Len() {
			made.Index(i).Set(c.of(v.Index(i)))
		}
		return made
	case reflect.Array, reflect.Struct:
		made := reflect.New(v.Type()).Elem()
		made.Set(v)
		if v.Type().PkgPath() == "time" { // a moment, with its zone
			return made
		}
		if v.Kind() == reflect.Array {
			for i := range made.Len() {
				made.Index(i).Set(c.of(made.Index(i)))
			}
			return made
		}
		for i := range made.NumField() {
			field := open(made.Field(i))
			field.Set(c.of(field))
		}
		return made
	}
	return v
}
