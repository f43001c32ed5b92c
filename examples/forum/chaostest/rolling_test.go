package chaostest_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/examples/forum/internal/forumtest"
	"github.com/rollcall-go/rollcall/internal/bound"
	"github.com/rollcall-go/rollcall/internal/need"
	"github.com/rollcall-go/rollcall/internal/redistest"
)

// previous is the last commit whose nodes must work beside these on one Redis: it
// writes no version, and its channels' names hold no id.
const previous = "2e9df8e0e024b6fa3cce88f0b43b55473d7537cb"

// The times of a fleet that is being updated: short, so that what is to come comes
// soon, and long enough for a busy machine.
const (
	rollingTTL   = 3 * time.Second
	rollingGrace = 1200 * time.Millisecond
)

// buildPrevious returns the forum's program of the previous commit. It is built once
// on a machine, and then kept with the user's other caches.
func buildPrevious(t *testing.T) (program string) {
	root, dir := need.History(t, previous), t.TempDir()
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = dir
	}
	program = filepath.Join(cache, "rollcall-test", "forum-"+previous[:12]+"-"+runtime.Version())
	if _, err := os.Stat(program); err == nil {
		return program
	}
	archive := exec.Command("git", "-C", root, "archive", "-o", filepath.Join(dir, "old.tar"), previous)
	unpack := exec.Command("tar", "-xf", "old.tar")
	unpack.Dir = dir
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", program+".new", "./examples/forum")
	build.Dir = dir
	for _, cmd := range []*exec.Cmd{archive, unpack, build} {
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
		}
	}
	if err := os.Rename(program+".new", program); err != nil {
		t.Fatal(err)
	}
	return program
}

// A rollout is a fleet of two versions on one Redis.
type rollout struct {
	t       *testing.T
	redis   *redistest.Server
	program string // of the previous version
	nodes   int
}

// node starts a node of the previous version, or of this one.
func (r *rollout) node(old bool) *forumtest.Forum {
	r.t.Helper()
	r.nodes++
	args := []string{
		"-addr", "127.0.0.1:0", "-redis", r.redis.URL(), "-node", fmt.Sprint("n", r.nodes), "-age", "20s", "-throttle", "1s",
		"-ttl", rollingTTL.String(), "-grace", rollingGrace.String(), "-sweep", "200ms",
	}
	if !old {
		return forumtest.StartBy(r.t, forumtest.Command(context.WithoutCancel(r.t.Context()), args...))
	}
	cmd := bound.To(exec.CommandContext(context.WithoutCancel(r.t.Context()), r.program, args...), syscall.SIGKILL)
	cmd.Env = append(os.Environ(), "ADDR=", "REDIS_URL=")
	return forumtest.StartBy(r.t, cmd)
}

// An onlooker is a guest's stream that is read all the time.
type onlooker struct {
	mu     sync.Mutex
	status map[string]string // by user, of the users online
	joins  map[string]int    // how often users came, after the first state
	leaves map[string]int
	ended  chan struct{}
}

func onlook(v *forumtest.Visitor, query string) *onlooker {
	v.T.Helper()
	f := &onlooker{status: map[string]string{}, joins: map[string]int{}, leaves: map[string]int{}, ended: make(chan struct{})}
	s := v.Stream(query)
	v.T.Cleanup(func() {
		s.Close()
		<-f.ended
	})
	go func() {
		defer close(f.ended)
		for e, ok := s.Next(); ok; e, ok = s.Next() {
			f.take(e)
		}
	}()
	return f
}

func (f *onlooker) take(e forumtest.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if e.Type == "state" {
		for id := range f.status {
			if !forumtest.Has(e.Users, id) {
				delete(f.status, id)
				f.leaves[id]++
			}
		}
	}
	for _, users := range []map[string]any{e.Users, e.Joins} {
		for id, user := range users {
			if _, there := f.status[id]; !there {
				f.joins[id]++
			}
			fields, _ := user.(map[string]any)
			f.status[id], _ = fields["status"].(string)
		}
	}
	for id := range e.Leaves {
		delete(f.status, id)
		f.leaves[id]++
	}
}

func (f *onlooker) is(id, status string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.status[id] == status
}

func (f *onlooker) went(id string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.leaves[id]
}

// sees waits until every onlooker has a user with a status; "": without the user.
func sees(t *testing.T, id, status string, within time.Duration, all ...*onlooker) {
	t.Helper()
	for i, f := range all {
		for end := time.Now().Add(within); !f.is(id, status); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(end) {
				f.mu.Lock()
				t.Fatalf("onlooker %d has %v, want %s as %q within %v", i, f.status, id, status, within)
			}
		}
	}
}

// soon is for what a fleet of one version does at once: one of two looks once a
// second for nodes of the other.
const soon = 5 * time.Second

// TestRollingDeploy: nodes of the previous version and of this one work side by side
// while a fleet is updated, or taken back.
func TestRollingDeploy(t *testing.T) {
	t.Parallel()
	r := &rollout{t: t, redis: redistest.Start(t), program: buildPrevious(t)}
	old, fresh := r.node(true), r.node(false)
	old.Ready(t)
	fresh.Ready(t)
	ofOld, ofFresh := onlook(old.Visitor(t), "topic=site"), onlook(fresh.Visitor(t), "topic=site")

	// Joins, statuses and sign-outs reach the nodes of the other version.
	alice, bob := old.User(t, "alice"), fresh.User(t, "bob")
	atOld, atFresh := onlook(alice, "topic=site"), onlook(bob, "topic=site")
	sees(t, "alice", "online", soon, ofOld, ofFresh, atFresh)
	sees(t, "bob", "online", soon, ofOld, ofFresh, atOld)
	for _, tt := range []struct {
		name    string
		visitor *forumtest.Visitor
		status  string
	}{
		{"alice", alice, "busy"}, {"bob", bob, "away"},
		{"alice", alice.At(fresh), "away"}, {"bob", bob.At(old), "busy"},
	} {
		if res := tt.visitor.Do(http.MethodPut, "/presence/status", "application/json", `{"status":"`+tt.status+`"}`); res.Status != http.StatusNoContent {
			t.Fatalf("status of %s at %s: got %d, want 204", tt.name, tt.visitor.URL, res.Status)
		}
		sees(t, tt.name, tt.status, soon, ofOld, ofFresh)
	}
	for _, tt := range []struct {
		name   string
		at     *forumtest.Visitor
		stream *onlooker
	}{{"alice", alice.At(fresh), atOld}, {"bob", bob.At(old), atFresh}} {
		if res := tt.at.Post("/logout", nil); res.Status != http.StatusSeeOther {
			t.Fatalf("sign %s out: got %d, want 303", tt.name, res.Status)
		}
		select {
		case <-tt.stream.ended:
		case <-time.After(2 * time.Second):
			t.Errorf("%s signed out at a node of the other version, and the stream is open after 2 s", tt.name)
		}
		sees(t, tt.name, "", soon, ofOld, ofFresh)
	}

	// A page goes from node to node as these are replaced, and back: nobody sees it go.
	carol := old.User(t, "carol")
	steady, others := []*onlooker{ofOld, ofFresh}, []bool{true, false, false, true}
	at := r.node(others[0])
	page := onlook(carol.At(at), "topic=site")
	sees(t, "carol", "online", soon, steady...)
	var stops sync.WaitGroup
	for _, version := range others[1:] {
		next, last := r.node(version), at
		stops.Go(func() { last.Stop(t, syscall.SIGTERM) })
		<-page.ended
		page = onlook(carol.At(next), "topic=site")
		at = next
		sees(t, "carol", "online", soon, page)
	}
	stops.Wait()
	sees(t, "carol", "online", soon, steady...)
	for i, f := range steady {
		if n := f.went("carol"); n > 0 {
			t.Errorf("onlooker %d saw carol go %d times while the page moved between nodes", i, n)
		}
	}

	// What a killed node held is swept by nodes of the other version alone.
	at.Stop(t, syscall.SIGTERM)
	sees(t, "carol", "", soon, steady...)
	dave := onlook(old.User(t, "dave"), "topic=site")
	sees(t, "dave", "online", soon, steady...)
	old.Kill(t)
	<-dave.ended
	sees(t, "dave", "", rollingTTL+soon, ofFresh)

	back := r.node(true)
	back.Ready(t)
	ofBack := onlook(back.Visitor(t), "topic=site")
	erin := onlook(fresh.User(t, "erin"), "topic=site")
	sees(t, "erin", "online", soon, ofBack)
	fresh.Kill(t)
	<-erin.ended
	sees(t, "erin", "", rollingTTL+soon, ofBack)
}
