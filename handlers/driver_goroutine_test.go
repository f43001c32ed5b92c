package handlers

import (
	"testing"
	"testing/synctest"
)

// A client that goes on sending while an errand runs makes the stream keep a fixed amount. What it sent is handled
// after the errand.
func TestAwaitKeepsNoMoreThanMaxHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &stream{streams: &streams{}}
		input, done := make(chan []byte), make(chan struct{})
		const piece = 1 << 10
		sent := 0
		go func() {
			for range 4 * maxHeld / piece {
				select {
				case input <- make([]byte, piece):
					sent += piece
				case <-done:
					return
				}
			}
		}()
		answered := make(chan bool, 1)
		go func() {
			after := s.await(func() func() { <-done; return func() {} }, input)
			answered <- after != nil
		}()
		synctest.Wait()
		if sent <= maxHeld || sent > maxHeld+piece {
			t.Errorf("kept %d bytes while the errand ran, want %d and one piece at most", sent, maxHeld)
		}
		close(done)
		if !<-answered {
			t.Error("the errand was not heard")
		}
		if len(s.unhandled) != sent {
			t.Errorf("%d bytes are to be handled, of %d", len(s.unhandled), sent)
		}
	})
}
