package hist_test

import (
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/bench/internal/hist"
)

func TestQuantilesAreWithinThreePercent(t *testing.T) {
	var h, other hist.Hist
	for i := 1; i <= 1000; i++ {
		to := &h
		if i%2 == 0 {
			to = &other
		}
		to.Add(time.Duration(i) * time.Millisecond)
	}
	h.Merge(&other)
	for _, tc := range []struct {
		q    float64
		want time.Duration
	}{{0, time.Millisecond}, {0.5, 501 * time.Millisecond}, {0.99, 991 * time.Millisecond}, {1, time.Second}} {
		if got := h.Quantile(tc.q); (got - tc.want).Abs() > tc.want*3/100 {
			t.Errorf("quantile %v: got %v, want %v give or take 3 %%", tc.q, got, tc.want)
		}
	}
	if (&hist.Hist{}).Quantile(0.5) != 0 {
		t.Errorf("got a median of nothing, want 0")
	}
}
