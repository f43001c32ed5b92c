package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// A stage is where one scenario is played against one peer: the fleet, the page that is judged
// and what is true.
type stage struct {
	config
	ctx    context.Context
	cancel context.CancelFunc
	peer   *peer
	fleet  fleet
	bus    *bus
	dir    string
	chance *rand.Rand // from the names of the row and the scenario, and the run
	begin  time.Time

	truth, page, roster *record
	watcher             *proxy // before the page that is judged
	visits, loops       sync.WaitGroup

	mu       sync.Mutex
	tabs     map[string]int
	up       [4]bool
	failures []time.Duration // since begin; each begins a part of the verdict
	unanswer int             // times that the roster was not answered
	asking   atomic.Bool     // while the roster is read
	extra    map[string]float64
}

// watched is the node of the page that is judged.
const watched = 2

// setStage starts two nodes and the page that is judged.
func setStage(ctx context.Context, c config, p *peer, seed string) (*stage, error) {
	s := &stage{config: c, peer: p, chance: rand.New(rand.NewChaCha8(sha256.Sum256([]byte(seed)))), tabs: map[string]int{}, extra: map[string]float64{}}
	s.ctx, s.cancel = context.WithCancel(ctx)
	if err := s.set(); err != nil {
		s.strike()
		return nil, err
	}
	return s, nil
}

func (s *stage) set() (err error) {
	if s.dir, err = os.MkdirTemp("", "peers"); err != nil {
		return err
	}
	in := place{config: s.config, dir: s.dir}
	if !slices.Contains(s.peer.without, aRedis) {
		if s.bus, err = startBus(s.ctx); err != nil {
			return err
		}
		in.redis = s.bus.addr()
	}
	if s.fleet, err = s.peer.prepare(s.ctx, in); err != nil {
		return err
	}
	for _, node := range []int{1, watched} {
		if err := s.start(node); err != nil {
			return err
		}
	}
	s.begin = time.Now()
	s.truth, s.page, s.roster = newRecord(s.begin), newRecord(s.begin), newRecord(s.begin)
	if s.watcher, err = newProxy("tcp", s.fleet.addr(watched)); err != nil {
		return err
	}
	opening, cancel := context.WithTimeout(s.ctx, openTime)
	defer cancel()
	if _, err := s.fleet.watch(opening, s.watcher.address(), s.page.apply); err != nil {
		return fmt.Errorf("open the page that is judged: %w", err)
	}
	s.asking.Store(true)
	s.loops.Go(s.readRosters)
	return nil
}

// rosterEvery is how often the roster is read.
const rosterEvery = 500 * time.Millisecond

// readRosters asks the watched node again and again. While it does not answer, its last answer counts.
func (s *stage) readRosters() {
	for pause(s.ctx, rosterEvery) {
		if !s.asking.Load() {
			continue
		}
		users, err := s.ask(watched)
		switch {
		case err == nil:
			s.roster.apply(change{All: true, Joins: users})
		case s.ctx.Err() == nil:
			s.mu.Lock()
			s.unanswer++
			s.mu.Unlock()
		}
	}
}

func (s *stage) ask(node int) ([]string, error) {
	ctx, cancel := context.WithTimeout(s.ctx, 5*time.Second)
	defer cancel()
	return s.fleet.roster(ctx, node)
}

// strike ends everything.
func (s *stage) strike() {
	s.cancel()
	s.loops.Wait()
	s.visits.Wait()
	if s.fleet != nil {
		s.fleet.close()
	}
	if s.watcher != nil {
		s.watcher.close()
	}
	if s.bus != nil {
		s.bus.close()
	}
	os.RemoveAll(s.dir)
}

func (s *stage) start(node int) error {
	err := s.fleet.start(s.ctx, node)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.up[node] = err == nil
	return err
}

func (s *stage) kill(node int) {
	s.down(node)
	s.fleet.kill(node)
}

func (s *stage) stop(node int) error {
	s.down(node)
	return s.fleet.stop(node)
}

func (s *stage) down(node int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.up[node] = false
}

// balance returns the node that a page gets: its own, if that is up.
func (s *stage) balance(node int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.up[node] {
		return node
	}
	return watched
}

// present counts the pages that a user looks at. With the first one the user is there.
func (s *stage) present(user string, pages int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.tabs[user]
	s.tabs[user] += pages
	switch {
	case before == 0:
		s.truth.apply(change{Joins: []string{user}})
	case s.tabs[user] == 0:
		s.truth.apply(change{Leaves: []string{user}})
	}
}

// crowd lets users come to a node, a few at a time, and waits until all are connected and shown.
func (s *stage) crowd(prefix string, n, node int) ([]*visit, error) {
	var all []*visit
	for i := range n {
		all = append(all, s.come(prefix+strconv.Itoa(i), node))
		if i%5 == 4 {
			pause(s.ctx, 50*time.Millisecond)
		}
	}
	return all, s.connected(all)
}

// connectTime is how long pages may take to connect when nothing has failed.
const connectTime = 30 * time.Second

func (s *stage) connected(all []*visit) error { return s.connectedWithin(connectTime, all) }

func (s *stage) connectedWithin(d time.Duration, all []*visit) error {
	late := time.After(d)
	for _, v := range all {
		select {
		case <-v.in:
		case <-late:
			return fmt.Errorf("not all pages were connected within %.0f s", d.Seconds())
		case <-s.ctx.Done():
			return s.ctx.Err()
		}
	}
	return nil
}

// assemble waits until the page shows all users, and then a while longer. A random part of the row's
// longest renewal is added, so that a failure has no fixed place in it.
func (s *stage) assemble(rest time.Duration) error {
	for begin := time.Now(); s.page.size() != s.truth.size(); {
		if time.Since(begin) > connectTime+s.peer.slowest {
			return fmt.Errorf("the page shows %d of %d users before anything has failed", s.page.size(), s.truth.size())
		}
		if !pause(s.ctx, 50*time.Millisecond) {
			return s.ctx.Err()
		}
	}
	phase := time.Duration(s.chance.Float64() * float64(s.peer.renewal))
	s.note("phase s", phase.Seconds())
	s.wait(rest + phase)
	return s.ctx.Err()
}

func (s *stage) wait(d time.Duration) { pause(s.ctx, d) }

// fails says that a failure is now, or something else from which time counts anew.
func (s *stage) fails() {
	now := time.Since(s.begin)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failures = append(s.failures, now)
}

// right reports whether the page and the roster show who is there.
func (s *stage) right() bool {
	return s.truth.same(s.page) && s.truth.same(s.roster)
}

// see watches what comes after the last failure, for as long as anything may come: what a
// scenario wants, or longer where the peer is slow. A scenario that is over once all is right
// gives a time for which it must stay so.
func (s *stage) see(least, quiet time.Duration) {
	most := max(least, s.peer.longest())
	if s.Watch > 0 {
		most = s.Watch
	}
	if s.Quick {
		quiet = 2 * time.Second
	}
	end := time.Now().Add(most)
	since := time.Now()
	for time.Now().Before(end) && pause(s.ctx, 250*time.Millisecond) {
		if quiet == 0 {
			continue
		}
		if !s.right() {
			since = time.Now()
		}
		if time.Since(since) >= quiet {
			return
		}
	}
}

// longest is how long a leave may take, with some room.
func (p *peer) longest() time.Duration {
	if p.slowest == 0 {
		return time.Minute
	}
	return p.slowest + p.slowest/4 + 5*time.Second
}
