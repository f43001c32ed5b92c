package handlers

import (
	"container/list"
	"math"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rollcall-go/rollcall/internal/gate"
	"github.com/rollcall-go/rollcall/presence"
)

// A pace limits how often something may happen: once per interval in the long run, and
// burst/interval times at once.
type pace struct {
	interval time.Duration // negative: no limit
	burst    time.Duration
	debt     time.Duration // how long what is owed may make a key wait; 0: until all has come back
	most     time.Duration // burst and debt, of a pace of what is owed; 0: no bound
}

// maxDebt is how long all visitors at one address wait for what some of them owe. A user, and a browser of a guest, waits
// until all has come back.
const maxDebt = 2 * time.Second

// newPace returns a pace of n a second, with a burst of n times the seconds. No limit if
// n is not positive.
func newPace(n int, seconds time.Duration) pace {
	if n <= 0 {
		return pace{interval: -1}
	}
	return pace{interval: time.Second / time.Duration(n), burst: seconds * time.Second}
}

// times returns the pace that allows n times as much.
func (p pace) times(n time.Duration) pace {
	p.interval /= n
	return p
}

// when returns the pace of tokens that are taken in some way.
func (p pace) when(when gate.When) pace {
	switch when {
	case gate.Spare:
		p.burst /= 2
	case gate.After:
		if p.debt > 0 {
			p.most = p.burst + p.debt
		}
		p.burst = math.MaxInt64
	}
	return p
}

// A bucket is a token bucket, stored as the time when it will be full again. The zero
// value is full.
type bucket time.Time

// take takes points, and reports whether there was a token. It takes more than there is, so that no price is
// out of reach: then the next token comes the later.
func (b *bucket) take(p pace, points int, now time.Time) bool {
	full := time.Time(*b)
	if full.Before(now) {
		full = now
	}
	if full.Add(p.interval).Sub(now) > p.burst {
		return false
	}
	next := full.Add(p.price(points))
	if p.most > 0 && next.Sub(now) > p.most {
		next = now.Add(max(p.most, full.Sub(now)))
	}
	*b = bucket(next)
	return true
}

// price returns how long it takes until points have come back.
func (p pace) price(points int) time.Duration { return p.interval * time.Duration(points) / gate.Token }

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

// take takes points of a key, and reports whether there was a token.
func (m *meter[K]) take(key K, points int, now time.Time) bool {
	return m.takePaced(key, m.pace, points, now)
}

// takePaced is take with another pace than the meter's. Tokens of all paces come from the key's one bucket:
// the slower the pace, the larger the token.
func (m *meter[K]) takePaced(key K, p pace, points int, now time.Time) bool {
	if p.interval < 0 {
		return true
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.dropFullLocked(now)
	e, ok := m.kept[key]
	switch {
	case ok:
		m.order.MoveToFront(e)
	case len(m.kept) >= maxMetered:
		m.crowded.Add(1)
		return m.shared.take(p.times(4), points, now)
	default:
		if m.kept == nil {
			m.kept = make(map[K]*list.Element)
		}
		key = K(strings.Clone(string(key))) // without a copy the key would keep the whole request in memory
		e = m.order.PushFront(&metered[K]{key: key})
		m.kept[key] = e
	}
	return e.Value.(*metered[K]).take(p, points, now)
}

// giveBack puts back points that were taken and not used.
func (m *meter[K]) giveBack(key K, points int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e, ok := m.kept[key]; ok {
		b := &e.Value.(*metered[K]).bucket
		*b = bucket(time.Time(*b).Add(-m.pace.price(points)))
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
		r.addresses.pace.debt, r.everywhere.pace.debt = maxDebt, maxDebt
	}
	r.users.crowded, r.guests.crowded, r.addresses.crowded, r.everywhere.crowded = crowded, crowded, crowded, crowded
}

// off reports whether no request has a limit.
func (r *rates) off() bool {
	return r.users.off() && r.guests.off() && r.addresses.off() && r.everywhere.off()
}

// A caller is who asks for something: a user, or a guest by browser and address.
type caller struct {
	tenant, address string // the address of a user is needed for takeAt only
	user            presence.UserID
	guest           string
}

func callerOf(v presence.Visitor, address string) caller {
	return caller{v.Tenant, address, v.User.ID, v.Guest}
}

// take takes points of a user, or of a guest and the guest's address, and reports whether there was a token.
func (r *rates) take(c caller, points int, when gate.When) bool {
	switch {
	case r.off():
		return true
	case c.user != "":
		return r.users.takePaced(c.user, r.users.pace.when(when), points, time.Now())
	}
	return r.takeAt(c, points, when)
}

// takeAt takes points of an address and of the visitor there, or neither. A guest without a browser id has no
// bucket of its own.
func (r *rates) takeAt(c caller, points int, when gate.When) bool {
	now, own := time.Now(), addressIn(c.tenant, c.address)
	if !r.addresses.takePaced(own, r.addresses.pace.when(when), points, now) {
		return false
	}
	over := c.tenant != "" && !r.everywhere.takePaced(c.address, r.everywhere.pace.when(when), points, now)
	switch {
	case over:
	case c.user != "" && r.users.takePaced(c.user, r.users.pace.when(when), points, now):
		return true
	case c.user == "" && (c.guest == "" || r.guests.takePaced(c.guest, r.guests.pace.when(when), points, now)):
		return true
	}
	r.addresses.giveBack(own, points) // a refused visitor must not use up the tokens of others at the address
	if c.tenant != "" && !over {
		r.everywhere.giveBack(c.address, points)
	}
	return false
}

// An account pays for a request, and for what its stream asks for later.
type account struct {
	caller
	reads *rates

	mu   sync.Mutex
	left int // points that are paid for and not used
}

// open counts a request, and returns its account, with the work that comes with it. It returns false if the
// visitor has sent too many.
func (l *limits) open(r *http.Request, v presence.Visitor) (*account, bool) {
	a := &account{caller: callerOf(v, ""), reads: &l.reads, left: gate.Token}
	rates := &l.reads
	switch r.Method {
	case http.MethodPut, http.MethodPost, http.MethodDelete:
		rates = &l.writes
	}
	if !v.SignedIn() && !rates.off() {
		a.address = l.site.address(r)
	}
	return a, rates.take(a.caller, gate.Token, gate.Before)
}

// take takes points from the visitor's reads, by whole tokens, and reports whether there was one.
func (a *account) take(points int, when gate.When) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.left < points {
		tokens := (points - a.left + gate.Token - 1) / gate.Token * gate.Token
		if !a.reads.take(a.caller, tokens, when) {
			return false
		}
		a.left += tokens
	}
	a.left -= points
	return true
}

// overRateAt counts a request of a guest, or one without a known visitor, by its address. It reports whether
// too many came from there.
func (l *limits) overRateAt(r *http.Request, tenant string) bool {
	return !l.writes.off() && !l.writes.takeAt(caller{tenant: tenant, address: l.site.address(r)}, gate.Token, gate.Before)
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
	ok := h.limits.writes.takeAt(callerOf(visitorOf(r), h.site.address(r)), gate.Token, gate.Before)
	if !ok {
		h.counters.limited.Add(1)
	}
	return ok
}

// AllowReceivers counts the receivers of a message that the site sends for a visitor, such as the authors whom a reply
// notifies, and reports whether the visitor may send it. If not, the site answers 429 with "Retry-After: 1" and does not
// send it. Each receiver costs a row that the fleet writes: 20 of them count as one of the visitor's requests that
// read, and as one of the visitor's address. A message of any size passes if both have one left; the next one then waits
// until all are paid. So a user notifies 1,000 others once a second, and four times at once. AllowReceivers may be called
// concurrently.
func (h *Handler) AllowReceivers(r *http.Request, n int) bool {
	ok := n == 0 || h.limits.reads.off() || h.limits.reads.takeAt(callerOf(visitorOf(r), h.site.address(r)), n*gate.Name, gate.Before)
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
