package simtest_test

import (
	"context"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/track"
)

// quietTopics are so many that a node asks which topics changed, and not each topic for its figures.
const quietTopics = 70

// readMany lets a node follow topics in which nothing happens.
func (p *process) readMany(ctx context.Context) {
	for i := 0; i < quietTopics && ctx.Err() == nil; {
		topics := []presence.Topic{presence.Topic(fmt.Sprint("quiet:", i))}
		if _, err := p.tracker.Connect(ctx, track.ConnectOptions{Topics: topics, Observe: true}); err == nil {
			i++
		} else {
			time.Sleep(time.Second)
		}
	}
}

// A changeLog is what a server knows of topics whose figures changed. It compares the figures, where a Redis
// notes the topics that scripts wrote to.
type changeLog struct {
	mu   sync.Mutex
	era  int // changes if the store is wiped
	now  int
	last map[presence.Topic]backend.Counts
	at   map[presence.Topic]int
}

// lookLocked finds what changed since the last look.
func (c *changeLog) lookLocked(s *server) {
	ctx := context.Background()
	topics, _ := s.Store.Topics(ctx, "", 10_000)
	if c.last == nil {
		c.last, c.at = make(map[presence.Topic]backend.Counts), make(map[presence.Topic]int)
	}
	for t := range c.last {
		topics = append(topics, t)
	}
	counts, _ := s.Store.Counts(ctx, topics...)
	c.now++
	for i, t := range topics {
		if was, ok := c.last[t]; !ok || !reflect.DeepEqual(was, counts[i]) {
			c.last[t], c.at[t] = counts[i], c.now
		}
	}
}

// rewinds goes back with the store: nobody is told which topics lost something.
func (c *changeLog) rewinds(s *server, wiped bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	was := c.at
	c.last, c.at = nil, nil
	c.lookLocked(s)
	for t := range c.at {
		c.at[t] = was[t]
	}
	if wiped {
		c.era++
	}
}

// since returns what changed since a mark.
func (c *changeLog) since(s *server, mark string) backend.Changes {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lookLocked(s)
	told := backend.Changes{Mark: fmt.Sprint(c.era, " ", c.now)}
	era, since, _ := strings.Cut(mark, " ")
	at, err := strconv.Atoi(since)
	if told.All = err != nil || era != strconv.Itoa(c.era); told.All {
		return told
	}
	for t, when := range c.at {
		if when > at {
			told.Topics = append(told.Topics, t)
		}
	}
	return told
}

// Poll implements backend.Store. In every second game the store cannot tell what changed, like that of a cluster.
func (l *link) Poll(ctx context.Context, p backend.Poll) (backend.Polled, error) {
	return through(ctx, l, true, func(ctx context.Context) (backend.Polled, error) {
		l.reads()
		polled, err := l.server.Poll(ctx, p)
		if err == nil && (l.world.game.has(many) || l.world.game.seed%2 == 0) {
			polled.Changes = l.server.changes.since(l.server, p.Mark)
		}
		return polled, err
	})
}
