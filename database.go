package rollcall

import (
	"context"
	"errors"
	"time"

	"github.com/rollcall-go/rollcall/internal/wait"
)

// prepareAgain is how often a database that is out is asked whether it is back.
const prepareAgain = 5 * time.Second

// prepareSQL makes the tables. While the database is out, it repeats that in the background.
func (s *Site) prepareSQL(ctx context.Context) error {
	if s.sql == nil {
		return nil
	}
	err := s.migrate(ctx)
	if err == nil || s.reachSQL(ctx) == nil {
		return err
	}
	s.logger.Warn("presence: the database cannot be reached; pages go on, and people and notifications begin when it is back", "error", err)
	s.background.Go(func() {
		for err := errors.New("out"); err != nil && wait.For(ctx, prepareAgain); {
			if err = s.migrate(ctx); err != nil && s.reachSQL(ctx) == nil {
				s.logger.Error("presence: the tables of people and notifications cannot be made", "error", err)
			}
		}
	})
	return nil
}

func (s *Site) migrate(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	return s.sql.Migrate(ctx)
}

// reachSQL returns an error while the database is out.
func (s *Site) reachSQL(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	return s.sql.Ping(ctx)
}
