package main

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed"
	"github.com/rollcall-go/rollcall/presence/track"
)

// rest measures what open inboxes cost in which nothing happens.
func rest(ctx context.Context, r *run, e *engine) error {
	db, err := e.create(ctx, "rest")
	if err != nil {
		return err
	}
	db.Close()
	defer e.drop(context.WithoutCancel(ctx), "rest")
	cfg := feed.Config{}
	if r.quick {
		cfg.Check = 100 * time.Millisecond
	}
	n, err := r.newNode(e, "rest", "node", cfg)
	if err != nil {
		return err
	}
	defer n.close()
	if err := n.store.Send(ctx, message(0, users(0, r.Inboxes)...)); err != nil {
		return err
	}
	if _, err := n.keeper.Relay(ctx); err != nil {
		return err
	}
	var events []presence.Event
	for i := range r.Inboxes {
		c, err := n.tracker.Connect(ctx, track.ConnectOptions{
			Visitor: presence.Visitor{User: presence.User{ID: userID(i), Name: "Alice"}}, Topics: []presence.Topic{presence.Site}, Observe: true,
		})
		if err != nil {
			return err
		}
		n.open = append(n.open, c)
		events = c.Events(events[:0])
	}
	before := heap()
	for _, c := range n.open {
		if err := c.Subscribe(ctx, feed.InboxTopic, ""); err != nil {
			return err
		}
		if events = c.Events(events[:0]); len(events) == 0 {
			return fmt.Errorf("no state came")
		}
	}
	opened := n.store.queries.Load()
	began := time.Now()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(r.Rest):
	}
	queries := float64(n.store.queries.Load()-opened) / time.Since(began).Seconds()
	each := float64(heap()-before) / float64(r.Inboxes)
	what := fmt.Sprintf("%d open inboxes at rest", r.Inboxes)
	r.add(what+": memory of each", e, "≤ 1024 bytes", fmt.Sprintf("%.0f bytes", each), each <= 1024)
	r.add(what+": queries a second", e, "≤ 1", fmt.Sprintf("%.2f", queries), queries <= 1)

	var took durations
	if err := took.timed(r.Rounds*r.Calls, func(i int) error {
		h, err := n.keeper.Head(ctx, inboxOf(i%r.Inboxes))
		if err == nil && h.Unread != 1 {
			err = fmt.Errorf("got %d unread, want 1", h.Unread)
		}
		return err
	}); err != nil {
		return err
	}
	r.within("bell where the inbox is open, no query", e, took.median(), 2*time.Microsecond)
	runtime.KeepAlive(n)
	return nil
}

// heap returns the bytes of live objects and stacks.
func heap() uint64 {
	runtime.GC()
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}
