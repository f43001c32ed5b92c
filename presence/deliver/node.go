package deliver

import (
	"context"
	"log/slog"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// A Node is what [Consumers] need of the node that they run on. A track.Tracker makes it.
type Node struct {
	Name   string
	Logger *slog.Logger
	Store  backend.Store

	Life  context.Context                     // ends when the node closes
	Spawn func(fn func(context.Context)) bool // runs fn until Life ends; false: it has ended
	TTL   func(presence.Topic) time.Duration  // how long a user of a topic stays without a proof of life
	Late  time.Duration                       // by how much another node may find a store back later

	Trusted  func() bool          // the store has all that it had: see SoundFor
	SoundFor func() time.Duration // since when the store has neither been out nor lost data

	// RestoringSince returns when nodes could last begin to restore what the store had lost, also if that was no
	// record of a consumer.
	RestoringSince func() time.Time

	// After a loss of data all nodes have restored a topic's leases once CatchUp is over, also where
	// the store loses its data several times in a row. Settles is how long one restore takes.
	CatchUp func(presence.Topic) time.Duration
	Settles time.Duration

	TellsLastSeen bool // a leave tells when the user was last seen: the site has no Directory
}

// Bounds of one call of the store, and the first pause after one that failed.
const (
	callTimeout  = 3 * time.Second
	readTimeout  = 10 * time.Second
	backoffFirst = 50 * time.Millisecond
	topicsAtOnce = 1_000
	maxEarly     = 4096 // diffs of a topic that wait to be told
)
