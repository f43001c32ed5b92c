package main

import (
	"context"
	"fmt"
	"time"

	"github.com/rollcall-go/rollcall/presence/feed"
)

// relay measures how many items a second one relay makes of messages that wait.
func relay(ctx context.Context, r *run, e *engine) error {
	for _, recipients := range []int{1, 10, thousand} {
		var rates []float64
		for range r.Rounds {
			rate, err := r.relayed(ctx, e, recipients)
			if err != nil {
				return err
			}
			rates = append(rates, rate)
		}
		what := fmt.Sprintf("relay: items/s, messages to %d", recipients)
		least := map[bool]float64{true: 8_000, false: 5_000}[e.name == "SQLite"]
		r.atLeast(what, e, middle(rates), least)
		r.table("Waiting messages, "+e.name).set("Rollcall", fmt.Sprintf("items/s, messages to %d", recipients), fmt.Sprintf("%.0f", middle(rates)))
	}
	return nil
}

// relayed fills the outbox and empties it, in a database of its own.
func (r *run) relayed(ctx context.Context, e *engine, recipients int) (rate float64, err error) {
	db, err := e.create(ctx, "relayed")
	if err != nil {
		return 0, err
	}
	defer func() { db.Close(); _ = e.drop(context.WithoutCancel(ctx), "relayed") }()
	in, err := newOurs(e, db)
	if err != nil {
		return 0, err
	}
	store := in.(*ours).store
	if _, err := r.emptied(ctx, store, recipients, 0); err != nil { // makes the inboxes, as a site has them
		return 0, err
	}
	if _, err := db.ExecContext(ctx, e.pick("ANALYZE", "VACUUM ANALYZE")); err != nil {
		return 0, err
	}
	return r.emptied(ctx, store, recipients, 1_000_000)
}

// emptied sends messages, numbered from first, and measures how many items a second a relay makes of them.
func (r *run) emptied(ctx context.Context, store feed.Store, recipients, first int) (rate float64, err error) {
	count := max(r.Backlog/recipients, 1)
	ms := make([]feed.Message, count)
	for i := range ms {
		ms[i] = message(first+i, users(i*recipients%10_000, recipients)...)
	}
	if err := store.Send(ctx, ms...); err != nil {
		return 0, err
	}
	began, moved := time.Now(), 0
	for {
		done, err := store.Relay(ctx, feed.RelayOptions{MailAfter: 5 * time.Minute, Most: 1_000})
		if err != nil {
			return 0, err
		}
		if moved += done.Moved; !done.More {
			break
		}
	}
	if moved != count*recipients {
		return 0, fmt.Errorf("moved %d items, want %d", moved, count*recipients)
	}
	return float64(moved) / time.Since(began).Seconds(), nil
}

func middle(all []float64) float64 {
	sorted := make(durations, len(all))
	for i, f := range all {
		sorted[i] = time.Duration(f)
	}
	return float64(sorted.median())
}
