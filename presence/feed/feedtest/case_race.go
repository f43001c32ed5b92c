package feedtest

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed"
)

func raceCases() []testCase {
	return []testCase{
		{"F6", "senders, relays and markers at once lose nothing", func(t *trial) {
			const senders, each = 4, 12
			users := []presence.UserID{"alice", "bob", "carol", "dave"}
			ctx, cancel := context.WithTimeout(t.ctx, time.Minute)
			defer cancel()
			var sending, others sync.WaitGroup
			sent := make(chan struct{})
			for s := range senders {
				sending.Go(func() {
					for i := range each {
						order := append(append([]presence.UserID{}, users[(s+i)%4:]...), users[:(s+i)%4]...)
						if s%2 == 1 {
							order[0], order[3] = order[3], order[0]
						}
						if err := t.Send(ctx, feed.Message{To: order, ID: fmt.Sprintf("%d-%d", s, i), Text: "hello"}, feed.Message{Feed: "thread:1", Text: "post"}); err != nil {
							t.Errorf("send: %v", err)
						}
						time.Sleep(time.Millisecond) // so that the others come in between
					}
				})
			}
			repeat := func(what string, f func() error) {
				others.Go(func() {
					for {
						if err := f(); err != nil {
							t.Errorf("%s: %v", what, err)
							return
						}
						select {
						case <-sent:
							return
						case <-time.After(time.Millisecond):
						}
					}
				})
			}
			for _, s := range []feed.Store{t.Store, t.peer()} {
				repeat("relay", func() error { _, err := s.Relay(ctx, t.options); return err })
			}
			for _, user := range users {
				repeat("mark", func() error {
					h, err := t.Mark(ctx, feed.Inbox(user), feed.Mark{Seen: true})
					if err == nil && h.Pos > 0 {
						_, err = t.Mark(ctx, feed.Inbox(user), feed.Mark{As: feed.State(h.Pos % 2), Pos: []int64{h.Pos, h.Pos - 1}})
					}
					return err
				})
			}
			repeat("page", func() error {
				h, items, _, err := t.Page(ctx, alice, 0, 1_000)
				if err != nil {
					return err
				}
				if err := (snapshot{h, items}).check(); err != nil {
					return fmt.Errorf("a page read meanwhile: %w", err)
				}
				return nil
			})
			sending.Wait()
			close(sent)
			others.Wait()
			t.relay()
			for _, user := range users {
				if items := t.items(feed.Inbox(user)); len(items) != senders*each {
					t.Errorf("items of %s: got %d, want %d", user, len(items), senders*each)
				}
			}
			if items := t.items("thread:1"); len(items) != senders*each {
				t.Errorf("posts: got %d, want %d", len(items), senders*each)
			}
		}},
		{"F6", "digests that are claimed at once go to one each", func(t *trial) {
			users := manyUsers(20)
			t.deliver(feed.Message{To: users, Text: "hello", Mail: true})
			t.advance(mailAfter + time.Second)
			var mu sync.Mutex
			var claimers sync.WaitGroup
			had := make(map[presence.UserID]int)
			for i := range 4 {
				s := []feed.Store{t.Store, t.peer()}[i%2]
				claimers.Go(func() {
					for {
						due, err := s.Due(t.ctx, 3, time.Hour)
						if err != nil {
							t.Errorf("due: %v", err)
						}
						mu.Lock()
						for _, d := range due {
							had[d.User]++
						}
						mu.Unlock()
						if len(due) == 0 {
							return
						}
					}
				})
			}
			claimers.Wait()
			for _, user := range users {
				if had[user] != 1 {
					t.Errorf("digests of %s: got %d, want 1", user, had[user])
				}
			}
		}},
	}
}
