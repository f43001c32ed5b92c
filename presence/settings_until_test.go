package presence_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// endings are the users whose status ended, and when.
type endings struct {
	mu    sync.Mutex
	began time.Time
	lines []string
}

func (e *endings) add(user presence.UserID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.lines = append(e.lines, fmt.Sprintf("%s after %v", user, time.Since(e.began).Truncate(time.Second)))
}

func (e *endings) want(t *testing.T, want ...string) {
	t.Helper()
	synctest.Wait()
	e.mu.Lock()
	defer e.mu.Unlock()
	if !slices.Equal(e.lines, want) {
		t.Errorf("got %q, want %q", e.lines, want)
	}
	e.lines = nil
}

// Rule P7: a status with an end ends within a second of it, once, at the latest end that was
// noted. An end in the past is over at once.
func TestStatusesEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &endings{began: time.Now()}
		u := presence.NewUntils(e.add)
		defer u.Stop()
		in := func(d time.Duration) time.Time { return e.began.Add(d) }
		u.Set("hour", in(time.Hour))
		u.Set("minute", in(time.Minute)) // sooner than the one that is waited for
		u.Set("longer", in(time.Minute))
		u.Set("longer", in(2*time.Minute))
		u.Set("never", in(time.Minute))
		u.Set("never", time.Time{})
		u.Set("shorter", in(time.Hour))
		u.Set("shorter", in(3*time.Minute))
		time.Sleep(59 * time.Second)
		e.want(t)
		time.Sleep(2 * time.Second)
		e.want(t, "minute after 1m0s")
		time.Sleep(2 * time.Minute)
		e.want(t, "longer after 2m0s", "shorter after 3m0s")
		time.Sleep(time.Hour)
		e.want(t, "hour after 1h0m0s")
		u.Set("past", in(time.Minute))
		time.Sleep(2 * time.Second)
		e.want(t, "past after 1h3m2s")
		u.Set("again", in(2*time.Hour)) // after the goroutine has ended
		time.Sleep(time.Hour)
		e.want(t, "again after 2h0m0s")
	})
}

// A tracker that closes does not wait for the ends of statuses.
func TestStatusesDoNotEndAfterClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &endings{began: time.Now()}
		u := presence.NewUntils(e.add)
		u.Set("alice", e.began.Add(time.Minute))
		u.Stop()
		u.Set("bob", e.began.Add(time.Minute))
		time.Sleep(time.Hour)
		e.want(t)
	})
}
