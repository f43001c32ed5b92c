package deliver

import (
	"context"
	"log/slog"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// A Node has what [Consumers] need from the node that they run on. A track.Tracker makes it.
type Node struct {
	Name   string
	Logger *slog.Logger
	Store  backend.Store

	Life  context.Context                     // ends when the node closes
	Spawn func(fn func(context.Context)) bool // runs fn until Life ends; false: it has ended
	TTL   func(presence.Topic) time.Duration  // how long a user of a topic stays without a proof of life
	Late  time.Duration                       // how much later another node may find that the store is back

	Trusted  func() bool          // the store's data is complete: see SoundFor
	SoundFor func() time.Duration // how long the store has neither been unreachable nor lost data

	// RestoringSince returns when nodes could last begin to restore lost data, whether or not a record of a
	// consumer was lost. lost is when this node last noticed a loss; zero: never.
	RestoringSince func() (since, lost time.Time)

	// CatchUp returns how long after a loss of data all nodes have restored a topic's leases, even if the
	// store loses its data several times in a row. Settles is how long one restore takes.
	CatchUp func(presence.Topic) time.Duration
	Settles time.Duration

	TellsLastSeen bool // a leave says when the user was last seen, since the site has no Directory
}

// Bounds of one call of the store, and the first pause after a failed call.
const (
	callTimeout  = 3 * time.Second
	readTimeout  = 10 * time.Second
	backoffFirst = 50 * time.Millisecond
	topicsAtOnce = 1_000
	maxEarly     = 4096 // diffs of a topic that wait to be told
)
