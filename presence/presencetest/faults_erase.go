package presencetest

import (
	"context"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// ExportUser implements [backend.Store].
func (f *Faults) ExportUser(ctx context.Context, user presence.UserID) ([]backend.Kept, error) {
	return ask(ctx, f, CallExportUser, func() ([]backend.Kept, error) { return f.store.ExportUser(ctx, user) })
}

// EraseUser implements [backend.Store].
func (f *Faults) EraseUser(ctx context.Context, e backend.Erasure) error {
	_, err := ask(ctx, f, CallEraseUser, func() (struct{}, error) { return struct{}{}, f.store.EraseUser(ctx, e) })
	return err
}

// AddErasure implements [backend.Store].
func (f *Faults) AddErasure(ctx context.Context, user presence.UserID, hold time.Duration) (backend.Erasure, error) {
	return ask(ctx, f, CallAddErasure, func() (backend.Erasure, error) { return f.store.AddErasure(ctx, user, hold) })
}

// ClaimErasures implements [backend.Store].
func (f *Faults) ClaimErasures(ctx context.Context, most int, hold time.Duration) ([]backend.Erasure, error) {
	return ask(ctx, f, CallClaimErasures, func() ([]backend.Erasure, error) { return f.store.ClaimErasures(ctx, most, hold) })
}

// EndErasure implements [backend.Store].
func (f *Faults) EndErasure(ctx context.Context, e backend.Erasure) error {
	_, err := ask(ctx, f, CallEndErasure, func() (struct{}, error) { return struct{}{}, f.store.EndErasure(ctx, e) })
	return err
}
