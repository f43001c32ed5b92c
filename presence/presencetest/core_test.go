package presencetest_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
)

// coreOnly hides every optional feature of a store.
type coreOnly struct{ backend.Core }

// Publish refuses no choice: no status is kept.
func (c coreOnly) Publish(ctx context.Context, n backend.Notice) error {
	if n.Kind == backend.NoticeStatus {
		kept, err := c.Core.(backend.StatusStore).Statuses(ctx, n.User)
		if err != nil {
			return err
		}
		n.Order = max(n.Order, kept[0].Order)
	}
	return c.Core.Publish(ctx, n)
}

func coreHarness() presencetest.Harness {
	return presencetest.Harness{
		New:     func(*testing.T) backend.Core { return coreOnly{memstore.New()} },
		Advance: func(_ backend.Core, d time.Duration) { time.Sleep(d) },
		Wrap:    synctest.Test,
	}
}

// A store of the twelve methods alone passes the kit.
func TestCoreAlone(t *testing.T) {
	presencetest.Run(t, coreHarness())
	presencetest.Model(t, coreHarness())
	presencetest.Compare(t, coreHarness(), coreHarness(), 3000, 1)
}

// The rules of which no case runs with a Core alone are those that the comment of backend.Store says are about
// an optional part.
func TestOptionalRules(t *testing.T) {
	h, runs := coreHarness(), make(map[string]bool) // by rule: a case of it ran
	h.Wrap = func(t *testing.T, test func(*testing.T)) {
		synctest.Test(t, func(t *testing.T) {
			defer func() {
				if rule, ok := strings.CutPrefix(strings.Split(t.Name(), "/")[1], "rule_"); ok {
					runs[rule] = runs[rule] || !t.Skipped()
				}
			}()
			test(t)
		})
	}
	presencetest.Run(t, h)
	text, err := os.ReadFile("../backend/store.go")
	if err != nil {
		t.Fatal(err)
	}
	_, listed, _ := strings.Cut(string(text), "which a store may lack: ")
	listed, _, _ = strings.Cut(listed, "\n//\n")
	want := regexp.MustCompile(`\b\d+\b`).FindAllString(listed, -1)
	maps.DeleteFunc(runs, func(_ string, ran bool) bool { return ran })
	if got := slices.Sorted(maps.Keys(runs)); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
		t.Errorf("with a Core alone no case runs of the rules %v, and the comment of backend.Store names %v", got, want)
	}
}

// Each feature is found by its interface alone, also below a wrapper, and the methods of one that
// is missing name it.
func TestFeatures(t *testing.T) {
	store := memstore.New()
	if got := backend.FeaturesOf(store); got != backend.AllFeatures {
		t.Errorf("the memory store has %v, want all", got)
	}
	if got := backend.FeaturesOf(presencetest.NewFaults(coreOnly{store})); got != 0 {
		t.Errorf("Faults of a core have %v, want none", got)
	}
	type records struct {
		backend.Core
		backend.ExtrasStore
	}
	some := backend.Extend(records{store, store})
	if got := backend.FeaturesOf(some); got != backend.FeatureExtras {
		t.Errorf("got features %v, want ExtrasStore", got)
	}
	if _, err := some.Extras(t.Context(), presence.Site); err != nil {
		t.Errorf("a feature that is there: %v", err)
	}
	if _, err := some.Secret(t.Context(), nil); !errors.Is(err, errors.ErrUnsupported) || err.Error() != "the store is no SecretStore: unsupported operation" {
		t.Errorf("a feature that is missing: got %v", err)
	}
	if got := backend.Extend(store); got != backend.Store(store) {
		t.Error("a store that has everything is wrapped")
	}
	if _, err := backend.Extend(coreOnly{store}).ClaimErasures(context.Background(), 1, time.Second); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a feature that is missing: got %v", err)
	}
}
