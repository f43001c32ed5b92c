package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rollcall-go/rollcall/bench/internal/usage"
	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/jobs"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/redisstore"
	"github.com/rollcall-go/rollcall/presence/track"
)

// A Node is a node of the fleet, as a process. Its methods are called over net/rpc.
type Node struct {
	plan     plan
	index    int
	commands counter
	tracker  *track.Tracker
	reader   *reader
	referee  *reader

	mu   sync.Mutex
	open []*held // the one who has been there for longest first
}

// A held is a connection in memory, and whose it is.
type held struct {
	user int
	conn *track.Connection
}

// Begin says what kind of node it is.
type Begin struct {
	Plan   plan
	Index  int
	Socket string // of Redis
	Listen string // where it serves real sockets; empty: nowhere
	Roster int    // of track.Config.MaxRoster
	Judge  bool   // it observes all threads, for Seen
}

// Begin makes the node, and returns where it listens.
func (n *Node) Begin(b Begin, addr *string) error {
	n.plan, n.index = b.Plan, b.Index
	client := redis.NewClient(&redis.Options{Network: "unix", Addr: b.Socket})
	client.AddHook(&n.commands)
	var err error
	n.tracker, err = track.New(redisstore.New(client, redisstore.Config{}), track.Config{
		Node: fmt.Sprint("n", b.Index), Secret: []byte("sixteen bytes 01"), MaxConnectionsPerUser: -1, MaxRoster: b.Roster,
	})
	if err != nil {
		return err
	}
	if _, err = jobs.Start(n.tracker, jobs.Config{}); err != nil {
		return err
	}
	n.reader, n.referee = newReader(n.index, false), newReader(n.index, true)
	if b.Judge {
		if err := n.judge(); err != nil {
			return err
		}
	}
	if b.Listen == "" {
		return nil
	}
	l, err := net.Listen("tcp4", b.Listen)
	if err != nil {
		return err
	}
	h := handlers.New(n.tracker, handlers.Config{
		MaxConnections: -1, MaxRate: -1,
		Authorize: func(*http.Request, presence.Visitor, presence.Topic) bool { return true },
	})
	go (&http.Server{Handler: h.Beats(identify(h)), ConnContext: handlers.ConnContext}).Serve(l)
	*addr = l.Addr().String()
	return nil
}

// identify is the site's login: the cookie says who it is.
func identify(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var v presence.Visitor
		if cookie, err := r.Cookie("user"); err == nil {
			v.User = presence.User{ID: presence.UserID(cookie.Value), Name: r.URL.Query().Get("name")}
		}
		next.ServeHTTP(w, r.WithContext(presence.ContextWithVisitor(r.Context(), v)))
	})
}

// judge opens a connection that observes each thread.
func (n *Node) judge() error {
	return paced(n.plan.Threads, 0, func(i int) error {
		c, err := n.connect(track.ConnectOptions{Observe: true, Topics: []presence.Topic{presence.Topic(fmt.Sprint("thread:", i))}})
		if err == nil {
			n.referee.add(c)
		}
		return err
	})
}

func (n *Node) connect(o track.ConnectOptions) (*track.Connection, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	o.Limit = 1
	return n.tracker.Connect(ctx, o)
}

func (n *Node) come(user int) error {
	c, err := n.connect(track.ConnectOptions{
		Visitor: presence.Visitor{User: presence.User{ID: presence.UserID(userID(user)), Name: stamp(time.Now(), n.index)}},
		Topics:  n.plan.topics(user),
	})
	if err != nil {
		return fmt.Errorf("user %d: %w", user, err)
	}
	n.reader.add(c)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.open = append(n.open, &held{user, c})
	return nil
}

// Open lets users come, with connections in memory.
func (n *Node) Open(o Open, _ *struct{}) error {
	return paced(len(o.Users), o.Within, func(i int) error { return n.come(o.Users[i]) })
}

// Churn lets users come and go.
func (n *Node) Churn(c Churn, done *Churned) error {
	var mu sync.Mutex
	return paced(int(c.Rate*c.For.Seconds()), c.For, func(i int) error {
		n.mu.Lock()
		first := n.open[0]
		n.open = n.open[1:]
		n.mu.Unlock()
		first.conn.Close()
		begin := time.Now()
		user := c.First + i*c.Step
		err := n.come(user)
		mu.Lock()
		defer mu.Unlock()
		done.Went, done.Came = append(done.Went, first.user), append(done.Came, user)
		done.Slowest = max(done.Slowest, time.Since(begin))
		return err
	})
}

// Held returns who is here.
func (n *Node) Held(_ struct{}, users *[]int) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, h := range n.open {
		*users = append(*users, h.user)
	}
	return nil
}

// A Saying is what all pages of a user here say with a beat.
type Saying struct {
	User int
	Idle bool
}

// Say lets the pages of a user beat.
func (n *Node) Say(s Saying, _ *struct{}) error {
	for _, h := range n.of(s.User) {
		if _, err := n.tracker.Beat(context.Background(), h.conn.Token(), presence.Visitor{}, track.Page{Idle: &s.Idle}); err != nil {
			return err
		}
	}
	return nil
}

// Close lets users go who are here.
func (n *Node) Close(users []int, _ *struct{}) error {
	for _, user := range users {
		for _, h := range n.of(user) {
			h.conn.Close()
		}
		n.mu.Lock()
		n.open = slices.DeleteFunc(n.open, func(h *held) bool { return h.user == user })
		n.mu.Unlock()
	}
	return nil
}

func (n *Node) of(user int) (all []*held) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, h := range n.open {
		if h.user == user {
			all = append(all, h)
		}
	}
	return all
}

// Seen returns what the node saw of users of all threads, and begins anew where asked.
func (n *Node) Seen(reset bool, s *Sight) error {
	*s = n.referee.seen(reset)
	return nil
}

// Heard returns what the connections in memory got, and begins anew where asked.
func (n *Node) Heard(reset bool, h *Sight) error {
	*h = n.reader.seen(reset)
	return nil
}

// Usage returns what the process used. Its Stats have the commands that it sent to Redis.
func (n *Node) Usage(collect bool, u *usage.Usage) (err error) {
	*u, err = usage.Now(collect)
	u.Stats = map[string]float64{"commands": float64(n.commands.n.Load())}
	return err
}
