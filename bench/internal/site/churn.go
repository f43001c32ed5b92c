package site

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rollcall-go/rollcall/bench/internal/diff"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/track"
)

// A Churn is users who come and go, each for a while, to each topic in turn. Each
// is there again a while after it left.
type Churn struct {
	Rate float64 // who come a second; as many go
	For  time.Duration
	Stay time.Duration // with the page open; then comes the grace
}

// A Churned is what happened: the changes of each topic, and the sum of their
// users' numbers.
type Churned struct {
	Changes []int
	Sums    []uint64
	Refused int           // who could not come
	Slowest time.Duration // of those who connected
	Begin   time.Time
}

// returning is how many users a churn has. It divides by the number of topics, so
// that each comes back to the same one, and is so large that each was gone.
const returning = 18_000

// Churn lets users come and go, and returns when the last has gone.
func (s *Site) Churn(c Churn, done *Churned) error {
	*done = Churned{Changes: make([]int, len(s.topics)), Sums: make([]uint64, len(s.topics)), Begin: time.Now()}
	var present sync.WaitGroup
	var refused, slowest atomic.Int64
	for i := range int(c.Rate * c.For.Seconds()) {
		time.Sleep(time.Until(done.Begin.Add(time.Duration(float64(i) / c.Rate * float64(time.Second)))))
		topic := i % len(s.topics)
		done.Changes[topic] += 2
		user := i % returning
		done.Sums[topic] += 2 * uint64(user)
		present.Go(func() {
			begin := time.Now()
			u := presence.User{ID: presence.UserID(diff.ID(user)), Name: diff.Name(begin)}
			conn, err := s.tracker.Connect(context.Background(), track.ConnectOptions{
				Visitor: presence.Visitor{User: u}, Topics: []presence.Topic{s.topics[topic]},
			})
			if err != nil {
				refused.Add(1)
				return
			}
			for took := int64(time.Since(begin)); took > slowest.Load(); {
				slowest.Store(took)
			}
			time.Sleep(c.Stay)
			conn.Close()
		})
	}
	present.Wait()
	done.Refused, done.Slowest = int(refused.Load()), time.Duration(slowest.Load())
	return s.empty(30 * time.Second)
}

// empty waits until nobody is online any more.
func (s *Site) empty(most time.Duration) error {
	for end := time.Now().Add(most); ; time.Sleep(100 * time.Millisecond) {
		busy := slices.IndexFunc(s.topics, func(t presence.Topic) bool {
			v, err := s.tracker.View(context.Background(), t)
			return err != nil || v.Total > 0
		})
		if busy < 0 {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("somebody is still in %s", s.topics[busy])
		}
	}
}
