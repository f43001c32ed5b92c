package main

import (
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A watcher is one connection that watches persons. It counts what comes, and parses as
// little of it as it can.
type watcher struct {
	conn net.Conn
	scan func([]byte) found
}

// A set is all watchers.
type set struct {
	watchers []*watcher
	got      atomic.Int64 // deliveries
	bytes    atomic.Int64
	last     atomic.Int64 // when the latest bytes came
	lost     atomic.Int64 // connections that the server ended
	answered atomic.Int64 // watchers to whom something came
	closing  atomic.Bool

	mu  sync.Mutex
	lag []time.Duration // of joins
}

const dialers = 8

// watch opens all watches, and returns when nothing more comes.
func watch(cfg config, s *process) (*set, error) {
	w := &set{watchers: make([]*watcher, cfg.Watchers)}
	errs := make(chan error, dialers)
	var wg sync.WaitGroup
	for d := range dialers {
		wg.Go(func() {
			for n := d; n < cfg.Watchers; n += dialers {
				opened, err := s.open(s.address, n, contacts(cfg, n))
				if err != nil {
					errs <- fmt.Errorf("watcher %d: %w", n, err)
					return
				}
				w.watchers[n] = opened
				go w.run(opened)
			}
		})
	}
	wg.Wait()
	select {
	case err := <-errs:
		w.close()
		return nil, err
	default:
	}
	w.settle(time.Second, time.Minute)
	return w, nil
}

// contacts returns whom a watcher watches.
func contacts(cfg config, watcher int) []int {
	persons := make([]int, cfg.Watched)
	for i := range persons {
		persons[i] = (watcher*7 + i) % cfg.Persons
	}
	return persons
}

// followers returns how many watchers watch each person.
func followers(cfg config) []int {
	n := make([]int, cfg.Persons)
	for w := range cfg.Watchers {
		for _, p := range contacts(cfg, w) {
			n[p]++
		}
	}
	return n
}

// settle waits until something came to each watcher, and nothing for a while.
func (s *set) settle(quiet, most time.Duration) {
	for end := time.Now().Add(most); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if int(s.answered.Load()) == len(s.watchers) && time.Since(time.Unix(0, s.last.Load())) > quiet {
			return
		}
	}
}

// run reads what comes to a watcher. What is cut off at the end of a read is looked at again
// with the next one.
func (s *set) run(w *watcher) {
	buf := make([]byte, 16<<10)
	kept := 0
	for first := true; ; first = false {
		n, err := w.conn.Read(buf[kept:])
		if err != nil {
			if !s.closing.Load() {
				s.lost.Add(1)
			}
			return
		}
		if first {
			s.answered.Add(1)
		}
		now := time.Now().UnixNano()
		s.last.Store(now)
		s.bytes.Add(int64(n))
		all := buf[:kept+n]
		found := w.scan(all)
		kept = copy(buf, all[found.read:])
		s.got.Add(int64(found.deliveries))
		if len(found.stamps) > 0 {
			s.mu.Lock()
			for _, at := range found.stamps {
				s.lag = append(s.lag, time.Duration(now-at))
			}
			s.mu.Unlock()
		}
	}
}

func (s *set) reset() {
	s.got.Store(0)
	s.mu.Lock()
	s.lag = s.lag[:0]
	s.mu.Unlock()
}

// lags returns the median and the 99th percentile.
func (s *set) lags() (p50, p99 time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.lag) == 0 {
		return 0, 0
	}
	slices.Sort(s.lag)
	return s.lag[len(s.lag)/2], s.lag[len(s.lag)*99/100]
}

func (s *set) close() {
	s.closing.Store(true)
	for _, w := range s.watchers {
		if w != nil {
			w.conn.Close()
		}
	}
}
