package presence

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// directoryCalls calls a site's Directory: for directoryWait at most, with panics as errors,
// and so that an answer of the wrong length is an error. A call that does not return in time
// is abandoned, and takes a slot until it returns. Its errors are [ErrDirectoryOut], or
// [ErrNoDirectory] where the site has none.
type directoryCalls struct {
	directory Directory     // nil: none
	slots     chan struct{} // calls under way
}

const (
	directoryWait     = 2 * time.Second
	maxDirectoryCalls = 32
)

func newDirectoryCalls(d Directory) *directoryCalls {
	return &directoryCalls{d, make(chan struct{}, maxDirectoryCalls)}
}

// on reports whether the site has a Directory, and so people.
func (d *directoryCalls) on() bool { return d.directory != nil }

func (d *directoryCalls) settings(ctx context.Context, users ...UserID) ([]Settings, error) {
	return callDirectory(ctx, d, len(users), func(ctx context.Context) ([]Settings, error) {
		return d.directory.Settings(ctx, users...)
	})
}

func (d *directoryCalls) setSettings(ctx context.Context, user UserID, s Settings) error {
	_, err := callDirectory(ctx, d, 0, func(ctx context.Context) ([]struct{}, error) {
		return nil, d.directory.SetSettings(ctx, user, s)
	})
	return err
}

// contacts returns whom a user lists, at most most.
func (d *directoryCalls) contacts(ctx context.Context, user UserID, most int) ([]UserID, error) {
	listed, err := callDirectory(ctx, d, -1, func(ctx context.Context) ([]UserID, error) {
		return d.directory.Contacts(ctx, user, most)
	})
	return listed[:min(len(listed), most)], err
}

func (d *directoryCalls) relations(ctx context.Context, pairs ...Pair) ([]Relation, error) {
	return callDirectory(ctx, d, len(pairs), func(ctx context.Context) ([]Relation, error) {
		return d.directory.Relations(ctx, pairs...)
	})
}

func (d *directoryCalls) saw(ctx context.Context, at map[UserID]time.Time) error {
	_, err := callDirectory(ctx, d, 0, func(ctx context.Context) ([]struct{}, error) {
		return nil, d.directory.Saw(ctx, at)
	})
	return err
}

func (d *directoryCalls) lastSeen(ctx context.Context, users ...UserID) ([]Seen, error) {
	return callDirectory(ctx, d, len(users), func(ctx context.Context) ([]Seen, error) {
		return d.directory.LastSeen(ctx, users...)
	})
}

// callDirectory makes a call that is to return want elements; negative: any number.
func callDirectory[T any](ctx context.Context, d *directoryCalls, want int, call func(context.Context) ([]T, error)) ([]T, error) {
	if !d.on() {
		return nil, ErrNoDirectory
	}
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
		return nil, fmt.Errorf("%w: too many calls do not return", ErrDirectoryOut)
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
	case errors.Is(a.err, ErrInvalidSettings):
		return nil, a.err
	case a.err != nil:
		return nil, fmt.Errorf("%w: %w", ErrDirectoryOut, a.err)
	case want >= 0 && len(a.all) != want:
		return nil, fmt.Errorf("%w: it answers for %d of %d", ErrDirectoryOut, len(a.all), want)
	}
	return a.all, nil
}
