package backend

import (
	"context"

	"github.com/rollcall-go/rollcall/presence"
)

// A PeakKeeper keeps the records of topics in a table of the site's own, so that they
// outlive the store's data and the nodes: see track.Config.Peaks. Its methods may be called
// concurrently.
type PeakKeeper interface {
	// LoadPeak returns the record of a topic, or the zero Peak where there is none.
	LoadPeak(ctx context.Context, topic presence.Topic) (Peak, error)
	// SavePeak saves the record of a topic, unless the saved one is better: see
	// [Peak.Better].
	SavePeak(ctx context.Context, topic presence.Topic, peak Peak) error
}
