package presence_test

import (
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
)

// BenchmarkReaders is one change, read by 1,000 connections of one group.
func BenchmarkReaders(b *testing.B) {
	const readers = 1000
	store := memstore.New()
	tracker, err := presence.New(store, presence.Config{MergeWindow: -1})
	if err != nil {
		b.Fatal(err)
	}
	defer tracker.Close(b.Context())
	form := presence.NewForm(func(b []byte, e presence.Event) []byte { return append(append(b, e.Data...), '\n') })
	g := presence.NewGroup()
	for range readers {
		c, err := tracker.Connect(b.Context(), presence.ConnectOptions{Topics: []presence.Topic{presence.Site}, Observe: true})
		if err != nil {
			b.Fatal(err)
		}
		defer c.Close()
		g.Add(c)
		c.Bytes(form)
	}
	ops := []presence.Op{
		{Kind: presence.OpSeen, User: user("alice"), For: time.Hour},
		{Kind: presence.OpSignOut, User: user("alice")},
	}
	var woken []*presence.Connection
	events := 0
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		store.Apply(b.Context(), []presence.Batch{{Topic: presence.Site, Ops: ops[i%2 : i%2+1]}})
		woken = g.Woken(woken[:0])
		for _, c := range woken {
			_, n, _ := c.Bytes(form)
			events += n
		}
	}
	if events < readers*b.N {
		b.Errorf("got %d events read, want %d", events, readers*b.N)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(readers*b.N), "ns/read")
}
