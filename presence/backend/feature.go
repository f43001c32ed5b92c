package backend

import (
	"errors"
	"fmt"
	"strings"
)

// Features are the optional parts of a store. Each is an interface that a store implements beside [Core]. The
// engine asks once which of them its store has. Configuring a feature that the store lacks is an error at
// start, and a method that needs it returns [errors.ErrUnsupported].
//
// A tracker and a site ask a store for a few more interfaces. No setting needs them, so they have no constant:
// [ChangeTeller], [OutageReporter], [StatsStore], [Checker], [NodeCounter], [fmt.Stringer] (its name in the
// log), and [io.Closer].
type Features uint

// The features, with the interface of each.
const (
	FeatureStatuses   Features = 1 << iota // StatusStore
	FeatureSecret                          // SecretStore
	FeatureConsumers                       // ConsumerStore
	FeatureNodes                           // NodeStore
	FeatureBroadcasts                      // BroadcastStore
	FeatureExtras                          // ExtrasStore
	FeatureRecent                          // RecentStore
	FeatureStaff                           // StaffStore
	FeatureErasures                        // ErasureStore

	AllFeatures = 1<<iota - 1
)

var featureNames = [...]string{
	"StatusStore", "SecretStore", "ConsumerStore", "NodeStore", "BroadcastStore",
	"ExtrasStore", "RecentStore", "StaffStore", "ErasureStore",
}

// Has reports whether f has all of some features.
func (f Features) Has(some Features) bool { return f&some == some }

// String returns the interfaces of the features, separated by commas.
func (f Features) String() string {
	var names []string
	for i, name := range featureNames {
		if f.Has(1 << i) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// FeaturesOf returns the features of a store: those whose interface it implements. A store that wraps another
// one has all methods, whatever the inner store can do. Such a store has a method Features, which returns
// those of the inner store.
func FeaturesOf(store Core) Features {
	if wrapper, ok := store.(interface{ Features() Features }); ok {
		return wrapper.Features()
	}
	return is[StatusStore](store, FeatureStatuses) | is[SecretStore](store, FeatureSecret) |
		is[ConsumerStore](store, FeatureConsumers) | is[NodeStore](store, FeatureNodes) |
		is[BroadcastStore](store, FeatureBroadcasts) | is[ExtrasStore](store, FeatureExtras) |
		is[RecentStore](store, FeatureRecent) | is[StaffStore](store, FeatureStaff) | is[ErasureStore](store, FeatureErasures)
}

// Require returns nil if a store has some features, or an error that is [errors.ErrUnsupported] and
// names what it lacks.
func Require(store Core, some Features) error {
	if lacks := some &^ FeaturesOf(store); lacks != 0 {
		return lacks.unsupported()
	}
	return nil
}

func (f Features) unsupported() error {
	return fmt.Errorf("the store is no %v: %w", f, errors.ErrUnsupported)
}

// is returns the feature if the store implements its interface T, or else 0.
func is[T any](store Core, feature Features) Features {
	if _, ok := store.(T); ok {
		return feature
	}
	return 0
}

// Extend returns a [Store] that passes all calls to a store. It returns the store itself if that has every
// feature. The methods of a missing feature return [errors.ErrUnsupported] and name its interface.
func Extend(store Core) Store {
	has := FeaturesOf(store)
	if whole, ok := store.(Store); ok && has == AllFeatures {
		return whole
	}
	return &extended{
		Core: store, features: has,
		StatusStore:    part[StatusStore](store, has, FeatureStatuses),
		SecretStore:    part[SecretStore](store, has, FeatureSecret),
		ConsumerStore:  part[ConsumerStore](store, has, FeatureConsumers),
		NodeStore:      part[NodeStore](store, has, FeatureNodes),
		BroadcastStore: part[BroadcastStore](store, has, FeatureBroadcasts),
		ExtrasStore:    part[ExtrasStore](store, has, FeatureExtras),
		RecentStore:    part[RecentStore](store, has, FeatureRecent),
		StaffStore:     part[StaffStore](store, has, FeatureStaff),
		ErasureStore:   part[ErasureStore](store, has, FeatureErasures),
	}
}

// part returns the store as the interface of a feature, or missing if the store lacks the feature.
func part[T any](store Core, has, feature Features) T {
	if has.Has(feature) {
		return store.(T)
	}
	return any(missing(feature)).(T)
}

// An extended store is a [Core] with the features that it has.
type extended struct {
	Core
	StatusStore
	SecretStore
	ConsumerStore
	NodeStore
	BroadcastStore
	ExtrasStore
	RecentStore
	StaffStore
	ErasureStore
	features Features
}

// Features returns the features of the inner store.
func (x *extended) Features() Features { return x.features }
