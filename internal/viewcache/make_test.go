package viewcache

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
)

// A crowd that asks for a value that nobody has made yet has it made once. A failure is not kept.
func TestMakeOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c Cache[string, string]
		v, calls, failure := view("site"), 0, errors.New("not now")
		may := make(chan error)
		crowd := func() (got []error) {
			var mu sync.Mutex
			var work sync.WaitGroup
			for range 50 {
				work.Go(func() {
					value, err := c.Make(v, "list", func() (string, int, error) {
						calls++ // by one of them
						err := <-may
						return "made", 4, err
					})
					mu.Lock()
					defer mu.Unlock()
					if got = append(got, err); err == nil && value != "made" {
						t.Errorf("got %q, want made", value)
					}
				})
			}
			synctest.Wait()
			may <- map[int]error{1: failure}[calls]
			work.Wait()
			return got
		}
		for i, want := range []error{failure, nil} {
			got := crowd()
			for _, err := range got {
				if err != want {
					t.Fatalf("got %v, want %v", err, want)
				}
			}
			if len(got) != 50 || calls != i+1 {
				t.Errorf("got %d answers of %d calls, want 50 of %d", len(got), calls, i+1)
			}
		}
		if value, err := c.Make(v, "list", nil); value != "made" || err != nil {
			t.Errorf("later: got %q and %v, want what is kept", value, err)
		}
	})
}

// A panic of one caller does not leave the others waiting.
func TestMakePanics(t *testing.T) {
	var c Cache[string, string]
	v := view("site")
	func() {
		defer func() { recover() }()
		c.Make(v, "list", func() (string, int, error) { panic("no") })
	}()
	if value, err := c.Make(v, "list", func() (string, int, error) { return "made", 4, nil }); value != "made" || err != nil {
		t.Errorf("got %q and %v, want the next call's value", value, err)
	}
}
