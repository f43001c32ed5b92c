package handlers

import (
	"container/list"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// A pace is how often something may happen: once per each in the long run, and in a
// burst as often as fits into the time.
type pace struct {
	each, burst time.Duration // each negative: any number
}

// newPace returns a pace of n a second. Such a pace has a burst of so many seconds.
func newPace(n int, seconds time.Duration) pace {
	if n <= 0 {
		return pace{each: -1}
	}
	return pace{each: time.Second / time.Duration(n), burst: seconds * time.Second}
}

// times returns the pace that allows n times as much.
func (p pace) times(n time.Duration) pace { return pace{each: p.each / n, burst: p.burst} }

// A bucket is a token bucket of a pace, as the time when it is full again. The zero
// value is full.
type bucket time.Time

// take takes a token, and reports whether there was one.
func (b *bucket) take(p pace, now time.Time) bool {
	full := time.Time(*b)
	if full.Before(now) {
		full = now
	}
	if full = full.Add(p.each); full.Sub(now) > p.burst {
		return false
	}
	*b = bucket(full)
	return true
}

// maxMetered bounds the keys of a meter, and so its memory.
const maxMetered = 10_000

// A meter keeps a bucket for each key of a kind: users, guests, or addresses. The
// bucket used least recently stands at the end of the order and goes first, as soon
// as it is full: to forget it then changes nothing. While maxMetered keys have a
// bucket that is not full, all further keys share one.
//
// It has its own 20 lines of bucket, and not golang.org/x/time/rate: the meter needs
// to know when a bucket is full again, holds its own lock, and keeps thousands.
type meter[K ~string] struct {
	pace    pace
	crowded *atomic.Uint64 // counts what was taken from the shared bucket

	mu     sync.Mutex
	kept   map[K]*list.Element // of *metered[K]
	order  list.List
	shared bucket
}

type metered[K ~string] struct {
	key K
	bucket
}

// take takes a token of a key, and reports whether there was one.
func (m *meter[K]) take(key K, now time.Time) bool {
	if m.pace.each < 0 {
		return true
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.forget(now)
	e, ok := m.kept[key]
	switch {
	case ok:
		m.order.MoveToFront(e)
	case len(m.kept) >= maxMetered:
		m.crowded.Add(1)
		return m.shared.take(m.pace.times(4), now)
	default:
		if m.kept == nil {
			m.kept = make(map[K]*list.Element)
		}
		key = K(strings.Clone(string(key))) // not the whole request
		e = m.order.PushFront(&metered[K]{key: key})
		m.kept[key] = e
	}
	return e.Value.(*metered[K]).take(m.pace, now)
}

// giveBack returns a token that was taken and not used.
func (m *meter[K]) giveBack(key K) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e, ok := m.kept[key]; ok {
		b := &e.Value.(*metered[K]).bucket
		*b = bucket(time.Time(*b).Add(-m.pace.each))
	}
}

// forgetAtOnce is how many full buckets a taking forgets: many, so that after a flood the
// little ordinary traffic gives their memory back within a minute.
const forgetAtOnce = 16

// forget forgets full buckets, so that the number of keys falls while fewer come. The
// caller holds mu.
func (m *meter[K]) forget(now time.Time) {
	for range forgetAtOnce {
		last := m.order.Back()
		if last == nil || time.Time(last.Value.(*metered[K]).bucket).After(now) {
			return
		}
		delete(m.kept, last.Value.(*metered[K]).key)
		m.order.Remove(last)
	}
}

// size returns how many keys have a bucket.
func (m *meter[K]) size() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.kept)
}

// rates limits the requests of each visitor: of users by their id, of guests by the
// id of their browser and by their address. A client can make up the id of a browser,
// so that one alone would limit nobody.
type rates struct {
	users     meter[presence.UserID]
	guests    meter[string]
	addresses meter[string]
}

// guestsAtOnce is how many times what one visitor may do the guests at one address
// may do together.
const guestsAtOnce = 4

func (r *rates) init(p pace, crowded *atomic.Uint64) {
	r.users.pace, r.guests.pace, r.addresses.pace = p, p, p
	if p.each > 0 {
		r.addresses.pace = p.times(guestsAtOnce)
	}
	r.users.crowded, r.guests.crowded, r.addresses.crowded = crowded, crowded, crowded
}

// takeOf takes a token of a visitor, who may have none of an own.
func (r *rates) takeOf(v presence.Visitor, now time.Time) bool {
	switch {
	case v.SignedIn():
		return r.users.take(v.User.ID, now)
	case v.Guest != "":
		return r.guests.take(v.Guest, now)
	}
	return true
}

// takeAt takes a token of an address and one of a visitor there, or neither.
func (r *rates) takeAt(address string, v presence.Visitor, now time.Time) bool {
	if !r.addresses.take(address, now) {
		return false
	}
	if r.takeOf(v, now) {
		return true
	}
	r.addresses.giveBack(address) // one visitor must not use up what others at the address have
	return false
}

// over counts a request, and reports whether the visitor has sent too many.
func (h *Handler) over(r *http.Request) bool {
	rates := &h.reads
	if r.Method == http.MethodPut || r.Method == http.MethodPost {
		rates = &h.writes
	}
	if rates.users.pace.each < 0 {
		return false
	}
	v, now := presence.VisitorFromContext(r.Context()), time.Now()
	if v.SignedIn() {
		return !rates.takeOf(v, now)
	}
	return !rates.takeAt(h.address(r), v, now)
}

// Allow counts a request of the site's own that tells the fleet something, such as one
// to sign in or out, and reports whether it may go on. A site answers no by 429, with
// "Retry-After: 1". The request counts with those of its visitor to this handler, by
// [Config.MaxRate]. It counts by its address too, whether the visitor is signed in or
// not: all at one address may send four times as many.
func (h *Handler) Allow(r *http.Request) bool {
	if h.writes.users.pace.each < 0 {
		return true
	}
	ok := h.writes.takeAt(h.address(r), presence.VisitorFromContext(r.Context()), time.Now())
	if !ok {
		h.counters.limited.Add(1)
	}
	return ok
}
