package rollcall

import (
	"context"
	"errors"
	"slices"
	"time"
)

// stopTime is how long a Site may take to close where no context says so.
const stopTime = 10 * time.Second

// Close stops the site, in this order: the jobs; the streams, whose pages connect again to
// another process; the servers that [Site.Server] made and [Site.Attach] was given, once their
// requests are served; the feeds; and the store. It writes what waits to be written. A
// request that is not served when ctx ends is cut. Close may be called twice.
func (s *Site) Close(ctx context.Context) error {
	s.stop()
	if s.jobs != nil {
		s.jobs.Stop()
	}
	var problems []error
	if s.tracker != nil {
		problems = append(problems, s.tracker.Close(ctx))
	}
	if s.live != nil {
		problems = append(problems, s.live.Wait(ctx))
	}
	s.mu.Lock()
	servers := slices.Clone(s.servers)
	s.mu.Unlock()
	for _, server := range servers {
		if err := server.Shutdown(ctx); err != nil {
			problems = append(problems, err, server.Close())
		}
	}
	if s.feeds != nil {
		problems = append(problems, s.feeds.Close(ctx))
	}
	s.background.Wait()
	return errors.Join(append(problems, s.closeStore())...)
}
