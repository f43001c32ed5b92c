package sqlstore_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence/feed"
	"github.com/rollcall-go/rollcall/presence/sqlstore"
)

// While another program holds the lock of a SQLite file, transactions end with their contexts,
// and leave the connections to those who read.
func TestTransactWaitsInOrder(t *testing.T) {
	k := kinds()[1]
	dsn := k.dsn(t)
	db := open(t, k, dsn)
	db.SetMaxOpenConns(4)
	s := newStore(t, db, sqlstore.Config{Dialect: k.dialect})
	noError(t, s.Migrate(t.Context()))
	other, err := open(t, k, dsn).Conn(t.Context())
	noError(t, err)
	defer other.Close()
	if _, err := other.ExecContext(t.Context(), "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	nothing := func(sqlstore.Tx) error { return nil }
	var first, late sync.WaitGroup
	patient, giveUp := context.WithTimeout(t.Context(), 700*time.Millisecond)
	defer giveUp()
	first.Go(func() { // waits for the lock
		if err := s.Transact(patient, nothing); err == nil {
			t.Error("got a transaction, and another program has the lock")
		}
	})
	time.Sleep(100 * time.Millisecond)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	for range 10 {
		late.Go(func() {
			if err := s.Transact(ctx, nothing); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v, want the end of the context", err)
			}
		})
	}
	if _, err := s.Feeds().Heads(ctx, feed.Inbox("alice")); err != nil {
		t.Errorf("a reader meanwhile: %v", err)
	}
	ended := make(chan struct{})
	go func() { late.Wait(); first.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(3 * time.Second): // SQLite itself waits for 5 s, whatever the context says
		t.Error("transactions wait longer than their contexts")
	}
	if _, err := other.ExecContext(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	<-ended
	if err := s.Transact(t.Context(), nothing); err != nil {
		t.Errorf("once the lock is free: %v", err)
	}
}

// A transaction whose function fails leaves nothing.
func TestTransactRollsBack(t *testing.T) {
	eachKind(t, func(t *testing.T, k kind) {
		s, _ := migrated(t, k)
		broken := errors.New("broken")
		err := s.Transact(t.Context(), func(tx sqlstore.Tx) error {
			return errors.Join(s.Feeds().SendTx(t.Context(), tx, feed.Message{Feed: "thread:1", Text: "hello"}), broken)
		})
		if !errors.Is(err, broken) {
			t.Errorf("got %v, want what the function returned", err)
		}
		if o, err := s.Feeds().Waiting(t.Context()); err != nil || o.Waiting != 0 {
			t.Errorf("got %d rows in the outbox, %v, want none", o.Waiting, err)
		}
	})
}
