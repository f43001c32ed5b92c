package track

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/rollcall-go/rollcall/internal/minute"
	"github.com/rollcall-go/rollcall/presence"
)

// directoryCalls calls a site's Directory. A call takes directoryWait at most, a panic is an error, and so is
// an answer of the wrong length. A call that does not return in time is abandoned, but keeps its slot until
// it returns. The errors are [presence.ErrDirectoryOut], or [presence.ErrNoDirectory] if the site has none.
type directoryCalls struct {
	directory presence.Directory // nil: none
	logger    *slog.Logger
	slots     chan struct{} // calls under way
	timings   timings

	mu     directoryMutex
	failed bool // the latest call
	told   bool // the failure was logged
	logs   minute.Gate
}

// directoryOperations are the names of the operations of a Directory in [Stats].
var directoryOperations = []string{"settings", "set_settings", "contacts", "relations", "saw", "last_seen"}

const (
	directoryWait     = 2 * time.Second
	maxDirectoryCalls = 32
)

func newDirectoryCalls(d presence.Directory, logger *slog.Logger) *directoryCalls {
	return &directoryCalls{directory: d, logger: logger, slots: make(chan struct{}, maxDirectoryCalls), timings: newTimings(directoryOperations)}
}

// on reports whether the site has a Directory, and so people.
func (d *directoryCalls) on() bool { return d.directory != nil }

func (d *directoryCalls) settings(ctx context.Context, users ...presence.UserID) ([]presence.Settings, error) {
	return callDirectory(ctx, d, "settings", len(users), func(ctx context.Context) ([]presence.Settings, error) {
		return d.directory.Settings(ctx, users...)
	})
}

// setSettings calls late if the call succeeds after setSettings has given it up.
func (d *directoryCalls) setSettings(ctx context.Context, user presence.UserID, s presence.Settings, late func()) (rev int64, err error) {
	revs, err := callDirectory(ctx, d, "set_settings", 1, func(ctx context.Context) ([]int64, error) {
		defer func() {
			if ctx.Err() != nil {
				late()
			}
		}()
		rev, err := d.directory.SetSettings(ctx, user, s)
		return []int64{rev}, err
	})
	switch {
	case err != nil:
		return 0, err
	case revs[0] <= s.Rev: // no node would take the change for a later one
		return 0, fmt.Errorf("%w: SetSettings returned the revision %d in place of %d, and each must be greater", presence.ErrDirectoryOut, revs[0], s.Rev)
	}
	return revs[0], nil
}

// contacts returns up to most users on a user's contact list.
func (d *directoryCalls) contacts(ctx context.Context, user presence.UserID, most int) ([]presence.UserID, error) {
	listed, err := callDirectory(ctx, d, "contacts", -1, func(ctx context.Context) ([]presence.UserID, error) {
		return d.directory.Contacts(ctx, user, most)
	})
	return listed[:min(len(listed), most)], err
}

func (d *directoryCalls) relations(ctx context.Context, pairs ...presence.Pair) ([]presence.Relation, error) {
	return callDirectory(ctx, d, "relations", len(pairs), func(ctx context.Context) ([]presence.Relation, error) {
		return d.directory.Relations(ctx, pairs...)
	})
}

func (d *directoryCalls) saw(ctx context.Context, at map[presence.UserID]time.Time) error {
	_, err := callDirectory(ctx, d, "saw", 0, func(ctx context.Context) ([]struct{}, error) {
		return nil, d.directory.Saw(ctx, at)
	})
	return err
}

func (d *directoryCalls) lastSeen(ctx context.Context, users ...presence.UserID) ([]presence.Seen, error) {
	return callDirectory(ctx, d, "last_seen", len(users), func(ctx context.Context) ([]presence.Seen, error) {
		return d.directory.LastSeen(ctx, users...)
	})
}

// callDirectory makes a call that must return want elements; negative: any number.
func callDirectory[T any](ctx context.Context, d *directoryCalls, operation string, want int, call func(context.Context) ([]T, error)) ([]T, error) {
	if !d.on() {
		return nil, presence.ErrNoDirectory
	}
	began := time.Now()
	all, err := answerOf(ctx, d, want, call)
	// A caller with a short deadline, such as a page with 50 ms, is no proof that the Directory fails.
	if gaveUp := ctx.Err() != nil && time.Since(began) < directoryWait/2; !gaveUp {
		d.done(operation, began, err)
	}
	return all, err
}

func answerOf[T any](ctx context.Context, d *directoryCalls, want int, call func(context.Context) ([]T, error)) ([]T, error) {
	ctx, cancel := context.WithTimeout(ctx, directoryWait)
	defer cancel()
	type answer struct {
		all []T
		err error
	}
	answered := make(chan answer, 1)
	select {
	case d.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: too many calls do not return", presence.ErrDirectoryOut)
	}
	go func() {
		defer func() { <-d.slots }()
		defer func() {
			if p := recover(); p != nil {
				answered <- answer{err: fmt.Errorf("the Directory panicked: %v", p)}
			}
		}()
		all, err := call(ctx)
		answered <- answer{all, err}
	}()
	var a answer
	select {
	case a = <-answered:
	case <-ctx.Done():
		a.err = ctx.Err()
	}
	switch {
	case errors.Is(a.err, presence.ErrInvalidSettings), errors.Is(a.err, presence.ErrLaterChoice):
		return nil, a.err
	case a.err != nil:
		return nil, fmt.Errorf("%w: %w", presence.ErrDirectoryOut, a.err)
	case want >= 0 && len(a.all) != want:
		return nil, fmt.Errorf("%w: it answers for %d of %d", presence.ErrDirectoryOut, len(a.all), want)
	}
	return a.all, nil
}

// done counts a call that began at a moment. It logs when the Directory begins to fail and when it is back.
// Settings that are invalid, or replace no more what they were to replace, are no failure.
func (d *directoryCalls) done(operation string, began time.Time, err error) {
	failed := errors.Is(err, presence.ErrDirectoryOut)
	d.timings[operation].latency.observe(int64(time.Since(began)))
	if failed {
		d.timings[operation].failed.Add(1)
	}
	d.mu.Lock()
	d.failed = failed
	fails := failed && d.logs.Pass() // at most once a minute, while reads succeed and writes fail
	back := d.told && !failed
	d.told = failed && (d.told || fails)
	d.mu.Unlock()
	switch {
	case fails:
		d.logger.Warn("presence: the Directory fails; users of whom nothing is known stay hidden, settings cannot be changed, and last seen waits",
			slog.String("operation", operation), slog.Any("error", err))
	case back:
		d.logger.Info("presence: the Directory is back")
	}
}

// out reports whether the latest call failed.
func (d *directoryCalls) out() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.failed
}

// stats returns what was counted, by operation; nil without a Directory.
func (d *directoryCalls) stats() map[string]CallStats {
	if !d.on() {
		return nil
	}
	return d.timings.stats()
}

// Bounds of one call of a Directory.
const (
	maxSettingsAtOnce  = 500
	maxRelationsAtOnce = 1_000
	maxSawAtOnce       = 500
)
