package chaos_test

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/examples/forum/internal/forumtest"
	"github.com/rollcall-go/rollcall/internal/need"
	"github.com/rollcall-go/rollcall/internal/redistest"
)

// mergeWindow is the default of track.Config.MergeWindow: a change may wait so long
// for others.
const mergeWindow = 50 * time.Millisecond

// TestWayOfAChange measures how long a join on one node takes to a reader at
// another: from the request that opens the stream to the diff as it was read.
// WAY_JOINS (20) says how many; from 200 on it holds the figures against what is
// promised: a median of 15 ms and 60 ms for 99 of 100, and the merge window.
// Then a node is killed, and its users must be gone within the TTL, a sweep and a
// second.
func TestWayOfAChange(t *testing.T) {
	joins, err := strconv.Atoi(os.Getenv("WAY_JOINS"))
	if err != nil {
		joins = 20
	}
	const ttl, sweep = 3 * time.Second, 200 * time.Millisecond
	redis := redistest.Start(t)
	f := &fleet{t: t, library: forumtest.NewLibrary()}
	for i := range 2 {
		n := &forumtest.Node{T: t, Addr: need.FreeAddr(t), Args: []string{"-redis", redis.URL(), "-node", fmt.Sprint("n", i),
			"-ttl", ttl.String(), "-grace", "500ms", "-sweep", sweep.String()}}
		n.Run()
		t.Cleanup(n.Kill)
		f.nodes = append(f.nodes, n)
	}
	a, b := &forumtest.Forum{URL: f.nodes[0].URL("")}, &forumtest.Forum{URL: f.nodes[1].URL("")}
	watcher := b.Visitor(t).Stream("topic=site")
	var took []time.Duration
	for i := range joins {
		name := fmt.Sprint("u", i)
		user := a.User(t, name)
		time.Sleep(time.Duration(i%7) * 13 * time.Millisecond) // quiet moments and busy ones
		begin := time.Now()
		opened := make(chan *forumtest.Stream)
		go func() { opened <- user.Stream("topic=site") }()
		watcher.Join(name)
		took = append(took, time.Since(begin))
		if s := <-opened; i < joins-5 {
			s.Close()
		}
	}
	slices.Sort(took)
	median, most := took[len(took)/2], took[len(took)*99/100]
	t.Logf("%d joins: median %v, 99 of 100 within %v", joins, median, most)
	if joins >= 200 && (median > 15*time.Millisecond+mergeWindow || most > 60*time.Millisecond+mergeWindow) {
		t.Errorf("got a median of %v and %v for 99 of 100, want 15ms and 60ms, and the merge window of %v", median, most, mergeWindow)
	}

	time.Sleep(time.Second) // the others are gone
	begin := time.Now()
	_ = f.nodes[0].Cmd.Process.Signal(syscall.SIGKILL)
	gone := map[string]bool{}
	watcher.Until("all of the killed node to leave", func(e forumtest.Event) bool {
		for name := range e.Leaves {
			gone[name] = true
		}
		return gone[fmt.Sprint("u", joins-1)] && gone[fmt.Sprint("u", joins-5)]
	})
	t.Logf("gone %v after kill -9", time.Since(begin))
	if got, want := time.Since(begin), ttl+sweep+time.Second; got > want && joins >= 200 {
		t.Errorf("gone after %v, want %v", got, want)
	}
}
