package feedtest_test

import (
	"context"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence/feed"
	"github.com/rollcall-go/rollcall/presence/feed/feedtest"
)

var memory = feedtest.Harness{New: func(testing.TB) feedtest.Site { return feedtest.NewMemory().Site() }}

func TestRules(t *testing.T) { feedtest.Run(t, memory) }

// The kit passes for a store whose Relay takes 1.1 s, which is longer than the first retry of a
// bad row waits.
func TestSlowRelay(t *testing.T) {
	feedtest.Run(t, feedtest.Harness{New: func(testing.TB) feedtest.Site {
		m := feedtest.NewMemory()
		site := m.Site()
		site.Store = slowRelay{m}
		return site
	}})
}

type slowRelay struct{ *feedtest.Memory }

func (s slowRelay) Relay(ctx context.Context, o feed.RelayOptions) (feed.Relayed, error) {
	defer s.Advance(1100 * time.Millisecond)
	return s.Memory.Relay(ctx, o)
}

func TestModel(t *testing.T) { feedtest.Model(t, memory) }

func TestFaults(t *testing.T) { feedtest.Faults(t, memory) }
