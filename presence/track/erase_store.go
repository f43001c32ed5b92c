package track

import (
	"context"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

func (s *timedStore) ExportUser(ctx context.Context, user presence.UserID) ([]backend.Kept, error) {
	began := time.Now()
	kept, err := s.store.ExportUser(ctx, user)
	s.done(ctx, callExportUser, began, err)
	return kept, err
}

func (s *timedStore) EraseUser(ctx context.Context, e backend.Erasure) error {
	began := time.Now()
	err := s.store.EraseUser(ctx, e)
	s.done(ctx, callEraseUser, began, err)
	return err
}

func (s *timedStore) AddErasure(ctx context.Context, user presence.UserID, hold time.Duration) (backend.Erasure, error) {
	began := time.Now()
	e, err := s.store.AddErasure(ctx, user, hold)
	s.done(ctx, callErasures, began, err)
	return e, err
}

func (s *timedStore) ClaimErasures(ctx context.Context, most int, hold time.Duration) ([]backend.Erasure, error) {
	began := time.Now()
	claimed, err := s.store.ClaimErasures(ctx, most, hold)
	s.done(ctx, callErasures, began, err)
	return claimed, err
}

func (s *timedStore) EndErasure(ctx context.Context, e backend.Erasure) error {
	began := time.Now()
	err := s.store.EndErasure(ctx, e)
	s.done(ctx, callErasures, began, err)
	return err
}
