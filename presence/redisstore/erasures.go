package redisstore

import (
	"context"
	"crypto/rand"
	"strconv"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// AddErasure implements [backend.Store].
func (s *fleet) AddErasure(ctx context.Context, user presence.UserID, hold time.Duration) (backend.Erasure, error) {
	if err := s.ready(ctx, s.writes); err != nil {
		return backend.Erasure{}, err
	}
	id := rand.Text()
	_, err := s.runOne(ctx, s.writes, "add an erasure", eval{erasurePutScript, s.erasureKeys(), []any{s.now(), string(user), id, hold.Milliseconds()}})
	return backend.Erasure{User: user, ID: id}, err
}

// ClaimErasures implements [backend.Store].
func (s *fleet) ClaimErasures(ctx context.Context, most int, hold time.Duration) ([]backend.Erasure, error) {
	r, err := s.texts(ctx, s.writes, "claim erasures", 0, eval{erasureClaimScript, s.erasureKeys(), []any{s.now(), most, hold.Milliseconds()}})
	if err != nil {
		return nil, err
	}
	var claimed []backend.Erasure
	for ; len(r) >= 3; r = r[3:] {
		ms, _ := strconv.ParseInt(r[1], 10, 64)
		claimed = append(claimed, backend.Erasure{User: presence.UserID(r[0]), Ago: time.Duration(ms) * time.Millisecond, ID: r[2]})
	}
	return claimed, nil
}

// EndErasure implements [backend.Store].
func (s *fleet) EndErasure(ctx context.Context, e backend.Erasure) error {
	_, err := s.runOne(ctx, s.writes, "end an erasure", eval{erasureEndScript, s.erasureKeys(), []any{string(e.User), e.ID}})
	return err
}
