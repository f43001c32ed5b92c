package presencetest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/presencetest"
)

var _ = time.Second

func harness() presencetest.Harness {
	return presencetest.Harness{
		New:     func(*testing.T) presence.Store { return presence.NewMemoryStore() },
		Advance: func(_ presence.Store, d time.Duration) { time.Sleep(d) },
		Wrap:    synctest.Test,
	}
}

func TestMemoryStore(t *testing.T) { presencetest.Run(t, harness()) }

func TestMemoryStoreModel(t *testing.T) { presencetest.Model(t, harness()) }

func TestMemoryStoreCompare(t *testing.T) { presencetest.Compare(t, harness(), harness(), 5000, 1) }
