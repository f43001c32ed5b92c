package track_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/internal/need"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
)

// TestChurn lets users come and go on two nodes while readers come, go and come
// back with their cursors, on either node. page.read fails the test for any
// diff that does not follow from what its reader had; at rest every roster must
// be the store's. It plays 2 games of 1,000 steps, 8 where slow tests are asked
// for, and 200 with PRESENCE_LONG.
func TestChurn(t *testing.T) {
	seeds := uint64(2)
	switch {
	case os.Getenv("PRESENCE_LONG") != "":
		seeds = 200
	case need.AskedFor():
		seeds = 8
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { churn(t, rand.New(rand.NewPCG(seed, 0)), 1000) })
		})
	}
}

func churn(t *testing.T, rnd *rand.Rand, steps int) {
	store := memstore.New()
	nodes := []*track.Tracker{start(t, store, track.Config{Node: "a"}), start(t, store, track.Config{Node: "b"})}
	node := func() *track.Tracker { return nodes[rnd.IntN(2)] }
	topics := []presence.Topic{presence.Site, "thread:1"}
	var conns []*track.Connection
	pages := make([]*page, 6)
	open := func(old *page) *page {
		o := track.ConnectOptions{Topics: topics, Observe: true}
		if old == nil {
			return openPage(t, node(), o)
		}
		o.Cursor = old.conn.Cursor()
		old.conn.Close()
		p := openPage(t, node(), o)
		p.roster, p.cursor = old.roster, old.cursor
		return p
	}
	for i := range pages {
		pages[i] = open(nil)
	}
	for range steps {
		id := fmt.Sprint("u", rnd.IntN(8))
		switch rnd.IntN(10) {
		case 0, 1:
			node().Seen(presence.Site, user(id), presence.Device{})
		case 2, 3, 4:
			conns = append(conns, connect(t, node(), track.ConnectOptions{Visitor: visitor(id), Topics: topics[:1+rnd.IntN(2)]}))
		case 5, 6:
			if n := len(conns); n > 0 {
				i := rnd.IntN(n)
				if rnd.IntN(4) == 0 {
					conns[i].Drop()
				}
				conns[i].Close()
				conns[i] = conns[n-1]
				conns = conns[:n-1]
			}
		case 7:
			if rnd.IntN(3) == 0 {
				_ = node().SignOut(t.Context(), presence.UserID(id))
			} else {
				status := []presence.Status{presence.Online, presence.Busy, presence.Invisible}[rnd.IntN(3)]
				_ = node().SetStatus(t.Context(), presence.UserID(id), status)
			}
		case 8:
			i := rnd.IntN(len(pages))
			pages[i].read()
			pages[i] = open(pages[i])
		case 9:
			pages[rnd.IntN(len(pages))].read()
		}
		time.Sleep(time.Duration(rnd.IntN(30)) * time.Millisecond * time.Duration(1+rnd.IntN(1+rnd.IntN(40))))
	}
	time.Sleep(2 * time.Second)
	for i, p := range pages {
		p.read()
		for _, topic := range topics {
			snap, _ := store.Snapshot(t.Context(), topic)
			var want []string
			for _, m := range snap.Members {
				want = append(want, string(m.ID))
			}
			slices.Sort(want)
			if got := slices.Sorted(maps.Keys(p.roster[string(topic)])); !slices.Equal(got, want) {
				t.Errorf("page %d, %s: got roster %v, want %v\nit saw %q", i, topic, got, want, p.lines)
			}
		}
	}
}
