package clustertest_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/deliver"
	"github.com/rollcall-go/rollcall/presence/redisstore"
	"github.com/rollcall-go/rollcall/presence/redisstore/internal/storetest"
	"github.com/rollcall-go/rollcall/presence/track"
)

// A program is told of all threads, which stand in several slots, by two nodes one after the
// other, and after the store lost its data.
func TestDeliverKind(t *testing.T) {
	t.Parallel()
	for _, kind := range []storetest.ServerKind{storetest.Standalone, storetest.Cluster} {
		t.Run(kind.Name, func(t *testing.T) {
			t.Parallel()
			client := kind.Start(t)
			p := &program{t: t, of: make(map[string][]string)}
			a, b := p.node(client, "a"), p.node(client, "b")
			enter(t, b, "early", "thread:0")
			stop := p.deliver(a)
			p.wants("the consumer is new", "thread:0 early: +")
			p.deliver(b)

			stays := make(map[int]*track.Connection)
			for i := range 20 {
				topic := presence.Topic(fmt.Sprint("thread:", i))
				stays[i] = enter(t, b, "stays", topic)
				enter(t, a, "brief", topic).Drop()
			}
			for i := range 20 {
				p.wants("the topics began", fmt.Sprintf("thread:%d stays: +", i), fmt.Sprintf("thread:%d brief: + -", i))
			}
			stop() // b goes on
			enter(t, b, "brief", "thread:after").Drop()
			p.wants("another node goes on", "thread:after brief: + -")

			flush(t, client)
			stays[3].Drop() // nobody restores it
			enter(t, b, "late", "thread:late")
			p.wants("the data was lost", "thread:* : !", "thread:3 : !", "thread:3 stays: + -", "thread:late late: +")
			stays[4].Drop()
			p.wants("all goes on", "thread:4 stays: + -")
			p.mu.Lock()
			defer p.mu.Unlock()
			for who, lines := range p.of {
				if strings.HasSuffix(who, " stays") && who != "thread:3 stays" && who != "thread:4 stays" && len(lines) != 1 {
					t.Errorf("%s: got %q, want one join of who stayed", who, lines)
				}
			}
		})
	}
}

// A program is what a consumer was told of each topic and user.
type program struct {
	t  *testing.T
	mu sync.Mutex
	of map[string][]string
}

func (p *program) node(client redis.UniversalClient, name string) *track.Tracker {
	store := redisstore.New(client, redisstore.Config{Timeout: 5 * time.Second})
	tracker, err := track.New(store, track.Config{Node: name, TTL: 6 * time.Second, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		p.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var sweeps sync.WaitGroup
	sweeps.Go(func() {
		for ; ctx.Err() == nil; time.Sleep(200 * time.Millisecond) {
			_, _ = tracker.Sweep(ctx)
		}
	})
	p.t.Cleanup(func() {
		cancel()
		sweeps.Wait()
		_ = tracker.Close(context.Background())
		store.Close()
	})
	return tracker
}

func (p *program) deliver(tracker *track.Tracker) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		err := tracker.Deliver(ctx, "program", []presence.Topic{deliver.AllOf("thread")}, deliver.Options{}, func(_ context.Context, d deliver.Event) error {
			p.mu.Lock()
			defer p.mu.Unlock()
			sign := map[deliver.EventType]string{deliver.Join: "+", deliver.Leave: "-", deliver.Gap: "!"}[d.Type]
			who := string(d.Topic) + " " + string(d.User.ID)
			p.of[who] = append(p.of[who], sign)
			return nil
		})
		if !errors.Is(err, context.Canceled) && !errors.Is(err, presence.ErrClosed) {
			p.t.Errorf("Deliver: got %v", err)
		}
	}()
	stop = sync.OnceFunc(func() { cancel(); <-ended })
	p.t.Cleanup(stop)
	return stop
}

// wants waits until the program was told all of each line: a topic, a user, and what happened.
func (p *program) wants(when string, lines ...string) {
	p.t.Helper()
	for _, line := range lines {
		who, want, _ := strings.Cut(line, ": ")
		got := ""
		for end := time.Now().Add(storetest.Patience); got != want; time.Sleep(20 * time.Millisecond) {
			if time.Now().After(end) {
				p.t.Fatalf("%s: %s: got %q, want %q", when, who, got, want)
			}
			p.mu.Lock()
			got = strings.Join(p.of[who], " ")
			p.mu.Unlock()
		}
	}
}

func enter(t *testing.T, tracker *track.Tracker, user presence.UserID, topic presence.Topic) *track.Connection {
	t.Helper()
	v := presence.Visitor{User: presence.User{ID: user, Name: string(user)}}
	conn, err := tracker.Connect(t.Context(), track.ConnectOptions{Visitor: v, Topics: []presence.Topic{topic}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	return conn
}

// flush wipes all servers.
func flush(t *testing.T, client redis.UniversalClient) {
	t.Helper()
	wipe := func(ctx context.Context, c *redis.Client) error { return c.FlushAll(ctx).Err() }
	var err error
	switch c := client.(type) {
	case *redis.ClusterClient:
		err = c.ForEachMaster(t.Context(), wipe)
	case *redis.Client:
		err = wipe(t.Context(), c)
	}
	if err != nil {
		t.Fatal(err)
	}
}
