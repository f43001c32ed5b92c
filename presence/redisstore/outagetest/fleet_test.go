package outagetest_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/redisstore"
	"github.com/rollcall-go/rollcall/presence/track"
)

// A fleet is two nodes over one Redis, in real time: each sweeps and ages, and
// has a reader that follows the site.
type fleet struct {
	t     *testing.T
	nodes [2]*node
}

// A node is one process's part, as it would be in a process of its own.
type node struct {
	*track.Tracker
	store  *redisstore.Store
	reader *reader
}

// fleetTTL leaves a slow machine time for its heartbeats.
const (
	fleetTTL     = 4 * time.Second
	fleetGrace   = 200 * time.Millisecond
	fleetTimeout = 500 * time.Millisecond // of a call
)

// newFleet makes a fleet, a client a node, that ends with the test.
func newFleet(t *testing.T, client func() redis.UniversalClient) *fleet {
	return newFleetFor(t, fleetTTL, client)
}

// newFleetFor is newFleet with another TTL.
func newFleetFor(t *testing.T, ttl time.Duration, client func() redis.UniversalClient) *fleet {
	f := &fleet{t: t}
	for i := range f.nodes {
		f.nodes[i] = newNode(t, client(), fmt.Sprint("n", i), ttl)
	}
	return f
}

func newNode(t *testing.T, client redis.UniversalClient, name string, ttl time.Duration) *node {
	t.Helper()
	store := redisstore.New(client, redisstore.Config{Timeout: fleetTimeout})
	tracker, err := track.New(store, track.Config{
		Node: name, TTL: ttl, Grace: fleetGrace, Age: 10 * time.Minute, Logger: slog.New(slog.DiscardHandler),
	})
	noError(t, err)
	n := &node{Tracker: tracker, store: store, reader: &reader{roster: map[presence.UserID]bool{}, left: map[presence.UserID]int{}}}
	ctx, cancel := context.WithCancel(context.Background())
	var jobs sync.WaitGroup
	jobs.Go(func() { n.reader.follow(ctx, tracker) })
	jobs.Go(func() { n.followMany(ctx) })
	jobs.Go(func() {
		for ; ctx.Err() == nil; time.Sleep(100 * time.Millisecond) {
			_, _ = tracker.Sweep(ctx)
			_, _ = tracker.Age(ctx)
		}
	})
	t.Cleanup(func() {
		cancel()
		jobs.Wait()
		closing, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := tracker.Close(closing); err != nil {
			t.Errorf("%s: Close: %v", name, err)
		}
		store.Close()
	})
	return n
}

// followMany opens pages of so many topics that the node asks the store which of them changed, and not for the
// figures of each.
func (n *node) followMany(ctx context.Context) {
	for i := 0; i < 70 && ctx.Err() == nil; {
		topics := []presence.Topic{presence.Topic(fmt.Sprint("quiet:", i))}
		if _, err := n.Connect(ctx, track.ConnectOptions{Topics: topics, Observe: true}); err == nil {
			i++
		} else {
			time.Sleep(50 * time.Millisecond)
		}
	}
}

// open opens a page of a user on a node, which stays until the test ends or the
// page is closed. It tries again, as a page does, while a node is not ready.
func (f *fleet) open(n *node, id presence.UserID) *track.Connection {
	f.t.Helper()
	open := func() (*track.Connection, error) {
		return n.Connect(f.t.Context(), track.ConnectOptions{
			Topics: []presence.Topic{presence.Site}, Visitor: presence.Visitor{User: presence.User{ID: id}},
		})
	}
	c, err := open()
	for end := time.Now().Add(patience); errors.Is(err, presence.ErrStoreOut) && time.Now().Before(end); c, err = open() {
		time.Sleep(50 * time.Millisecond)
	}
	if err != nil {
		f.t.Fatalf("%s: %v", id, err)
	}
	f.t.Cleanup(c.Close)
	return c
}

// wants waits until the store, and both readers, have exactly these users.
func (f *fleet) wants(users ...presence.UserID) {
	f.t.Helper()
	slices.Sort(users)
	var got string
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		snap, err := f.nodes[0].store.Snapshot(f.t.Context(), presence.Site)
		var stored []presence.UserID
		for _, m := range snap.Members {
			stored = append(stored, m.ID)
		}
		slices.Sort(stored)
		a, b := f.nodes[0].reader.users(), f.nodes[1].reader.users()
		got = fmt.Sprintf("the store has %v (%v), the readers %v and %v", stored, err, a, b)
		if err == nil && slices.Equal(stored, users) && slices.Equal(a, users) && slices.Equal(b, users) {
			return
		}
	}
	f.t.Fatalf("after %v %s, want %v", patience, got, users)
}

// stayed fails the test where a reader saw one of these users leave, or saw what
// cannot be.
func (f *fleet) stayed(users ...presence.UserID) {
	f.t.Helper()
	for i, n := range f.nodes {
		n.reader.mu.Lock()
		for _, u := range users {
			if left := n.reader.left[u]; left > 0 {
				f.t.Errorf("the reader of node %d saw %s leave %d times, who stayed", i, u, left)
			}
		}
		if len(n.reader.wrong) > 0 {
			f.t.Errorf("the reader of node %d saw %s", i, strings.Join(n.reader.wrong, "; "))
		}
		n.reader.mu.Unlock()
	}
}

// A reader is what somebody makes of a topic's changes.
type reader struct {
	mu     sync.Mutex
	roster map[presence.UserID]bool
	left   map[presence.UserID]int // how often it saw a user go, by a diff or a state
	wrong  []string
}

func (r *reader) follow(ctx context.Context, tracker *track.Tracker) {
	for ctx.Err() == nil {
		for change, err := range tracker.Changes(ctx, presence.Site, "") {
			if err != nil {
				break
			}
			r.take(change)
		}
	}
}

func (r *reader) take(c track.Change) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c.State {
		there := make(map[presence.UserID]bool)
		for _, m := range c.Joins {
			there[m.ID] = true
		}
		for u := range r.roster {
			if !there[u] {
				r.left[u]++
			}
		}
		r.roster = there
	}
	for _, m := range c.Joins {
		r.roster[m.ID] = true
	}
	for _, l := range c.Leaves {
		if !r.roster[l.ID] {
			r.wrong = append(r.wrong, fmt.Sprintf("%s leave, who was not there", l.ID))
		}
		delete(r.roster, l.ID)
		r.left[l.ID]++
	}
	if len(r.roster) != c.Total {
		r.wrong = append(r.wrong, fmt.Sprintf("a total of %d with %d there", c.Total, len(r.roster)))
	}
}

func (r *reader) users() []presence.UserID {
	r.mu.Lock()
	defer r.mu.Unlock()
	users := make([]presence.UserID, 0, len(r.roster))
	for u := range r.roster {
		users = append(users, u)
	}
	slices.Sort(users)
	return users
}
