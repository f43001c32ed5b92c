package presencetest

import (
	"context"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// ExportUser implements [presence.Store].
func (f *Faults) ExportUser(ctx context.Context, user presence.UserID) ([]presence.Kept, error) {
	return ask(ctx, f, CallExportUser, func() ([]presence.Kept, error) { return f.store.ExportUser(ctx, user) })
}

// EraseUser implements [presence.Store].
func (f *Faults) EraseUser(ctx context.Context, e presence.Erasure) error {
	_, err := ask(ctx, f, CallEraseUser, func() (struct{}, error) { return struct{}{}, f.store.EraseUser(ctx, e) })
	return err
}

// AddErasure implements [presence.Store].
func (f *Faults) AddErasure(ctx context.Context, user presence.UserID, hold time.Duration) (presence.Erasure, error) {
	return ask(ctx, f, CallAddErasure, func() (presence.Erasure, error) { return f.store.AddErasure(ctx, user, hold) })
}

// ClaimErasures implements [presence.Store].
func (f *Faults) ClaimErasures(ctx context.Context, most int, hold time.Duration) ([]presence.Erasure, error) {
	return ask(ctx, f, CallClaimErasures, func() ([]presence.Erasure, error) { return f.store.ClaimErasures(ctx, most, hold) })
}

// EndErasure implements [presence.Store].
func (f *Faults) EndErasure(ctx context.Context, e presence.Erasure) error {
	_, err := ask(ctx, f, CallEndErasure, func() (struct{}, error) { return struct{}{}, f.store.EndErasure(ctx, e) })
	return err
}
