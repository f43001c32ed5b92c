package track_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
)

// BenchmarkWindowsWithDots is one change of 2,000 users for 1,000 windows of 20, each with ten dots of
// its own, of whom one has changed in each second window.
func BenchmarkWindowsWithDots(b *testing.B) {
	store := memstore.New()
	node, err := track.New(store, track.Config{MergeWindow: -1})
	noError(b, err)
	defer node.Close(context.Background())
	apply := func(kind backend.OpKind, i int) {
		op := backend.Op{Kind: kind, User: user(fmt.Sprint("u", i)), Holder: holderOf(fmt.Sprint(i)), For: time.Hour}
		if kind == backend.OpRelease {
			op.For = 0
		}
		noError(b, store.Apply(b.Context(), []backend.Batch{{Topic: throng, Ops: []backend.Op{op}}})[0].Err)
	}
	for i := range 2000 {
		apply(backend.OpJoin, i)
	}
	for i := range 1000 {
		w := track.Window{Users: 20}
		for j := range 10 {
			w.Also = append(w.Also, presence.UserID(fmt.Sprint("u", (i*10+j)%4000)))
		}
		c, err := node.Connect(b.Context(), track.ConnectOptions{Topics: []presence.Topic{throng}, Observe: true, Window: w})
		noError(b, err)
		defer c.Close()
		done := make(chan struct{})
		b.Cleanup(func() { close(done) })
		go func() {
			form := track.NewForm(func(b []byte, e presence.Event) []byte { return append(b, e.Data...) })
			for {
				c.Bytes(form)
				select {
				case <-c.Ready():
				case <-done:
					return
				}
			}
		}()
	}
	b.ResetTimer()
	for i := range b.N {
		apply(backend.OpJoin, 2000+i)
		apply(backend.OpRelease, i)
	}
}
