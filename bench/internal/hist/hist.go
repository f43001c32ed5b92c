// Package hist counts durations in buckets of about three percent.
package hist

import (
	"math/bits"
	"time"
)

const (
	fine    = 5 // bits of a bucket's number within its power of two
	buckets = (64 - fine) << fine
)

// A Hist is a histogram of durations. The zero value is empty. It is not for
// use by several goroutines at once.
type Hist struct {
	Counts [buckets]uint32
	N      uint64
}

// Add counts one duration; a negative one as none.
func (h *Hist) Add(d time.Duration) {
	h.Counts[bucket(uint64(max(d, 0)))]++
	h.N++
}

// Merge adds what another one counted.
func (h *Hist) Merge(o *Hist) {
	for i, n := range o.Counts {
		h.Counts[i] += n
	}
	h.N += o.N
}

// Quantile returns a duration that the share q of all is not above, give or
// take a bucket; zero if there are none.
func (h *Hist) Quantile(q float64) time.Duration {
	rank := uint64(q * float64(h.N))
	for i, n := range h.Counts {
		if rank < uint64(n) {
			return time.Duration(value(i))
		}
		rank -= uint64(n)
	}
	return h.Max()
}

// Max returns the longest duration, give or take a bucket.
func (h *Hist) Max() time.Duration {
	for i := len(h.Counts) - 1; i >= 0; i-- {
		if h.Counts[i] > 0 {
			return time.Duration(value(i))
		}
	}
	return 0
}

func bucket(v uint64) int {
	if v < 1<<fine {
		return int(v)
	}
	power := bits.Len64(v) - fine - 1
	return power<<fine + int(v>>power)
}

// value is the middle of a bucket.
func value(i int) uint64 {
	if i < 2<<fine {
		return uint64(i)
	}
	power := i>>fine - 1
	low := uint64(i-power<<fine) << power
	return low + 1<<power/2
}
