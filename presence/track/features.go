package track

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// validateFor returns an error for each field that needs a feature the store lacks. Call it before the
// defaults are filled in.
func (c Config) validateFor(has backend.Features) error {
	var errs []error
	need := func(feature backend.Features, field, why string) {
		if !has.Has(feature) {
			errs = append(errs, fmt.Errorf("%w: %s %s, and the store is no %v", presence.ErrInvalidConfig, field, why, feature))
		}
	}
	if len(c.Secret) == 0 {
		need(backend.FeatureSecret, "Secret", "is empty")
	}
	if c.NodeTTL != 0 {
		need(backend.FeatureNodes, "NodeTTL", "is set")
	}
	for _, name := range slices.Sorted(maps.Keys(c.Kinds)) {
		k := c.Kinds[name]
		for _, f := range []struct {
			name    string
			set     bool
			feature backend.Features
		}{{"Peak", k.Peak, backend.FeatureExtras}, {"Bots", k.Bots, backend.FeatureExtras}, {"Recent", k.Recent != 0, backend.FeatureRecent}} {
			if f.set {
				need(f.feature, fmt.Sprintf("Kinds[%q].%s", name, f.name), "is set")
			}
		}
	}
	return errors.Join(errs...)
}

// keepsStatus returns nil if a user's choice is kept somewhere that outlives this node. Otherwise an
// invisible user would be seen after a restart.
func (c *choices) keepsStatus() error {
	return backend.Require(c.store, backend.FeatureStatuses)
}
