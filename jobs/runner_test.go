package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/jobs"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
)

// A failure is logged when it begins and when it is over, not at every tick.
func TestFailuresAreLoggedOnce(t *testing.T) {
	for name, fail := range map[string]func() error{
		"error": func() error { return errors.New("no route") },
		"panic": func() error { panic("no route") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tracker, store, logs := setUp(t, track.Config{Node: "a"})
				var failing atomic.Bool
				store.sweep = func(context.Context) (backend.Swept, error) {
					if failing.Load() {
						return backend.Swept{}, fail()
					}
					return backend.Swept{}, nil
				}
				start(t, tracker, jobs.Config{})
				logged := func(want string, times int) {
					t.Helper()
					time.Sleep(10 * time.Second)
					synctest.Wait()
					if got := strings.Count(logs.String(), want); got != times {
						t.Errorf("got %q logged %d times, want %d:\n%s", want, got, times, logs)
					}
				}
				logged("job=sweep", 0)
				failing.Store(true)
				logged("job=sweep error=\"no route\"", 1)
				failing.Store(false)
				logged("works again\" node=a job=sweep", 1)
				failing.Store(true)
				logged("job=sweep error=\"no route\"", 2)
				before := len(store.of("sweep"))
				logged("works again\" node=a job=sweep", 1)
				if got := len(store.of("sweep")) - before; got != 10 {
					t.Errorf("got %d sweeps in 10 s, want 10: failures stop nothing", got)
				}
			})
		})
	}
}

func TestJobIsSkippedWhileItRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker, store, _ := setUp(t, track.Config{})
		release := make(chan struct{})
		store.sweep = func(context.Context) (backend.Swept, error) {
			<-release
			return backend.Swept{}, nil
		}
		start(t, tracker, jobs.Config{})
		time.Sleep(15 * time.Second)
		synctest.Wait()
		if got := len(store.of("sweep")); got != 1 {
			t.Errorf("got %d sweeps while one runs, want 1", got)
		}
		if got := len(store.of("age")); got != 1 {
			t.Errorf("got %d checks of the age meanwhile, want 1", got)
		}
		close(release)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if got := len(store.of("sweep")); got != 3 {
			t.Errorf("got %d sweeps, want 3", got)
		}
	})
}

// The tracker bounds each call, so a store that hangs holds up nothing for good.
func TestStoreThatHangsIsAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker, store, logs := setUp(t, track.Config{})
		store.sweep = func(ctx context.Context) (backend.Swept, error) {
			<-ctx.Done()
			return backend.Swept{}, ctx.Err()
		}
		start(t, tracker, jobs.Config{})
		time.Sleep(65 * time.Second)
		synctest.Wait()
		if got := len(store.of("sweep")); got < 3 {
			t.Errorf("got %d sweeps in a minute, want it tried again and again", got)
		}
		if got := strings.Count(logs.String(), "deadline exceeded"); got != 1 {
			t.Errorf("got %d failures logged, want 1:\n%s", got, logs)
		}
	})
}

func TestStopWaitsForWhatRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker, store, logs := setUp(t, track.Config{})
		var ended atomic.Bool
		store.sweep = func(ctx context.Context) (backend.Swept, error) {
			<-ctx.Done()
			time.Sleep(time.Second) // takes its time
			ended.Store(true)
			return backend.Swept{}, ctx.Err()
		}
		runner := start(t, tracker, jobs.Config{})
		time.Sleep(1500 * time.Millisecond)
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				runner.Stop()
				if !ended.Load() {
					t.Error("Stop returned while a job was running")
				}
			})
		}
		all.Wait()
		time.Sleep(time.Hour)
		runner.Stop()
		if got := len(store.of("sweep")) + len(store.of("age")) + len(store.of("trim")); got != 1 {
			t.Errorf("got %d runs in all, want the one before Stop", got)
		}
		if strings.Contains(logs.String(), "job=") {
			t.Errorf("got log %q, want none of a job: being told to end is no failure", logs)
		}
	})
}

// Sweep goes on while there is more to do, and returns what it did also beside an error.
func TestSweepByHand(t *testing.T) {
	out := errors.New("out")
	more := backend.Swept{Leases: 10, Leaves: 4, More: true}
	for name, tt := range map[string]struct {
		fails, cancels, ends int // the call after which the store fails, the context is canceled, and nothing is left
		want                 backend.Swept
		err                  error
	}{
		"while there is more":                                  {ends: 3, want: backend.Swept{Leases: 30, Leaves: 12}},
		"until the store fails":                                {fails: 2, want: backend.Swept{Leases: 10, Leaves: 4}, err: out},
		"until its context ends":                               {cancels: 3, want: backend.Swept{Leases: 30, Leaves: 12, More: true}, err: context.Canceled},
		"to the end, if nothing is left when its context ends": {cancels: 3, ends: 3, want: backend.Swept{Leases: 30, Leaves: 12}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tracker, store, _ := setUp(t, track.Config{})
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				store.sweep = func(context.Context) (backend.Swept, error) {
					calls := len(store.of("sweep"))
					if calls == tt.cancels {
						cancel()
					}
					if calls == tt.fails {
						return backend.Swept{}, out
					}
					swept := more
					swept.More = calls != tt.ends && calls < 100
					return swept, nil
				}
				if got, err := jobs.Sweep(ctx, tracker); !reflect.DeepEqual(got, tt.want) || !errors.Is(err, tt.err) {
					t.Errorf("got %+v and error %v, want %+v and %v", got, err, tt.want, tt.err)
				}
			})
		})
	}
}

func TestAgeAndTrimByHand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker, _, _ := setUp(t, track.Config{LastSeenKeep: time.Hour})
		tracker.Seen(presence.Site, presence.User{ID: "alice"}, presence.Device{})
		time.Sleep(5*time.Minute + time.Second)
		for _, want := range []int{1, 0} { // the second comes before its time
			if turned, err := tracker.Age(t.Context()); turned != want || err != nil {
				t.Errorf("got %d topics turned and error %v, want %d", turned, err, want)
			}
		}
		if _, err := jobs.Sweep(t.Context(), tracker); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		for _, want := range []int{1, 0} {
			if forgotten, err := tracker.Trim(t.Context()); forgotten != want || err != nil {
				t.Errorf("got %d forgotten and error %v, want %d", forgotten, err, want)
			}
		}
	})
}

// An outage is logged by the tracker: two lines, and none of a job. A job that cannot reach
// the store while the tracker can is logged after a while, and one that fails otherwise at
// once, also during an outage. A sweep asks the store every ten seconds at least.
func TestOutageIsLoggedOnce(t *testing.T) {
	out := presencetest.Fault{Err: fmt.Errorf("%w: connection refused", presence.ErrStoreOut)}
	for name, tt := range map[string]struct {
		fault presencetest.Fault
		calls []presencetest.Call
		lasts time.Duration
		want  []string
	}{
		"an outage":                  {out, nil, time.Minute, []string{"the store is out", "the store is back"}},
		"a short outage":             {out, nil, 2 * time.Second, []string{"the store is out", "the store is back"}},
		"hangs":                      {presencetest.Fault{Hang: true}, nil, time.Minute, []string{"the store is out", "the store is back"}},
		"sweeps alone for a moment":  {out, []presencetest.Call{presencetest.CallSweep}, 10 * time.Second, nil},
		"sweeps alone":               {out, []presencetest.Call{presencetest.CallSweep}, time.Minute, []string{"a job fails", "a job works again"}},
		"sweeps for another reason":  {presencetest.Fault{Err: errors.New("NOPERM")}, []presencetest.Call{presencetest.CallSweep}, 11 * time.Second, []string{"a job fails", "a job works again"}},
		"an outage, and a bad sweep": {out, []presencetest.Call{presencetest.CallApply, presencetest.CallCounts, presencetest.CallAge}, time.Minute, []string{"the store is out", "the store is back"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				faults, logs := presencetest.NewFaults(memstore.New()), new(logged)
				tracker, err := track.New(faults, track.Config{Logger: slog.New(slog.NewTextHandler(logs, nil))})
				if err != nil {
					t.Fatal(err)
				}
				defer tracker.Close(t.Context())
				start(t, tracker, jobs.Config{})
				time.Sleep(time.Minute)
				tracker.Seen(presence.Site, presence.User{ID: "alice"}, presence.Device{})
				_, _ = tracker.View(t.Context(), presence.Site)
				time.Sleep(time.Second)
				faults.Break(tt.fault, tt.calls...)
				for end := time.Now().Add(tt.lasts); time.Now().Before(end); time.Sleep(time.Second) {
					tracker.Seen(presence.Site, presence.User{ID: "alice"}, presence.Device{})
				}
				faults.Heal()
				time.Sleep(time.Minute)
				synctest.Wait()
				lines := strings.Split(strings.TrimSpace(logs.String()), "\n")
				if logs.Len() == 0 {
					lines = nil
				}
				ok := len(lines) == len(tt.want)
				for i := range lines {
					ok = ok && strings.Contains(lines[i], tt.want[i])
				}
				if !ok {
					t.Errorf("got\n%s\nwant lines with %q", logs, tt.want)
				}
			})
		})
	}
}
