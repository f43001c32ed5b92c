package feed

import (
	"context"
	"fmt"

	"github.com/rollcall-go/rollcall/presence"
)

// Send puts messages into the outbox. When it returns they are stored, and it has started a relay. To notify
// in a transaction of the site's own use SendTx of package sqlstore, and Kick after the commit. It returns
// [ErrInvalidMessage]. Cost: one insert.
func (k *Keeper) Send(ctx context.Context, ms ...Message) error {
	_, err := call(ctx, k.calls, func(ctx context.Context) (struct{}, error) { return struct{}{}, k.store.Send(ctx, ms...) })
	if err == nil {
		k.Kick()
	}
	return err
}

// Mark changes items of an inbox, and returns its new head. It returns [ErrInvalidMark], and
// [ErrInvalidName] for a room. One transaction.
func (k *Keeper) Mark(ctx context.Context, n Name, m Mark) (Head, error) {
	if err := m.Validate(); err != nil {
		return Head{}, err
	}
	return k.change(ctx, n, n.owner() != "", func(ctx context.Context) (Head, error) { return k.store.Mark(ctx, n, m) })
}

// Edit replaces text, URL, data, type and V of an item in a room, and Remove removes one. The tenant is that
// of the room's name; m.Tenant is ignored. They return [ErrNoItem], or an error that is [ErrInvalidMessage]
// or [ErrInvalidName]. One transaction.
func (k *Keeper) Edit(ctx context.Context, n Name, id string, m Message) error {
	m.Tenant, m.To, m.Feed = n.Tenant(), nil, n.Local()
	if err := m.Validate(); err != nil {
		return err
	}
	_, err := k.change(ctx, n, n.owner() == "", func(ctx context.Context) (Head, error) { return k.store.Edit(ctx, n, id, m) })
	return err
}

// Remove removes an item of a room: see Edit.
func (k *Keeper) Remove(ctx context.Context, n Name, id string) error {
	_, err := k.change(ctx, n, n.owner() == "", func(ctx context.Context) (Head, error) { return k.store.Remove(ctx, n, id) })
	return err
}

// change changes a feed, and updates the pages that follow it. rightSort is false if the name is of the wrong
// sort.
func (k *Keeper) change(ctx context.Context, n Name, rightSort bool, do func(context.Context) (Head, error)) (Head, error) {
	if err := n.Validate(); err != nil {
		return Head{}, err
	}
	if !rightSort {
		return Head{}, fmt.Errorf("%w: items of inboxes are marked, and those of rooms edited and removed", ErrInvalidName)
	}
	h, err := call(ctx, k.calls, do)
	if err == nil {
		k.hinter.changed(Hint{n, h.Rev})
	}
	return h, err
}

// Mute keeps or lifts a mute of a user, by the id inside. It returns [ErrInvalidMute] or [ErrTooManyMutes].
func (k *Keeper) Mute(ctx context.Context, user presence.UserID, m Mute) error {
	if err := m.Validate(); err != nil {
		return err
	}
	_, err := call(ctx, k.calls, func(ctx context.Context) (struct{}, error) { return struct{}{}, k.store.Mute(ctx, user, m) })
	return err
}

// Mutes returns the mutes of a user, by scope.
func (k *Keeper) Mutes(ctx context.Context, user presence.UserID) ([]Mute, error) {
	return call(ctx, k.calls, func(ctx context.Context) ([]Mute, error) { return k.store.Mutes(ctx, user) })
}
