package redisstore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rollcall-go/rollcall/internal/redistest"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/redisstore"
	"github.com/rollcall-go/rollcall/presence/redisstore/internal/storetest"
)

// heard is the broadcasts that a watcher has heard.
type heard struct {
	mu  sync.Mutex
	all []string
}

func (h *heard) take(data []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, string(data))
}

func (h *heard) got() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.all)
}

// hear watches the broadcasts of a topic until the test ends.
func hear(t *testing.T, store *redisstore.Store, topic presence.Topic) (h *heard, stop func()) {
	t.Helper()
	h = new(heard)
	stop, err := store.Watch(t.Context(), topic, backend.Watcher{Broadcast: h.take})
	noError(t, err)
	stop = sync.OnceFunc(stop)
	t.Cleanup(stop)
	return h, stop
}

func say(t *testing.T, store *redisstore.Store, data ...string) {
	t.Helper()
	var all []backend.Broadcast
	for _, d := range data {
		all = append(all, backend.Broadcast{Topic: presence.Site, Data: []byte(d)})
	}
	noError(t, store.Send(t.Context(), all...))
}

// until waits until ok returns true.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited too long until %s", what)
		}
	}
}

// Broadcasts need no subscription beside that of diffs, in whatever order the two come and go.
func TestBroadcastsShareTheSubscription(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client, store := server.Client(), storetest.New(t, server)
	watch := func() (stop func()) {
		stop, err := store.Watch(t.Context(), presence.Site, backend.Watcher{Diff: func(backend.Diff) {}})
		noError(t, err)
		return stop
	}
	channels := func() int { return len(client.PubSubChannels(t.Context(), "*").Val()) }

	stopDiffs := watch()
	box, stop := hear(t, store, presence.Site)
	_, stopAnother := hear(t, store, presence.Site)
	say(t, store, "!1 one")
	until(t, "one is heard", func() bool { return len(box.got()) == 1 })
	stats := client.Info(t.Context(), "commandstats").Val() + client.Info(t.Context(), "clients").Val()
	if !strings.Contains(stats, "cmdstat_subscribe:calls=1,") || !strings.Contains(stats, "pubsub_clients:1\r") && !strings.Contains(client.ClientList(t.Context()).Val(), "sub=1") {
		t.Errorf("got %s, want one SUBSCRIBE on one connection", stats)
	}
	stopDiffs()
	stopAnother()
	say(t, store, "!1 two")
	until(t, "two is heard", func() bool { return len(box.got()) == 2 })
	stopDiffs = watch()
	stop()
	if got := channels(); got != 1 {
		t.Errorf("got %d channels with a watcher of diffs, want 1", got)
	}
	stopDiffs()
	until(t, "no channel is left", func() bool { return channels() == 0 })
	if got := store.Stats().Invalid; got != 0 {
		t.Errorf("got %d invalid messages, want none: a broadcast is no diff, and a diff no broadcast", got)
	}
}

// Whatever is published on a channel, the store goes on. It gives broadcasts on as they are, also
// those of a later version, and counts the rest.
func TestGarbageOnAChannel(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client, store := server.Client(), storetest.New(t, server)
	diffs := storetest.Watch(t, store)
	box, _ := hear(t, store, presence.Site)
	diffs("before")
	channel := client.PubSubChannels(t.Context(), "presence:{site}:diffs:*").Val()[0]
	huge := strings.Repeat("x", 10<<20)
	had := store.Stats().Invalid
	var want []string
	invalid := had
	for _, message := range []string{
		"!", "!2{}", "!1", "!1{\"signals\":[", "!1{\"signals\":[]}", "!\xff\xfe\x00", "!" + huge,
		"", " !1{}", "1!", "{}", "\xff!\xed\xa0\x80", "\x00", "1", "1 ", "1 !1 2-2 0 0", huge, "!\n", "\n!",
	} {
		noError(t, client.Publish(t.Context(), channel, message).Err())
		if strings.HasPrefix(message, "!") {
			want = append(want, message)
		} else {
			invalid++
		}
	}
	say(t, store, "!1 last")
	want = append(want, "!1 last")
	until(t, "the last is heard", func() bool { return len(box.got()) >= len(want) })
	if got := box.got(); !slices.Equal(got, want) {
		t.Errorf("heard %.40q, want %.40q", got, want)
	}
	until(t, "the rest is counted", func() bool { return store.Stats().Invalid >= invalid })
	if got := store.Stats().Invalid; got != invalid {
		t.Errorf("got %d invalid messages, want %d", got-had, invalid-had)
	}
	diffs("after")
}

// roundTrips counts pipelines, and single commands as one each.
type roundTrips struct{ atomic.Int64 }

func (r *roundTrips) DialHook(next redis.DialHook) redis.DialHook { return next }

func (r *roundTrips) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		r.Add(1)
		return next(ctx, cmd)
	}
}

func (r *roundTrips) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		r.Add(1)
		return next(ctx, cmds)
	}
}

// A Send costs one round trip and one PUBLISH for each broadcast. It writes no key and runs no
// script. BenchmarkCost says what that takes.
func TestCostOfSend(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client, admin, trips := server.Client(), server.Client(), new(roundTrips)
	client.AddHook(trips)
	store := redisstore.New(client, redisstore.Config{Timeout: patience})
	defer store.Close()
	say(t, store, "!1") // the first call asks for the keyspace
	var all []backend.Broadcast
	for i := range 50 {
		all = append(all, backend.Broadcast{Topic: presence.Topic(fmt.Sprint("thread:", i%20)), Data: []byte("!1")})
	}
	keys := admin.DBSize(t.Context()).Val()
	admin.ConfigResetStat(t.Context())
	trips.Store(0)
	noError(t, store.Send(t.Context(), all...))
	var commands []string
	for line := range strings.Lines(admin.Info(t.Context(), "commandstats").Val()) {
		if name, rest, ok := strings.Cut(strings.TrimSpace(line), ":"); ok && name != "cmdstat_config|resetstat" && name != "cmdstat_config" {
			calls, _, _ := strings.Cut(rest, ",")
			commands = append(commands, name+" "+calls)
		}
	}
	if want := []string{"cmdstat_publish calls=50"}; !slices.Equal(commands, want) || trips.Load() != 1 {
		t.Errorf("got commands %q in %d round trips, want %q in one", commands, trips.Load(), want)
	}
	if got := admin.DBSize(t.Context()).Val(); got != keys {
		t.Errorf("got %d keys, want %d as before", got, keys)
	}
}

// While the store is out a Send costs nothing after a few calls: no command and no time. When it
// is back the next one arrives.
func TestSendInAnOutage(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	store := redisstore.New(server.Client(), redisstore.Config{Timeout: patience, MaxFailures: 2})
	defer store.Close()
	box, _ := hear(t, store, presence.Site)
	say(t, store, "!1 before")
	server.Kill()
	send := func() error {
		return store.Send(t.Context(), backend.Broadcast{Topic: presence.Site, Data: []byte("!1 back")})
	}
	for i := range 4 {
		if err := send(); !errors.Is(err, presence.ErrStoreOut) {
			t.Errorf("call %d: got %v, want ErrStoreOut", i+1, err)
		}
	}
	if got := store.Stats(); !got.BreakerOpen || got.Refused == 0 {
		t.Errorf("after four calls of a dead server: got %+v, want an open breaker that refused some", got)
	}
	server.Run()
	until(t, "a broadcast is heard again", func() bool { _ = send(); return len(box.got()) > 1 })
}

// Where the keyspace gets another id, the watchers of broadcasts move to its channels.
func TestBroadcastsAfterAWipe(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client, a, b := server.Client(), storetest.New(t, server), storetest.New(t, server)
	for _, s := range []*redisstore.Store{a, b} { // the log of notices is where a node learns of it
		stop, err := s.Listen(t.Context(), func(backend.Notice) {})
		noError(t, err)
		t.Cleanup(stop)
		polls(t, s)
	}
	box, stop := hear(t, b, presence.Site)
	say(t, a, "!1 before")
	until(t, "a broadcast is heard", func() bool { return len(box.got()) == 1 })
	client.FlushAll(t.Context())
	client.HSet(t.Context(), "presence:{~index}:fleet", "id", "another", "schema", 1, "reader", 1, "secret", "another secret")
	channels := func() []string { return client.PubSubChannels(t.Context(), "presence:{site}:diffs:*").Val() }
	until(t, "the watcher has moved", func() bool { return slices.Equal(channels(), []string{"presence:{site}:diffs:another.0"}) })
	until(t, "a broadcast is heard again", func() bool { say(t, a, "!1 after"); return len(box.got()) > 1 })
	stop()
	until(t, "no channel is left", func() bool { return len(channels()) == 0 })
}

// An answerLost is a connection that breaks once after a command that contains some text was
// sent, and before its answer is read.
type answerLost struct {
	net.Conn
	text   []byte
	broken *atomic.Bool // once for all connections
	lose   bool
}

func (c *answerLost) Write(p []byte) (int, error) {
	if bytes.Contains(p, c.text) && c.broken.CompareAndSwap(false, true) {
		c.lose = true
	}
	return c.Conn.Write(p)
}

func (c *answerLost) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.lose {
		c.Close()
		return 0, io.EOF
	}
	return n, err
}

// A broadcast comes at most once, also where the connection breaks before the server's answer is
// read: the client repeats other commands, and on a cluster this one too if it were allowed to.
func TestBroadcastsAreNotRepeated(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, 1, 0, redistest.Patient()...)
	var broken atomic.Bool
	client := redis.NewClusterClient(&redis.ClusterOptions{
		Addrs: cluster.Addrs(),
		Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := new(net.Dialer).DialContext(ctx, network, addr)
			return &answerLost{Conn: c, text: []byte("!1 once"), broken: &broken}, err
		},
	})
	defer client.Close()
	sender := redisstore.New(client, redisstore.Config{Timeout: patience})
	defer sender.Close()
	watcher := redisstore.New(cluster.Client(), redisstore.Config{Timeout: patience})
	defer watcher.Close()
	box, _ := hear(t, watcher, presence.Site)
	err := sender.Send(t.Context(), backend.Broadcast{Topic: presence.Site, Data: []byte("!1 once")})
	if !errors.Is(err, presence.ErrStoreOut) || !broken.Load() {
		t.Errorf("got %v, and a connection broke: %v; want ErrStoreOut and true", err, broken.Load())
	}
	say(t, sender, "!1 later")
	until(t, "the later one is heard", func() bool { return slices.Contains(box.got(), "!1 later") })
	if got := box.got(); !slices.Equal(got, []string{"!1 once", "!1 later"}) {
		t.Errorf("heard %q, want each once", got)
	}
}
