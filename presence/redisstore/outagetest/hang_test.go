package outagetest_test

import (
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/internal/redistest"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/redisstore"
)

// A server that accepts connections and never answers costs a bounded number of
// goroutines, and after a few calls no time; when it answers again, so does the
// store.
func TestHangingServer(t *testing.T) {
	const timeout, callers = time.Second, 1000
	server := redistest.StartTCP(t)
	store := redisstore.New(server.Client(), redisstore.Config{Timeout: timeout})
	defer store.Close()
	count := func() error {
		_, err := store.Counts(t.Context(), presence.Site)
		return err
	}
	noError(t, count())
	before := runtime.NumGoroutine()

	server.Freeze()
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			if err := count(); !errors.Is(err, presence.ErrStoreOut) {
				t.Errorf("got %v, want ErrStoreOut", err)
			}
		})
	}
	most := 0
	for end := time.Now().Add(timeout); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		most = max(most, runtime.NumGoroutine()-before-callers)
	}
	all.Wait()
	if most > 200 {
		t.Errorf("got %d goroutines beside the %d callers', want 64 calls' at most", most, callers)
	}

	began := time.Now()
	for i := range callers {
		if _ = count(); time.Since(began) > 3*timeout {
			t.Errorf("%d calls one after another took more than %v, want nearly all to fail at once", i+1, 3*timeout)
			break
		}
	}

	server.Thaw()
	for began = time.Now(); count() != nil; time.Sleep(10 * time.Millisecond) {
		if time.Since(began) > patience {
			t.Fatal("the server answers again, and the store does not")
		}
	}
	for range 100 {
		if err := count(); err != nil {
			t.Fatalf("after it was back: %v", err)
		}
	}
	for began = time.Now(); runtime.NumGoroutine() > before+10; time.Sleep(10 * time.Millisecond) {
		if time.Since(began) > patience {
			t.Fatalf("got %d goroutines long after, want about %d", runtime.NumGoroutine(), before)
		}
	}
}
