package track

import (
	"fmt"
	"testing"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// A user with several devices has several cells in one topic. None is lost as parts are taken, and the failed parts come again.
func TestPartsOfDevices(t *testing.T) {
	for range 100 {
		w := newWriter(&counters{})
		for i := range 6 {
			w.put(presence.Topic(fmt.Sprint("thread:", i)), cell{member: "x", choice: true})
		}
		for i := range 3000 {
			for k := range 3 {
				w.put(backend.DevicesTopic, cell{member: backend.MemberOf(presence.UserID(fmt.Sprint("u", i)), presence.DeviceID(fmt.Sprint("d", k))), choice: true})
			}
		}
		w.end()
		got := 0
		for try := range 20 {
			for topic, d := range w.take() {
				if try%2 == 0 {
					w.keep(topic, d)
				} else {
					got += d.size()
				}
			}
			w.landed()
		}
		if got != 9006 || w.count != 0 {
			t.Fatalf("took %d cells of 9,006, and %d are left", got, w.count)
		}
	}
}
