package jobs_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/internal/leak"
	"github.com/rollcall-go/rollcall/jobs"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/feed"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
)

func TestMain(m *testing.M) { leak.VerifyTestMain(m) }

// spy is a store that remembers when it was asked to do what, and does it as
// the test wants.
type spy struct {
	backend.Store
	start time.Time

	mu    sync.Mutex
	calls map[string][]time.Duration // since start
	sweep func(context.Context) (backend.Swept, error)
}

func (s *spy) note(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[name] = append(s.calls[name], time.Since(s.start))
}

func (s *spy) of(name string) []time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls[name])
}

func (s *spy) Sweep(ctx context.Context, opts backend.SweepOptions) (backend.Swept, error) {
	s.note("sweep")
	if s.sweep != nil {
		return s.sweep(ctx)
	}
	return s.Store.Sweep(ctx, backend.SweepOptions{Limit: opts.Limit})
}

func (s *spy) Age(ctx context.Context, period time.Duration) (int, error) {
	s.note("age")
	return s.Store.Age(ctx, period)
}

func (s *spy) Trim(ctx context.Context, keep time.Duration, most int) (int, error) {
	s.note("trim")
	return s.Store.Trim(ctx, keep, most)
}

// A logged is the text of a log. It may be used concurrently.
type logged struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *logged) Len() int { return len(l.String()) }

// setUp starts a tracker over a spy, in a synctest bubble. It waits until the tracker sweeps, seven seconds after its
// beginning.
func setUp(t *testing.T, config track.Config) (*track.Tracker, *spy, *logged) {
	t.Helper()
	store := &spy{Store: memstore.New(), start: time.Now(), calls: make(map[string][]time.Duration)}
	logs := new(logged)
	config.Logger = slog.New(slog.NewTextHandler(logs, nil))
	tracker, err := track.New(store, config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tracker.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	time.Sleep(7 * time.Second)
	store.start = time.Now()
	return tracker, store, logs
}

func start(t *testing.T, tracker *track.Tracker, config jobs.Config) *jobs.Runner {
	t.Helper()
	runner, err := jobs.Start(tracker, config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(runner.Stop)
	return runner
}

func TestDefaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker, store, _ := setUp(t, track.Config{})
		start(t, tracker, jobs.Config{})
		time.Sleep(66*time.Minute + time.Second)
		synctest.Wait()
		if got, want := store.of("sweep")[:3], []time.Duration{1e9, 2e9, 3e9}; !slices.Equal(got, want) {
			t.Errorf("got sweeps at %v, want %v", got, want)
		}
		if got, want := store.of("age")[:3], []time.Duration{10e9, 20e9, 30e9}; !slices.Equal(got, want) {
			t.Errorf("got checks of the age at %v, want %v", got, want)
		}
		if got := store.of("trim"); len(got) != 1 || got[0] < 54*time.Minute || got[0] > 66*time.Minute {
			t.Errorf("got trims at %v, want one after 54 to 66 minutes", got)
		}
	})
}

// cron's own @every would make whole seconds of these.
func TestFractionsOfASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker, store, _ := setUp(t, track.Config{Age: 15 * time.Second})
		start(t, tracker, jobs.Config{Sweep: 200 * time.Millisecond})
		time.Sleep(3100 * time.Millisecond)
		synctest.Wait()
		var want []time.Duration
		for at := 200 * time.Millisecond; at < 3100*time.Millisecond; at += 200 * time.Millisecond {
			want = append(want, at)
		}
		if got := store.of("sweep"); !slices.Equal(got, want) {
			t.Errorf("got sweeps at %v, want %v", got, want)
		}
		if got, want := store.of("age"), []time.Duration{1500e6, 3000e6}; !slices.Equal(got, want) {
			t.Errorf("got checks of the age at %v, want %v", got, want)
		}
	})
}

func TestAgeIsCheckedSeveralTimesAPeriod(t *testing.T) {
	for age, want := range map[time.Duration]time.Duration{
		time.Hour:              10 * time.Second,
		5 * time.Minute:        10 * time.Second,
		20 * time.Second:       2 * time.Second,
		100 * time.Millisecond: 100 * time.Millisecond,
	} {
		t.Run(age.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tracker, store, _ := setUp(t, track.Config{Age: age})
				start(t, tracker, jobs.Config{})
				time.Sleep(want + want/2)
				synctest.Wait()
				if got := store.of("age"); !slices.Equal(got, []time.Duration{want}) {
					t.Errorf("got checks at %v, want one at %v", got, want)
				}
			})
		})
	}
}

// Without Mail there are no digests.
func TestNegativeSwitchesSweepsOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker, keeper, _, store, _ := setUpFeeds(t)
		start(t, tracker, jobs.Config{Sweep: -1, Feeds: keeper})
		time.Sleep(3 * time.Hour)
		synctest.Wait()
		for _, call := range []string{"sweep", "due"} {
			if got := store.of(call); len(got) > 0 {
				t.Errorf("got %d calls of %s, want none", len(got), call)
			}
		}
		for _, call := range []string{"age", "trim", "relay", "trim_feeds"} {
			if len(store.of(call)) == 0 {
				t.Errorf("got no call of %s, want some", call)
			}
		}
	})
}

func TestInvalidConfigIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker, _, _ := setUp(t, track.Config{})
		runner, err := jobs.Start(tracker, jobs.Config{
			Sweep: 99 * time.Millisecond,
			Mail:  func(context.Context, feed.Digest) error { return nil },
		})
		if runner != nil || !errors.Is(err, presence.ErrInvalidConfig) {
			t.Fatalf("got error %v, want one that is ErrInvalidConfig", err)
		}
		for _, want := range []string{"Sweep is 99ms", "Mail needs Feeds"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("got error %q, want %q in it", err, want)
			}
		}
		if runner, err := jobs.Start(nil, jobs.Config{}); runner != nil || !errors.Is(err, presence.ErrInvalidConfig) {
			t.Errorf("got error %v without a tracker, want one that is ErrInvalidConfig", err)
		}
		start(t, tracker, jobs.Config{Sweep: 100 * time.Millisecond})
	})
}
