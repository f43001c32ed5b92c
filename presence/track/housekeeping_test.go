package track_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
)

// The figures of a few topics are asked for twice a second, and those of many while they change.
func TestFiguresOfTopicsAtRest(t *testing.T) {
	for _, tt := range []struct {
		topics      int
		most        float64       // topics a second at rest
		lateAtRest  time.Duration // until a reader here knows a guest there
		lateInHaste time.Duration // while figures of the topic change
	}{
		{64, 2.1 * 64, time.Second, time.Second},
		{200, 1.1 * 200, 1100 * time.Millisecond, time.Second},
	} {
		bubble(t, fmt.Sprint(tt.topics), func(t *testing.T) {
			shared := memstore.New()
			store := &askedStore{Store: shared}
			here, there := start(t, store, track.Config{Node: "a"}), start(t, shared, track.Config{Node: "b"})
			names := make([]presence.Topic, tt.topics)
			for i := range names {
				names[i] = presence.Topic(fmt.Sprintf("thread:%d", i))
				connect(t, here, track.ConnectOptions{Topics: names[i : i+1], Observe: true})
			}
			time.Sleep(10 * time.Second)
			store.take()
			time.Sleep(20 * time.Second)
			asked := 0
			for _, n := range store.take() {
				asked += n
			}
			if got := float64(asked) / 20; got > tt.most || got < 0.4*float64(tt.topics) {
				t.Errorf("asked for the figures of %v topics a second at rest, want %v at most, and each once a second at least", got, tt.most)
			}
			for i, most := range []time.Duration{tt.lateAtRest, tt.lateInHaste, tt.lateInHaste, tt.lateInHaste} {
				there.SeenGuest(names[7], fmt.Sprint("guest", i))
				began := time.Now()
				for {
					view, err := here.View(t.Context(), names[7])
					noError(t, err)
					if view.Guests == i+1 {
						break
					}
					if time.Since(began) > most {
						t.Fatalf("%v after guest %d came: got %d, want %d", most, i+1, view.Guests, i+1)
					}
					time.Sleep(10 * time.Millisecond)
				}
			}
		})
	}
}
