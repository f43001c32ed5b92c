package track

import "sync/atomic"

// A Histogram counts values by size, since the process began.
type Histogram struct {
	Bounds []int64  // ascending; durations are in nanoseconds
	Counts []uint64 // Counts[i] were at most Bounds[i]
	Count  uint64   // all of them
	Sum    int64    // of all values
}

// A tally counts values without a lock. Its bounds never change.
type tally struct {
	bounds []int64
	counts []atomic.Uint64 // one more than bounds; each value is in one
	sum    atomic.Int64
}

func newTally(bounds []int64) *tally {
	return &tally{bounds: bounds, counts: make([]atomic.Uint64, len(bounds)+1)}
}

func (h *tally) observe(value int64) {
	i := 0
	for i < len(h.bounds) && value > h.bounds[i] {
		i++
	}
	h.counts[i].Add(1)
	h.sum.Add(value)
}

func (h *tally) read() Histogram {
	r := Histogram{Bounds: h.bounds, Counts: make([]uint64, len(h.bounds)), Sum: h.sum.Load()}
	for i := range h.counts {
		r.Count += h.counts[i].Load()
		if i < len(r.Counts) {
			r.Counts[i] = r.Count
		}
	}
	return r
}
