package gate

import (
	"container/list"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// A Pace limits how often something may happen: once per interval in the long run, and
// burst/interval times at once.
type Pace struct {
	interval time.Duration // negative: no limit
	burst    time.Duration
	debt     time.Duration // how long what is owed may make a key wait; 0: until all has come back
	most     time.Duration // burst and debt, of a pace of what is owed; 0: no bound
}

// maxDebt is how long all visitors at one address wait for what some of them owe. A user, and a browser of a guest, waits
// until all has come back.
const maxDebt = 2 * time.Second

// NewPace returns a Pace of n a second, with a burst of n times the seconds. No limit if
// n is not positive.
func NewPace(n int, seconds time.Duration) Pace {
	if n <= 0 {
		return Pace{interval: -1}
	}
	return Pace{interval: time.Second / time.Duration(n), burst: seconds * time.Second}
}

// times returns the pace that allows n times as much.
func (p Pace) times(n time.Duration) Pace {
	p.interval /= n
	return p
}

// when returns the pace of tokens that are taken in some way.
func (p Pace) when(when When) Pace {
	switch when {
	case Spare:
		p.burst /= 2
	case After:
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
func (b *bucket) take(p Pace, points int, now time.Time) bool {
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
func (p Pace) price(points int) time.Duration { return p.interval * time.Duration(points) / Token }

// MaxMetered bounds the keys of a meter, and so its memory.
const MaxMetered = 10_000

// A Meter keeps a bucket for each key: a user, a guest, or an address. It drops full
// buckets, which are the same as none, the least recently used first. While MaxMetered
// keys have a bucket that is not full, all further keys share one.
//
// It does not use golang.org/x/time/rate for three reasons: a Meter must know when a bucket is full again,
// needs one lock for all buckets, and keeps thousands.
// All methods may be called concurrently.
type Meter[K ~string] struct {
	pace    Pace
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

// Init sets the pace of each key, and what counts the tokens that keys without a bucket of their own have taken. It must
// be called before the other methods.
func (m *Meter[K]) Init(p Pace, crowded *atomic.Uint64) { m.pace, m.crowded = p, crowded }

// Off reports whether keys have no limit.
func (m *Meter[K]) Off() bool { return m.pace.interval < 0 }

// Take takes points of a key, and reports whether there was a token.
func (m *Meter[K]) Take(key K, points int, now time.Time) bool {
	return m.TakePaced(key, m.pace, points, now)
}

func (m *Meter[K]) takeWhen(key K, points int, when When, now time.Time) bool {
	return m.TakePaced(key, m.pace.when(when), points, now)
}

// TakePaced is Take with another pace than the meter's. Tokens of all paces come from the key's one bucket:
// the slower the pace, the larger the token.
func (m *Meter[K]) TakePaced(key K, p Pace, points int, now time.Time) bool {
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
	case len(m.kept) >= MaxMetered:
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
func (m *Meter[K]) giveBack(key K, points int) {
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
func (m *Meter[K]) dropFullLocked(now time.Time) {
	for range maxDropped {
		last := m.order.Back()
		if last == nil || time.Time(last.Value.(*metered[K]).bucket).After(now) {
			return
		}
		delete(m.kept, last.Value.(*metered[K]).key)
		m.order.Remove(last)
	}
}

// Size returns how many keys have a bucket.
func (m *Meter[K]) Size() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.kept)
}
