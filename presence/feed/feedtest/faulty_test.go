package feedtest_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed"
	"github.com/rollcall-go/rollcall/presence/feed/feedtest"
)

var hello = feed.Message{To: []presence.UserID{"alice"}, Text: "hello", Mail: true}

func TestFaultyStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := errors.New("out")
		memory := feedtest.NewMemory()
		store := feedtest.NewFaultyStore(memory)
		send := func() error { return store.Send(t.Context(), hello) }
		want := func(what string, err, wantErr error, rows int) {
			t.Helper()
			if !errors.Is(err, wantErr) || len(memory.Outbox()) != rows {
				t.Errorf("%s: got %v and %d rows, want %v and %d", what, err, len(memory.Outbox()), wantErr, rows)
			}
		}
		want("no fault", send(), nil, 1)
		store.Break(feedtest.Fault{Err: out}, feedtest.CallSend)
		want("an error", send(), out, 1)
		store.Break(feedtest.Fault{Lost: out})
		want("a lost answer", send(), out, 2)
		store.Decide(func(c feedtest.Call) feedtest.Fault { return feedtest.Fault{} })
		want("no fault of a function", send(), nil, 3)
		store.Heal()
		want("healed", send(), nil, 4)

		store.Break(feedtest.Fault{Delay: time.Hour})
		began := time.Now()
		want("a delay", send(), nil, 5)
		if took := time.Since(began); took != time.Hour {
			t.Errorf("a delay of an hour: got %v", took)
		}
		store.Break(feedtest.Fault{Hang: true})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		want("a call that hangs", store.Send(ctx, hello), context.DeadlineExceeded, 5)
		if got := store.Calls()[feedtest.CallSend]; got != 7 {
			t.Errorf("calls of Send: got %d, want 7", got)
		}
	})
}

// TestMemoryTime shows that a bubble's time is a Memory's.
func TestMemoryTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := feedtest.NewMemory()
		if err := store.Send(t.Context(), hello); err != nil {
			t.Fatal(err)
		}
		if _, err := store.Relay(t.Context(), feed.RelayOptions{MailAfter: 5 * time.Minute}); err != nil {
			t.Fatal(err)
		}
		for _, want := range []int{0, 1} {
			due, err := store.Due(t.Context(), 10, time.Minute)
			if err != nil || len(due) != want {
				t.Errorf("due: got %d digests, %v, want %d", len(due), err, want)
			}
			time.Sleep(5 * time.Minute)
		}
	})
}
