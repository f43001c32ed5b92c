package track_test

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/track"
)

// With a short TTL too, a wipe makes nobody leave who stays.
func TestWipeShortTTL(t *testing.T) {
	for _, ttl := range []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second} {
		bubble(t, ttl.String(), func(t *testing.T) {
			store := &noticingStore{swapStore: newSwapStore()}
			cfg := quiet
			cfg.TTL, cfg.Grace = ttl, time.Second
			a, b := start(t, store, cfg), start(t, store, cfg)
			openPage(t, a, track.ConnectOptions{Visitor: visitor("alice")})
			openPage(t, b, track.ConnectOptions{Visitor: visitor("bob")})
			reader := connect(t, a, track.ConnectOptions{Observe: true})
			time.Sleep(10 * time.Second)
			reader.Events(nil)
			for i := range 5 {
				store.wipe()
				store.missed()
				time.Sleep(20*time.Second + time.Duration(i)*170*time.Millisecond)
				for _, e := range reader.Events(nil) {
					var d payload
					noError(t, json.Unmarshal(e.Data, &d))
					if len(d.Leaves) > 0 {
						t.Errorf("got %s, want that nobody leaves", e.Data)
					}
				}
			}
		})
	}
}

// A noticingStore tells its listeners, as one of Redis does, that it lost notices.
type noticingStore struct {
	*swapStore
	mu        sync.Mutex
	listeners []func(backend.Notice)
}

func (s *noticingStore) Listen(ctx context.Context, fn func(backend.Notice)) (func(), error) {
	s.mu.Lock()
	s.listeners = append(s.listeners, fn)
	s.mu.Unlock()
	return s.swapStore.Listen(ctx, fn)
}

func (s *noticingStore) missed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, fn := range s.listeners {
		fn(backend.Notice{Missed: time.Second})
	}
}
