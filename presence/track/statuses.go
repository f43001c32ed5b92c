package track

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// A statusReader reads which statuses users chose, on a site without a Directory.
type statusReader struct {
	cfg   *Config
	store backend.Store
	slots chan struct{} // calls of Config.Status under way
}

const (
	maxStatusCalls = 32 // calls of Config.Status at once; a call that hangs keeps its place until it returns
	statusWait     = 2 * time.Second
)

func newStatusReader(cfg *Config, store backend.Store) *statusReader {
	return &statusReader{cfg: cfg, store: store, slots: make(chan struct{}, maxStatusCalls)}
}

// ofStore asks the store what users chose.
func (s *statusReader) ofStore(ctx context.Context, users []presence.UserID) ([]backend.ChosenStatus, error) {
	ctx, cancel := context.WithTimeout(ctx, statusWait)
	defer cancel()
	kept, err := s.store.Statuses(ctx, users...)
	if err == nil && len(kept) != len(users) {
		err = fmt.Errorf("the store answers for %d users of %d", len(kept), len(users))
	}
	return kept, err
}

// ofSite asks the site's table for one user's choice. A call that does not return in time is abandoned, but
// keeps its slot until it returns.
func (s *statusReader) ofSite(ctx context.Context, user presence.UserID) (presence.Status, error) {
	ctx, cancel := context.WithTimeout(ctx, statusWait)
	defer cancel()
	type answer struct {
		presence.Status
		err error
	}
	answered := make(chan answer, 1)
	select {
	case s.slots <- struct{}{}:
		go func() {
			defer func() { <-s.slots }()
			status, err := s.callSite(ctx, user)
			answered <- answer{status, err}
		}()
	case <-ctx.Done():
		return "", errors.New("too many calls of Config.Status do not return")
	}
	select {
	case a := <-answered:
		return a.Status, a.err
	case <-ctx.Done():
		return "", context.DeadlineExceeded
	}
}

// callSite calls Config.Status. A panic of the site's code is an error.
func (s *statusReader) callSite(ctx context.Context, user presence.UserID) (status presence.Status, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("Config.Status panicked: %v", p)
		}
	}()
	status, err = s.cfg.Status(ctx, user)
	if err == nil && status != "" {
		_, err = presence.ParseStatus(string(status))
	}
	return status, err
}
