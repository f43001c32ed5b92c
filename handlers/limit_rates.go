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

// A pace limits how often something may happen: once per interval in the long run, and
// burst/interval times at once.
type pace struct {
	interval time.Duration // negative: no limit
	burst    time.Duration
}

// newPace returns a pace of n a second, with a burst of n times the seconds. No limit if
// n is not positive.
func newPace(n int, seconds time.Duration) pace {
	if n <= 0 {
		return pace{interval: -1}
	}
	return pace{interval: time.Second / time.Duration(n), burst: seconds * time.Second}
}

// times returns the pace that allows n times as much.
func (p pace) times(n time.Duration) pace { return pace{interval: p.interval / n, burst: p.burst} }

// A bucket is a token bucket, stored as the time when it will be full again. The zero
// value is full.
type bucket time.Time

// take takes a token, and reports whether there was one.
func (b *bucket) take(p pace, now time.Time) bool {
	full := time.Time(*b)
	if full.Before(now) {
		full = now
	}
	if full = full.Add(p.interval); full.Sub(now) > p.burst {
		return false
	}
	*b = bucket(full)
	return true
}

// maxMetered bounds the keys of a meter, and so its memory.
const maxMetered = 10_000

// A meter keeps a bucket for each key: a user, a guest, or an address. It drops full
// buckets, which are the same as none, the least recently used first. While maxMetered
// keys have a bucket that is not full, all further keys share one.
//
// It does not use golang.org/x/time/rate for three reasons: a meter must know when a bucket is full again,
// needs one lock for all buckets, and keeps thousands.
type meter[K ~string] struct {
	pace    pace
	crowded *atomic.Uint64 // counts the tokens taken from the shared bucket

	mu     sync.Mutex
	kept   map[K]*list.Element // elements of order, with a *metered[K] each
	order  list.List           // the most recently used at the front
	shared bucket
}

type metered[K ~string] struct {
	key K
	bucket
}

// off reports whether keys have no limit.
func (m *meter[K]) off() bool { return m.pace.interval < 0 }

// take takes a token of a key, and reports whether there was one.
func (m *meter[K]) take(key K, now time.Time) bool {
	if m.off() {
		return true
	}
	return m.takePaced(key, m.pace, now)
}

// takePaced is take with another pace than the meter's. Tokens of all paces come from the key's one bucket:
// the slower the pace, the larger the token.
func (m *meter[K]) takePaced(key K, p pace, now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.dropFullLocked(now)
	e, ok := m.kept[key]
	switch {
	case ok:
		m.order.MoveToFront(e)
	case len(m.kept) >= maxMetered:
		m.crowded.Add(1)
		return m.shared.take(p.times(4), now)
	default:
		if m.kept == nil {
			m.kept = make(map[K]*list.Element)
		}
		key = K(strings.Clone(string(key))) // without a copy the key would keep the whole request in memory
		e = m.order.PushFront(&metered[K]{key: key})
		m.kept[key] = e
	}
	return e.Value.(*metered[K]).take(p, now)
}

// giveBack puts back a token that was taken and not used.
func (m *meter[K]) giveBack(key K) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e, ok := m.kept[key]; ok {
		b := &e.Value.(*metered[K]).bucket
		*b = bucket(time.Time(*b).Add(-m.pace.interval))
	}
}

// maxDropped is how many full buckets a call of take drops. At this number, ordinary traffic frees the memory
// of a flood within a minute.
const maxDropped = 16

// dropFullLocked drops up to maxDropped full buckets.
func (m *meter[K]) dropFullLocked(now time.Time) {
	for range maxDropped {
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

// rates limits the requests of each visitor: of users by their id, of guests by the id of their browser and by
// their address. A browser id alone is no limit, since a client can make up ids. An address in one tenant is
// none either, since a client can name many tenants.
type rates struct {
	users      meter[presence.UserID]
	guests     meter[string]
	addresses  meter[string] // in each tenant
	everywhere meter[string] // addresses over all tenants
}

// guestsPerAddress is how many times the rate of one visitor all guests at one address may send together.
const guestsPerAddress = 4

func (r *rates) init(p pace, crowded *atomic.Uint64) {
	r.users.pace, r.guests.pace, r.addresses.pace, r.everywhere.pace = p, p, p, p
	if p.interval > 0 {
		r.addresses.pace = p.times(guestsPerAddress)
		r.everywhere.pace = p.times(guestsPerAddress * tenantsPerAddress)
	}
	r.users.crowded, r.guests.crowded, r.addresses.crowded, r.everywhere.crowded = crowded, crowded, crowded, crowded
}

// off reports whether no request has a limit.
func (r *rates) off() bool {
	return r.users.off() && r.guests.off() && r.addresses.off() && r.everywhere.off()
}

// takeOf takes a token of a visitor. A guest without a browser id has no bucket.
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
	own := addressIn(v.Tenant, address)
	if !r.addresses.take(own, now) {
		return false
	}
	over := v.Tenant != "" && !r.everywhere.take(address, now)
	if !over && r.takeOf(v, now) {
		return true
	}
	r.addresses.giveBack(own) // a refused visitor must not use up the tokens of others at the address
	if v.Tenant != "" && !over {
		r.everywhere.giveBack(address)
	}
	return false
}

// overRate counts a request, and reports whether the visitor has sent too many.
func (l *limits) overRate(r *http.Request, v presence.Visitor) bool {
	rates := &l.reads
	switch r.Method {
	case http.MethodPut, http.MethodPost, http.MethodDelete:
		rates = &l.writes
	}
	if rates.off() {
		return false
	}
	now := time.Now()
	if v.SignedIn() {
		return !rates.takeOf(v, now)
	}
	return !rates.takeAt(l.site.address(r), v, now)
}

// overRateAt counts a request without a known visitor by its address, and reports whether too many came from
// there.
func (l *limits) overRateAt(r *http.Request) bool {
	if l.writes.addresses.off() {
		return false
	}
	return !l.writes.addresses.take(l.site.address(r), time.Now())
}

// overRateOf counts a request that changes something, and reports whether the user has sent too many. For a
// guest it returns false, since the store keeps nothing of guests.
func (l *limits) overRateOf(user presence.UserID) bool {
	return user != "" && !l.writes.users.take(user, time.Now())
}

// Allow counts a request to the site's own code, such as a sign-in or sign-out, and reports whether the
// visitor may send it. If not, the site answers 429 with "Retry-After: 1". The request counts with the
// visitor's PUT, POST and DELETE requests to this handler, by [Config.MaxRate]. It also counts by its address,
// even for a signed-in visitor: all visitors at one address may send four times as many. Allow may be called
// concurrently.
func (h *Handler) Allow(r *http.Request) bool {
	if h.limits.writes.off() {
		return true
	}
	if h.site.behindProxy(r) {
		foundProxy(h.tracker, r)
	}
	v := visitorOf(r)
	ok := h.limits.writes.takeAt(h.site.address(r), v, time.Now())
	if !ok {
		h.counters.limited.Add(1)
	}
	return ok
}

// A perSecond counts events within a second.
type perSecond struct {
	limit int // negative: any number
	begin time.Time
	n     int
}

// exceeded counts one more event, and reports whether that is too many.
func (w *perSecond) exceeded(now time.Time) bool {
	if now.Sub(w.begin) >= time.Second {
		w.begin, w.n = now, 0
	}
	w.n++
	return w.limit >= 0 && w.n > w.limit
}
