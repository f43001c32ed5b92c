package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

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

// buildPrevious builds the forum of the previous commit.
func buildPrevious(t *testing.T) (program string) {
	root, dir := need.History(t, previous), t.TempDir()
	archive := exec.Command("git", "-C", root, "archive", "-o", filepath.Join(dir, "old.tar"), previous)
	unpack := exec.Command("tar", "-xf", "old.tar")
	unpack.Dir = dir
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", filepath.Join(dir, "previous"), "./examples/forum")
	build.Dir = dir
	for _, cmd := range []*exec.Cmd{archive, unpack, build} {
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
		}
	}
	return filepath.Join(dir, "previous")
}

// A rollout is a fleet of two versions on one Redis.
type rollout struct {
	t       *testing.T
	redis   *redistest.Server
	program string // of the previous version
	nodes   int
}

// node starts a node of the previous version, or of this one.
func (r *rollout) node(old bool) *forum {
	r.t.Helper()
	r.nodes++
	args := []string{
		"-addr", "127.0.0.1:0", "-redis", r.redis.URL(), "-node", fmt.Sprint("n", r.nodes), "-age", "20s", "-throttle", "1s",
		"-ttl", rollingTTL.String(), "-grace", rollingGrace.String(), "-sweep", "200ms",
	}
	if !old {
		return startBy(r.t, forumCommand(context.WithoutCancel(r.t.Context()), args...))
	}
	cmd := bound.To(exec.CommandContext(context.WithoutCancel(r.t.Context()), r.program, args...), syscall.SIGKILL)
	cmd.Env = append(os.Environ(), "ADDR=", "REDIS_URL=")
	return startBy(r.t, cmd)
}

// kill ends a node at once.
func (f *forum) kill(t *testing.T) {
	t.Helper()
	if err := f.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-f.rest
	_ = f.cmd.Wait()
}

// at is the same browser at another node.
func (v *visitor) at(f *forum) *visitor { return &visitor{t: v.t, url: f.url, client: v.client} }

// An onlooker is a guest's stream that is read all the time.
type onlooker struct {
	mu     sync.Mutex
	status map[string]string // by user, of the users online
	joins  map[string]int    // how often users came, after the first state
	leaves map[string]int
	ended  chan struct{}
}

func (v *visitor) follow(query string) *onlooker {
	v.t.Helper()
	f := &onlooker{status: map[string]string{}, joins: map[string]int{}, leaves: map[string]int{}, ended: make(chan struct{})}
	s := v.stream(query)
	v.t.Cleanup(func() {
		s.close()
		<-f.ended
	})
	go func() {
		defer close(f.ended)
		for e, ok := s.next(); ok; e, ok = s.next() {
			f.take(e)
		}
	}()
	return f
}

func (f *onlooker) take(e event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if e.Type == "state" {
		for id := range f.status {
			if !has(e.Users, id) {
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
	old.ready(t)
	fresh.ready(t)
	ofOld, ofFresh := old.visitor(t).follow("topic=site"), fresh.visitor(t).follow("topic=site")

	// Joins, statuses and sign-outs reach the nodes of the other version.
	alice, bob := old.user(t, "alice"), fresh.user(t, "bob")
	atOld, atFresh := alice.follow("topic=site"), bob.follow("topic=site")
	sees(t, "alice", "online", soon, ofOld, ofFresh, atFresh)
	sees(t, "bob", "online", soon, ofOld, ofFresh, atOld)
	for _, tt := range []struct {
		name    string
		visitor *visitor
		status  string
	}{
		{"alice", alice, "busy"}, {"bob", bob, "away"},
		{"alice", alice.at(fresh), "away"}, {"bob", bob.at(old), "busy"},
	} {
		if res := tt.visitor.do(http.MethodPut, "/presence/status", "application/json", `{"status":"`+tt.status+`"}`); res.status != http.StatusNoContent {
			t.Fatalf("status of %s at %s: got %d, want 204", tt.name, tt.visitor.url, res.status)
		}
		sees(t, tt.name, tt.status, soon, ofOld, ofFresh)
	}
	for _, tt := range []struct {
		name   string
		at     *visitor
		stream *onlooker
	}{{"alice", alice.at(fresh), atOld}, {"bob", bob.at(old), atFresh}} {
		if res := tt.at.post("/logout", nil); res.status != http.StatusSeeOther {
			t.Fatalf("sign %s out: got %d, want 303", tt.name, res.status)
		}
		select {
		case <-tt.stream.ended:
		case <-time.After(2 * time.Second):
			t.Errorf("%s signed out at a node of the other version, and the stream is open after 2 s", tt.name)
		}
		sees(t, tt.name, "", soon, ofOld, ofFresh)
	}

	// A page goes from node to node as these are replaced, and back: nobody sees it go.
	carol := old.user(t, "carol")
	steady, others := []*onlooker{ofOld, ofFresh}, []bool{true, false, false, true}
	at := r.node(others[0])
	page := carol.at(at).follow("topic=site")
	sees(t, "carol", "online", soon, steady...)
	var stops sync.WaitGroup
	for _, version := range others[1:] {
		next, last := r.node(version), at
		stops.Go(func() { last.stop(t, syscall.SIGTERM) })
		<-page.ended
		page = carol.at(next).follow("topic=site")
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
	at.stop(t, syscall.SIGTERM)
	sees(t, "carol", "", soon, steady...)
	dave := old.user(t, "dave").follow("topic=site")
	sees(t, "dave", "online", soon, steady...)
	old.kill(t)
	<-dave.ended
	sees(t, "dave", "", rollingTTL+soon, ofFresh)

	back := r.node(true)
	back.ready(t)
	ofBack := back.visitor(t).follow("topic=site")
	erin := fresh.user(t, "erin").follow("topic=site")
	sees(t, "erin", "online", soon, ofBack)
	fresh.kill(t)
	<-erin.ended
	sees(t, "erin", "", rollingTTL+soon, ofBack)
}
