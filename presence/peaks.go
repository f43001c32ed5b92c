package presence

import "context"

// A PeakKeeper keeps the records of topics in a table of the site's own, so that they
// outlive the store's data and the nodes: see [Config].Peaks. Its methods may be called
// concurrently.
type PeakKeeper interface {
	// LoadPeak returns the record of a topic, or the zero Peak where there is none.
	LoadPeak(ctx context.Context, topic Topic) (Peak, error)
	// SavePeak keeps the record of a topic, unless the kept one is better: see [Peak.Better].
	SavePeak(ctx context.Context, topic Topic, peak Peak) error
}

// ResetPeak starts the record of a topic anew, with the users who are online now. It
// reaches every node and the site's [PeakKeeper]. It returns when the store knows, or an
// error that is [ErrStoreOut].
func (t *Tracker) ResetPeak(ctx context.Context, topic Topic) error {
	written := t.writer.addAcked(topic, Op{Kind: OpResetPeak})
	return storeOut(t.await(ctx, written))
}
