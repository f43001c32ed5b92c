// Package rollingtest deploys a new build of the forum, whose streams have another version, and
// takes it back, while pages of both ages are open.
package rollingtest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/examples/forum/internal/forumtest"
	"github.com/rollcall-go/rollcall/internal/redistest"
)

// A fleet is the nodes that are up.
type fleet struct {
	t       *testing.T
	redis   *redistest.Server
	client  *http.Client
	builds  map[string]func(ctx context.Context, args ...string) *exec.Cmd
	started int

	mu    sync.Mutex
	nodes []*forumtest.Forum
}

// any returns the address of a node.
func (f *fleet) any() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return strings.TrimPrefix(f.nodes[rand.IntN(len(f.nodes))].URL, "http://")
}

// start starts a node of a build, old or new.
func (f *fleet) start(build string) {
	f.started++
	n := forumtest.StartBy(f.t, f.builds[build](context.WithoutCancel(f.t.Context()), "-addr", "127.0.0.1:0", "-redis", f.redis.URL(),
		"-node", fmt.Sprint("n", f.started), "-throttle", "1s", "-ttl", "6s", "-grace", "1500ms", "-sweep", "200ms"))
	n.Ready(f.t)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.nodes = append(f.nodes, n)
}

// replace starts a node of a build, and stops the oldest node.
func (f *fleet) replace(build string) {
	f.start(build)
	f.mu.Lock()
	oldest := f.nodes[0]
	f.nodes = f.nodes[1:]
	f.mu.Unlock()
	oldest.Stop(f.t, syscall.SIGTERM)
}

// come has a user read a stream until ctx ends.
func (f *fleet) come(ctx context.Context, name string) {
	for ctx.Err() == nil {
		req, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+f.any()+"/presence/events?topic=site&beat=0", nil)
		req.AddCookie(&http.Cookie{Name: forumtest.CookieName, Value: name})
		if resp, err := f.client.Do(req); err == nil {
			b := make([]byte, 4<<10)
			for err == nil {
				_, err = resp.Body.Read(b)
			}
			resp.Body.Close()
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// E1: 100 pages of both versions, over each transport, lose nothing and get nothing twice while
// nodes of a new build replace those of an old one, and the other way round.
func TestRollingVersions(t *testing.T) {
	f := &fleet{t: t, client: newClient(), builds: map[string]func(ctx context.Context, args ...string) *exec.Cmd{
		"new": forumtest.CommandOf(t, "presence_v2"), "old": forumtest.Command,
	}}
	f.redis = redistest.Start(t)
	f.start("old")
	f.start("old")

	ctx, cancel := context.WithCancel(t.Context())
	var work sync.WaitGroup
	t.Cleanup(work.Wait)
	t.Cleanup(cancel)
	var pages []*page
	for i := range 100 {
		p := &page{fleet: f, speaks: 1 + i%2, over: []string{"events", "ws", "poll", "events", "ws"}[i/2%5]}
		pages = append(pages, p)
		work.Go(func() { p.run(ctx) })
	}
	coming, settle := context.WithCancel(ctx)
	defer settle()
	var users sync.WaitGroup
	for i := range 12 {
		users.Go(func() {
			name := fmt.Sprint("u", i)
			for coming.Err() == nil {
				visit, end := context.WithTimeout(ctx, 500*time.Millisecond+rand.N(1500*time.Millisecond))
				f.come(visit, name)
				end()
				select {
				case <-coming.Done():
				case <-time.After(rand.N(3 * time.Second)):
				}
			}
		})
	}
	for i := range 4 { // who stays, so that not all of the roster moves
		work.Go(func() { f.come(ctx, fmt.Sprint("s", i)) })
	}
	time.Sleep(2 * time.Second)
	for _, build := range []string{"new", "new", "old", "old"} {
		f.replace(build)
		time.Sleep(time.Second)
	}
	f.replace("new") // so that both builds are asked at the end
	count := func() (opened, states, diffs int) {
		for _, p := range pages {
			p.mu.Lock()
			opened, states, diffs = opened+p.opened, states+p.states, diffs+p.diffs
			p.mu.Unlock()
		}
		return
	}
	forumtest.Await(t, "20 diffs a page", func() bool {
		_, _, diffs := count()
		return diffs >= 20*len(pages)
	})
	settle()
	users.Wait()

	f.mu.Lock()
	nodes := slices.Clone(f.nodes)
	f.mu.Unlock()
	var wrong string
	forumtest.Await(t, "all pages to show the roster", func() bool {
		wrong = f.differs(nodes, pages)
		return wrong == "" || t.Failed()
	})
	opened, states, diffs := count()
	for i, p := range pages {
		p.mu.Lock()
		for _, fault := range p.faults {
			t.Errorf("page %d, which speaks version %d over %s: %s", i, p.speaks, p.over, fault)
		}
		p.mu.Unlock()
	}
	t.Logf("%d streams and polls, %d states, %d diffs", opened, states, diffs)
	if states > 2*len(pages) {
		t.Errorf("got %d states for %d pages, want that cursors of one build lead on at the other", states, len(pages))
	}
}

// differs says whose roster is another one than the first node's; "": all agree.
func (f *fleet) differs(nodes []*forumtest.Forum, pages []*page) string {
	var want string
	for i, n := range nodes {
		resp, err := f.client.Get(n.URL + "/presence/roster?topic=site&limit=1000")
		if err != nil {
			return err.Error()
		}
		var roster struct{ Users map[string]json.RawMessage }
		err = json.NewDecoder(resp.Body).Decode(&roster)
		resp.Body.Close()
		if err != nil {
			return err.Error()
		}
		got := strings.Join(slices.Sorted(maps.Keys(roster.Users)), " ")
		if i > 0 && got != want {
			return "the nodes differ"
		}
		want = got
	}
	if want != "s0 s1 s2 s3" {
		return "got " + want
	}
	for i, p := range pages {
		if got := p.names(); got != want {
			return fmt.Sprintf("page %d has %s", i, got)
		}
	}
	return ""
}
