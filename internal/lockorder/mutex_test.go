package lockorder

import (
	"sync"
	"testing"
)

func TestGoroutinesDiffer(t *testing.T) {
	mine, others := goroutine(), make(chan any)
	if again := goroutine(); again != mine {
		t.Fatalf("one goroutine is %v and then %v", mine, again)
	}
	for range 2 {
		go func() { others <- goroutine(); others <- goroutine() }()
	}
	seen := map[any]int{any(mine): 2}
	for range 4 {
		seen[<-others]++
	}
	for g, n := range seen {
		if n != 2 {
			t.Errorf("%v was said %d times, want twice: goroutines are mixed up", g, n)
		}
	}
}

// Each mutex may be taken after those of lesser levels, by as many goroutines as want to.
func TestInOrder(t *testing.T) {
	var one Mutex[[1]int]
	var two Mutex[[2]int]
	var eight Mutex[[8]int]
	sum := 0
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 1000 {
				one.Lock()
				two.Lock()
				one.Unlock() // in any order
				eight.Lock()
				sum++
				eight.Unlock()
				two.Unlock()
			}
		})
	}
	all.Wait()
	if sum != 8000 {
		t.Errorf("the mutexes let %d of 8000 through", sum)
	}
	held.Range(func(g, levels any) bool {
		t.Errorf("goroutine %v holds %v after all ended", g, levels)
		return true
	})
}

func TestOutOfOrder(t *testing.T) {
	var one Mutex[[1]int]
	var two, another Mutex[[2]int]
	for name, second := range map[string]sync.Locker{"an earlier level": &one, "the same level": &another} {
		func() {
			two.Lock()
			defer two.Unlock()
			defer func() {
				if recover() == nil {
					second.Unlock()
					t.Errorf("%s: no panic", name)
				}
			}()
			second.Lock()
		}()
	}
	one.Lock() // the goroutine holds nothing now
	defer one.Unlock()
	two.Lock()
	defer two.Unlock()
}
