package sqlstore

import (
	"math"
	"time"

	"github.com/rollcall-go/rollcall/presence/feed"
)

// Feeds are the inboxes and rooms of a [Store], those of all tenants: a [feed.Store], for
// feed.New. A name says its tenant, and rows have the local name and a tenant. All methods may
// be called concurrently. The errors are those that feed.Store names,
// [feed.ErrInvalidName] for a name that no feed can have, and the database's.
type Feeds struct {
	*feedRows
	*feedReader
	*outbox
	*relayer
	*digests
	*trimmer
	*recounter
	*feedEraser
}

func newFeeds(db *database) *Feeds {
	rows := &feedRows{db}
	reader := &feedReader{rows}
	return &Feeds{
		feedRows: rows, feedReader: reader, outbox: &outbox{feedRows: rows}, relayer: &relayer{feedRows: rows}, digests: &digests{feedRows: rows},
		trimmer: &trimmer{feedRows: rows}, recounter: &recounter{feedRows: rows}, feedEraser: &feedEraser{rows, reader},
	}
}

var (
	_ feed.Store         = (*Feeds)(nil)
	_ feed.DataVersioner = (*Feeds)(nil)
)

// DataVersion implements [feed.DataVersioner]: see [Store.DataVersion].
func (f *Feeds) DataVersion() int64 { return f.feedRows.db.DataVersion() }

// A place is a position in the order of tenants and names of feeds. The zero place is before all.
type place struct{ tenant, feed string }

func (p place) after(o place) bool {
	return p.tenant > o.tenant || p.tenant == o.tenant && p.feed > o.feed
}

func (p place) name() feed.Name { return feed.Name(p.feed).In(p.tenant) }

// allPlaces is greater than every place.
const allPlaces = math.MaxInt64

func milliseconds(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
