package track

import (
	"sync"
	"time"

	"github.com/rollcall-go/rollcall/internal/wait"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// figureChanges has what polls said of the topics whose figures changed, until housekeeping asks for these figures.
type figureChanges struct {
	soon wait.Wakeup // a poll told of topics

	mu     sync.Mutex // taken with no other mutex held
	mark   string     // of the latest answer; empty: the store cannot tell, or has not been asked
	asked  time.Time  // when the latest poll began
	told   time.Time  // when a poll last told of a topic
	topics map[presence.Topic]bool
	lost   bool // the store can tell, and did not know the mark
}

func newFigureChanges() *figureChanges {
	return &figureChanges{soon: wait.NewWakeup(), topics: make(map[presence.Topic]bool)}
}

// asks notes that a poll begins, and returns the mark for it.
func (f *figureChanges) asks(now time.Time) (mark string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = now
	return f.mark
}

// heard takes the answer to a poll.
func (f *figureChanges) heard(c backend.Changes) {
	f.mu.Lock()
	defer f.mu.Unlock()
	lost := c.All && c.Mark != ""
	f.mark, f.lost = c.Mark, f.lost || lost
	if len(c.Topics) == 0 && !lost {
		return
	}
	f.told = time.Now()
	for _, t := range c.Topics {
		f.topics[t] = true
	}
	f.soon.Wake()
}

// tells reports whether the store tells which topics changed.
func (f *figureChanges) tells() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.mark != ""
}

// take returns the topics that changed since the last call. all says that every topic may have.
func (f *figureChanges) take() (changed map[presence.Topic]bool, all bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	changed, all = f.topics, f.lost
	f.topics, f.lost = make(map[presence.Topic]bool), false
	return changed, all
}

// since returns how long ago the latest poll began, and how long ago one told of a topic.
func (f *figureChanges) since() (asked, told time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return time.Since(f.asked), time.Since(f.told)
}
