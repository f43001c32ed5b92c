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

	// Restored reports what is true of a topic's roster after the store may have lost data at a moment. restored:
	// every node has had time to write again who is there. ended: the lease of nobody who left still runs.
	Restored func(topic presence.Topic, loss time.Time) (restored, ended bool)
}

// Bounds of one call of the store, and the first pause after a failed call.
const (
	callTimeout  = 3 * time.Second
	readTimeout  = 10 * time.Second
	backoffFirst = 50 * time.Millisecond
	topicsAtOnce = 1_000
)
