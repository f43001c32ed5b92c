package main

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// bulk measures one message to very many users, and replies that are sent meanwhile.
func bulk(ctx context.Context, r *run, e *engine) error {
	p, done, err := r.newPair(ctx, e, "bulk")
	if done != nil {
		defer done()
	}
	if err != nil {
		return err
	}
	const most = 10_000
	replies := newArrivals(most)
	last := make(chan struct{})
	var once sync.Once
	if err := p.reader.watch(ctx, userID(0), replies.worked); err != nil { // gets replies only
		return err
	}
	began := time.Now()
	if err := p.sender.keeper.Send(ctx, message(-1, users(1, r.Recipients)...)); err != nil {
		return err
	}
	sent := time.Since(began)
	var meanwhile sync.WaitGroup
	meanwhile.Go(func() {
		for {
			o, err := p.reader.store.Waiting(ctx)
			if err != nil || o.Waiting == 0 {
				once.Do(func() { close(last) })
				return
			}
			time.Sleep(50 * time.Millisecond)
		}
	})
	defer meanwhile.Wait()
	n := 0
	for waiting := true; waiting && n < most; n++ {
		if err := p.sender.reply(ctx, n, userID(0), true); err != nil {
			return err
		}
		replies.mu.Lock()
		replies.committed[n] = time.Now()
		replies.mu.Unlock()
		select {
		case <-last:
			waiting = false
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	took := time.Since(began)
	time.Sleep(200 * time.Millisecond) // the latest reply
	var all durations
	for i, d := range replies.latencies()[:n] {
		if !replies.done[i].IsZero() {
			all = append(all, d)
		}
	}
	if len(all) < n-1 {
		return fmt.Errorf("%d of %d replies came", len(all), n)
	}
	heads, err := p.reader.store.Heads(ctx, inboxOf(1), inboxOf(r.Recipients))
	if err != nil || heads[0].Unread != 1 || heads[1].Unread != 1 {
		return fmt.Errorf("the first and the last have %+v: %w", heads, err)
	}
	what := fmt.Sprintf("%d recipients: ", r.Recipients)
	r.within(what+"the insert", e, sent, 25*time.Second)
	r.within(what+"the last has it after", e, took, 25*time.Second)
	r.within("a reply meanwhile: longest", e, all.quantile(1), time.Second)
	return nil
}
