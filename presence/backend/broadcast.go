package backend

import (
	"context"
	"errors"
	"fmt"

	"github.com/rollcall-go/rollcall/presence"
)

// A Broadcast is what [BroadcastStore.Send] hands to the nodes that watch a topic. The Tracker writes and
// reads Data: up to [MaxBroadcast] bytes, which begin with "!" and the version of their form.
type Broadcast struct {
	Topic presence.Topic
	Data  []byte
}

// MaxBroadcast is the most bytes of a [Broadcast].Data.
const MaxBroadcast = 4 << 10

// ErrInvalidBroadcast is what [BroadcastStore.Send] returns for a [Broadcast] that breaks a rule of
// Validate. Fix the code that made it.
var ErrInvalidBroadcast = errors.New("invalid broadcast")

// broadcastMark is the first byte of a broadcast. It distinguishes broadcasts from diffs, because a store may
// send both on one channel.
const broadcastMark = '!'

// Validate returns nil, or an error that is [ErrInvalidBroadcast] and says why: Data must begin
// with "!" and have at most 4 KiB. Every store asks it before it sends.
func (b Broadcast) Validate() error {
	switch {
	case len(b.Data) == 0 || b.Data[0] != broadcastMark:
		return fmt.Errorf("%w: it does not begin with %q", ErrInvalidBroadcast, broadcastMark)
	case len(b.Data) > MaxBroadcast:
		return fmt.Errorf("%w: it has %d bytes, and %d are allowed", ErrInvalidBroadcast, len(b.Data), MaxBroadcast)
	}
	return nil
}

// A BroadcastStore carries signals between nodes (rule 22). Without it a site has no signals.
type BroadcastStore interface {
	// Send delivers each broadcast to the current watchers of its topic's broadcasts, on every node (rule
	// 22). A broadcast may be lost, and an error does not say whether it was. The error is
	// ErrInvalidBroadcast if one of them is invalid. It costs one round trip for all of them.
	Send(ctx context.Context, broadcasts ...Broadcast) error

	// WatchBroadcasts calls fn for the data of each broadcast of a topic from now on, as Watch
	// does for diffs (rule 22). They cost no connection beside those of Watch. fn must not keep
	// the data, must not block and must not call the store.
	WatchBroadcasts(ctx context.Context, topic presence.Topic, fn func(data []byte)) (stop func(), err error)
}
