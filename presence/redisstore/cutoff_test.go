package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rollcall-go/rollcall/internal/redistest"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/redisstore"
	"github.com/rollcall-go/rollcall/presence/redisstore/internal/storeclock"
)

// wire is a hook that can be cut: then nothing reaches the server.
type wire struct {
	cut atomic.Bool
}

var errCut = errors.New("the wire is cut")

func (w *wire) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		if w.cut.Load() {
			return nil, errCut
		}
		return next(ctx, network, addr)
	}
}

func (w *wire) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, c redis.Cmder) error {
		if w.cut.Load() {
			c.SetErr(errCut)
			return errCut
		}
		return next(ctx, c)
	}
}

func (w *wire) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, commands []redis.Cmder) error {
		if w.cut.Load() {
			for _, c := range commands {
				c.SetErr(errCut)
			}
			return errCut
		}
		return next(ctx, commands)
	}
}

// A cutOff is a fleet of two nodes with a clock of its own, of which one can be cut
// off from Redis.
type cutOff struct {
	*testing.T
	client   *redis.Client
	clock    atomic.Int64
	teller   *redisstore.Store
	listener *redisstore.Store
	wire     *wire
	heard    chan backend.Notice
}

func newCutOff(t *testing.T) *cutOff {
	server := redistest.Start(t)
	f := &cutOff{T: t, client: server.Client(), wire: &wire{}, heard: make(chan backend.Notice, 10_000)}
	f.clock.Store(time.Now().UnixMilli())
	now := func() time.Time { return time.UnixMilli(f.clock.Load()) }
	f.teller = redisstore.New(storeclock.Client{UniversalClient: server.Client(), Now: now}, redisstore.Config{Timeout: patience})
	t.Cleanup(func() { f.teller.Close() })
	client := server.Client()
	client.AddHook(f.wire)
	f.listener = redisstore.New(storeclock.Client{UniversalClient: client, Now: now}, redisstore.Config{Timeout: patience})
	stop, err := f.listener.Listen(t.Context(), func(n backend.Notice) { f.heard <- n })
	noError(t, err)
	t.Cleanup(func() { stop(); f.listener.Close() })
	polls(t, f.listener)
	return f
}

// polls polls a store every second, as a node does.
func polls(t *testing.T, store *redisstore.Store) {
	over := t.Context().Done()
	go func() {
		for every := time.NewTicker(time.Second); ; {
			select {
			case <-over:
				return
			case <-every.C:
				_, _ = store.Poll(context.Background(), backend.Poll{})
			}
		}
	}()
}

func (f *cutOff) tell(n backend.Notice) {
	f.Helper()
	noError(f, f.teller.Publish(f.Context(), n))
}

// hears returns what comes until a sign-out does, which must be this one.
func (f *cutOff) hears(user presence.UserID) (before []backend.Notice) {
	f.Helper()
	for {
		select {
		case n := <-f.heard:
			if signedOut(n) == user {
				return before
			}
			before = append(before, n)
		case <-time.After(patience):
			f.Fatalf("it was not heard that %s signed out", user)
		}
	}
}

// away cuts the listener off, and back, with so much time between.
func (f *cutOff) away(d time.Duration, meanwhile func()) {
	f.Helper()
	f.wire.cut.Store(true)
	noError(f, f.client.ClientKillByFilter(f.Context(), "TYPE", "pubsub").Err())
	time.Sleep(10 * time.Millisecond) // what was on its way has arrived
	meanwhile()
	f.clock.Add(d.Milliseconds())
	f.wire.cut.Store(false)
}

func missed(heard []backend.Notice) (times int, most time.Duration) {
	for _, n := range heard {
		if n.Missed > 0 {
			times, most = times+1, max(most, n.Missed)
		}
	}
	return times, most
}

// A node that was cut off for a while hears every sign-out, however many pages were
// closed meanwhile: those are told live, and stand in no log.
func TestSignOutAmongManyNotices(t *testing.T) {
	t.Parallel()
	f := newCutOff(t)
	f.tell(backend.SignOutNotice("first"))
	f.hears("first")
	f.away(20*time.Second, func() {
		for i := range 1200 {
			f.tell(backend.LeaveNotice("bob", presence.Holder(fmt.Sprintf("n.%d", i))))
			if i == 100 {
				f.tell(backend.SignOutNotice("alice"))
			}
		}
	})
	if times, _ := missed(f.hears("alice")); times > 0 {
		t.Errorf("got that notices were missed, and none was")
	}
	if n := f.client.XLen(t.Context(), "presence:{~index}:notices").Val(); n != 2 {
		t.Errorf("the log has %d notices, want the two sign-outs", n)
	}
	// The log is read before the node is subscribed again: the first may be lost.
	var live []backend.Notice
	for i := 0; i < 50 && len(live) == 0; i++ {
		last := presence.UserID(fmt.Sprint("last", i))
		f.tell(backend.LeaveNotice("bob", "n.1"))
		f.tell(backend.SignOutNotice(last))
		live = f.hears(last)
	}
	if len(live) != 1 || live[0] != (backend.LeaveNotice("bob", "n.1")) {
		t.Errorf("heard %+v live, want the closed page", live)
	}
}

// Where a node's place in the log is gone, it says so before it tells anything later.
func TestPlaceInTheLogIsGone(t *testing.T) {
	for name, tt := range map[string]struct {
		away      time.Duration
		meanwhile func(*cutOff)
		want      time.Duration // that notices may be missed of; at least that, and a minute more at most
	}{
		"for longer than notices are kept": {away: 11 * time.Minute, want: 11 * time.Minute},
		"nearly as long":                   {away: 9 * time.Minute},
		"a wipe":                           {meanwhile: func(f *cutOff) { f.client.FlushAll(f.Context()) }, away: time.Second, want: time.Second},
		"the log deleted":                  {meanwhile: func(f *cutOff) { f.client.Del(f.Context(), "presence:{~index}:notices") }, away: time.Second, want: time.Second},
		"its name deleted":                 {meanwhile: func(f *cutOff) { f.client.Del(f.Context(), "presence:{~index}:notices:epoch") }, away: time.Second, want: time.Second},
		"the log cut by number":            {meanwhile: func(f *cutOff) { f.client.XTrimMaxLen(f.Context(), "presence:{~index}:notices", 0) }, away: time.Second, want: time.Second},
		"nothing happened":                 {away: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newCutOff(t)
			f.tell(backend.SignOutNotice("first"))
			f.hears("first")
			f.away(tt.away, func() {
				if tt.meanwhile != nil {
					tt.meanwhile(f)
				}
			})
			for range 3 { // it says so once, also where nothing is told after
				noError(t, f.listener.Hear(t.Context()))
			}
			f.tell(backend.SignOutNotice("last"))
			times, most := missed(f.hears("last"))
			switch {
			case tt.want == 0 && times > 0:
				t.Errorf("got that notices of %v may be missed, want nothing of the kind", most)
			case tt.want > 0 && (times != 1 || most < tt.want || most > tt.want+time.Minute):
				t.Errorf("got %d times that notices of up to %v may be missed, want once, of %v", times, most, tt.want)
			}
		})
	}
}

// The log of notices is trimmed by time, and stays where nobody tells anything, as long as a
// node runs.
func TestLogOfNotices(t *testing.T) {
	t.Parallel()
	f := newCutOff(t)
	const many = 3000
	for i := range many {
		f.tell(backend.SignOutNotice(presence.UserID(fmt.Sprint("u", i))))
	}
	if n := f.client.XLen(t.Context(), "presence:{~index}:notices").Val(); n != many {
		t.Errorf("the log has %d notices, want all %d of the last minutes", n, many)
	}
	if ttl := f.client.PTTL(t.Context(), "presence:{~index}:notices").Val(); ttl < 24*time.Hour || ttl > 48*time.Hour {
		t.Errorf("the log has %v to live, want two days", ttl)
	}
	f.clock.Add((11 * time.Minute).Milliseconds())
	f.tell(backend.SignOutNotice("last"))
	if n := f.client.XLen(t.Context(), "presence:{~index}:notices").Val(); n > 200 {
		t.Errorf("after eleven minutes the log has %d notices, want the last and what shares its node of the stream", n)
	}
	f.hears("u0")
}

// Hear returns when a node has been given what others told.
func TestHearAcrossNodes(t *testing.T) {
	f := newCutOff(t)
	for i := range 700 {
		f.tell(backend.SignOutNotice(presence.UserID(fmt.Sprint("u", i))))
	}
	listener := redisstore.New(f.client, redisstore.Config{Timeout: patience})
	defer listener.Close()
	if err := listener.Hear(t.Context()); err != nil {
		t.Errorf("without a listener: got %v, want nil", err)
	}
	var heard atomic.Int64
	stop, err := listener.Listen(t.Context(), func(backend.Notice) { heard.Add(1) })
	noError(t, err)
	defer stop()
	if err := listener.Hear(t.Context()); err != nil || heard.Load() != 700 {
		t.Errorf("got %d notices when Hear returned, %v, want those of the last minutes, 700", heard.Load(), err)
	}
	f.tell(backend.SignOutNotice("alice"))
	if err := listener.Hear(t.Context()); err != nil || heard.Load() != 701 {
		t.Errorf("got %d notices when Hear returned, %v, want 701", heard.Load(), err)
	}
}

// A failover loses a notice that its publisher has not heard yet. The publisher notices it, and
// so the node tells again what the notice said.
func TestPublishedNoticeIsLost(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client := server.Client()
	store := redisstore.New(server.Client(), redisstore.Config{Timeout: patience})
	t.Cleanup(func() { store.Close() })
	heard := make(chan backend.Notice, 100)
	stop, err := store.Listen(t.Context(), func(n backend.Notice) { heard <- n })
	noError(t, err)
	t.Cleanup(stop)
	polls(t, store)
	noError(t, client.ClientKillByFilter(t.Context(), "TYPE", "pubsub").Err()) // no message wakes the listener
	noError(t, store.Publish(t.Context(), backend.SignOutNotice("alice")))
	noError(t, client.XTrimMaxLen(t.Context(), "presence:{~index}:notices", 0).Err())
	for {
		select {
		case n := <-heard:
			if n.Missed > 0 {
				return
			}
		case <-time.After(patience):
			t.Fatal("nobody noticed that the log has lost a notice")
		}
	}
}
