package backend

import (
	"errors"
	"fmt"

	"github.com/rollcall-go/rollcall/presence"
)

// A Broadcast is what [Store.Send] hands to the nodes that watch a topic. The Tracker writes and
// reads Data: up to [MaxBroadcast] bytes, which begin with "!" and the version of their form.
type Broadcast struct {
	Topic presence.Topic
	Data  []byte
}

// A Watcher has the functions that [Store.Watch] calls. One that is nil is not called.
type Watcher struct {
	Diff      func(Diff)
	Broadcast func(data []byte) // takes the Data of a [Broadcast], and must not keep it
}

// MaxBroadcast is the most bytes of a [Broadcast].Data.
const MaxBroadcast = 4 << 10

// ErrInvalidBroadcast is what [Store.Send] returns for a [Broadcast] that breaks a rule of
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
