package backend

import (
	"context"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// missing implements the interfaces of features that a store lacks. Each method returns an error.
type missing Features

func (m missing) err() error { return Features(m).unsupported() }

func (m missing) Statuses(context.Context, ...presence.UserID) ([]ChosenStatus, error) {
	return nil, m.err()
}

func (m missing) Secret(context.Context, []byte) ([]byte, error) { return nil, m.err() }

func (m missing) ClaimConsumer(context.Context, string, ConsumerClaim) (ConsumerClaimed, error) {
	return ConsumerClaimed{}, m.err()
}

func (m missing) CommitConsumer(context.Context, string, ConsumerStep) (ConsumerState, error) {
	return ConsumerMissing, m.err()
}

func (m missing) ReadConsumer(context.Context, string) (map[string]string, error) {
	return nil, m.err()
}

func (m missing) RenewNode(context.Context, string, time.Duration) (bool, time.Duration, error) {
	return false, 0, m.err()
}

func (m missing) Send(context.Context, ...Broadcast) error { return m.err() }

func (m missing) WatchBroadcasts(context.Context, presence.Topic, func([]byte)) (func(), error) {
	return nil, m.err()
}

func (m missing) Extras(context.Context, ...presence.Topic) ([]Extras, error) { return nil, m.err() }

func (m missing) Recent(context.Context, presence.Topic, RecentQuery) (RecentPage, error) {
	return RecentPage{}, m.err()
}

func (m missing) Remembered(context.Context, presence.Topic, ...presence.UserID) ([]RecentUser, error) {
	return nil, m.err()
}

func (m missing) Topics(context.Context, presence.Topic, int) ([]presence.Topic, error) {
	return nil, m.err()
}

func (m missing) Inspect(context.Context, presence.Topic, presence.UserID, int) ([]Inspected, error) {
	return nil, m.err()
}

func (m missing) ExportUser(context.Context, presence.UserID) ([]Kept, error) { return nil, m.err() }

func (m missing) EraseUser(context.Context, Erasure) error { return m.err() }

func (m missing) AddErasure(context.Context, presence.UserID, time.Duration) (Erasure, error) {
	return Erasure{}, m.err()
}

func (m missing) ClaimErasures(context.Context, int, time.Duration) ([]Erasure, error) {
	return nil, m.err()
}

func (m missing) EndErasure(context.Context, Erasure) error { return m.err() }
