package hostile_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/examples/forum/internal/forumtest"
	"github.com/rollcall-go/rollcall/internal/redistest"
)

// cursorOf returns the cursor in an event's data.
func cursorOf(t *testing.T, e string) string {
	t.Helper()
	var data struct{ Cursor string }
	if _, text, ok := strings.Cut(e, " "); !ok || json.Unmarshal([]byte(text), &data) != nil || data.Cursor == "" {
		t.Fatalf("no cursor in %s", e)
	}
	return data.Cursor
}

// Where Redis has lost the users of a topic and not its log, whoever comes back gets
// a state, from a node that lives on, and the users are back after a heartbeat.
func TestUsersKeyLost(t *testing.T) {
	t.Parallel()
	for _, lost := range []string{"users", "leases", "log", "head"} {
		t.Run(lost, func(t *testing.T) {
			t.Parallel()
			redis := redistest.Start(t)
			db := redis.Client()
			a := onNode(t, redis.URL(), "a")
			guest := follow(t, a, "topic=site", "")
			cursor := cursorOf(t, guest.until("state", ""))
			alice := follow(t, a, "topic=site", forumtest.UserCookie("alice"))
			guest.until("diff", "alice")
			key := "presence:{site}:" + lost
			if db.Del(t.Context(), key).Val() != 1 {
				t.Fatalf("there is no key %s", key)
			}
			_ = a.Cmd.Process.Signal(syscall.SIGSTOP) // else it may put alice back before node b has started
			b := onNode(t, redis.URL(), "b")
			s, status, err := bare(b).Stream("topic=site&cursor="+cursor, "", false)
			if err != nil {
				t.Fatalf("a stream that goes on: got %d and error %v", status, err)
			}
			defer s.Conn.Close()
			typ, data, err := s.Next()
			if err != nil || typ != "state" && lost != "leases" && lost != "head" {
				t.Errorf("a stream that goes on: got %s %s and error %v, want a state", typ, data, err)
			}
			_ = a.Cmd.Process.Signal(syscall.SIGCONT)
			status, _, text, err := bare(b).Do(http.MethodGet, "/presence/poll?topic=site&wait=1&cursor="+cursor, "", "")
			if err != nil || status != http.StatusOK {
				t.Errorf("a poll that goes on: got %d, error %v and %s, want 200", status, err, text)
			}
			quick := bare(b)
			quick.Wait = 2 * time.Second
			if status, _, _, err := quick.Do(http.MethodGet, "/presence/roster?topic=site", "", ""); err != nil || status != http.StatusOK {
				t.Errorf("the roster after it: got %d and error %v, want 200 at once", status, err)
			}
			within(t, 2*hostileTTL/3+forumtest.FindTime, "alice is in the roster again", func() bool { return strings.Contains(rosterOf(bare(b)).Body, `"alice"`) })
			time.Sleep(hostileTTL / 3) // a heartbeat: all is put back
			alice.close()
			within(t, hostileGrace+hostileTTL, "alice has left", func() bool { return !strings.Contains(rosterOf(bare(b)).Body, `"alice"`) })
			for _, n := range []*forumtest.Node{a, b} {
				if log := n.Logged(); strings.Contains(log, "panic") {
					t.Errorf("the log has a panic: %.2000s", log)
				}
			}
		})
	}
}

// within waits until something holds, and fails where that takes longer than a time
// and what a busy machine takes more.
func within(t *testing.T, d time.Duration, what string, ok func() bool) {
	t.Helper()
	for began := time.Now(); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Since(began) > d+forumtest.Patience/6 {
			t.Errorf("not after %v: %s", time.Since(began).Round(time.Millisecond), what)
			return
		}
	}
}

// Two sites on two databases of one Redis never see each other's users.
func TestDatabasesAreApart(t *testing.T) {
	t.Parallel()
	redis := redistest.StartTCP(t)
	first := onNode(t, redis.URL()+"/0", "a")
	second := onNode(t, redis.URL()+"/1", "b")
	guest := follow(t, second, "topic=site", "")
	guest.until("state", "")
	follow(t, first, "topic=site", forumtest.UserCookie("alice"))
	forumtest.Await(t, "alice on the first", func() bool { return strings.Contains(rosterOf(bare(first)).Body, `"alice"`) })
	events, _ := guest.within(hostileTTL)
	for _, e := range events {
		if strings.Contains(e, "alice") || strings.HasPrefix(e, "diff ") || strings.HasPrefix(e, "state ") {
			t.Errorf("a reader of the second site got %s", e)
		}
	}
	if body := rosterOf(bare(second)).Body; strings.Contains(body, "alice") {
		t.Errorf("the roster of the second site: got %s, want nobody", body)
	}
}

// Who chose to be invisible stays so: after signing in again, and after all nodes
// were restarted while the user was away for longer than the grace.
func TestInvisibleLasts(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	n := onNode(t, redis.URL(), "a")
	guest := follow(t, n, "topic=site", "")
	guest.until("state", "")
	page := follow(t, n, "topic=site", forumtest.UserCookie("alice"))
	guest.until("diff", "alice") // she comes
	client := bare(n)
	if status, _, text, err := client.Do(http.MethodPut, "/presence/status", forumtest.UserCookie("alice"), `{"status":"invisible"}`); status != http.StatusNoContent {
		t.Fatalf("the status: got %d, error %v and %s", status, err, text)
	}
	guest.until("diff", `"leaves":{"alice"`)
	seen := func(when string, reader *followed) {
		t.Helper()
		events, ended := reader.within(2 * time.Second)
		if ended {
			t.Errorf("%s: the guest's stream ended", when)
		}
		for _, e := range events {
			if strings.Contains(e, "alice") {
				t.Errorf("%s: a guest got %s, want nothing of who is invisible", when, e)
			}
		}
	}
	client.Do(http.MethodPost, "/logout", forumtest.UserCookie("alice"), "")
	page.within(forumtest.Patience / 60)
	seen("after signing out", guest)
	page = follow(t, n, "topic=site", forumtest.UserCookie("alice"))
	page.until("state", "")
	seen("after signing in again", guest)
	client.Do(http.MethodGet, "/", forumtest.UserCookie("alice"), "")
	seen("after looking at a page", guest)

	page.close()
	time.Sleep(2 * hostileGrace)
	for i := range 1200 { // many others choose one
		client.From = fmt.Sprint("198.51.100.", 1+i%200)
		client.Do(http.MethodPut, "/presence/status", forumtest.UserCookie(fmt.Sprint("user-", i/4)), fmt.Sprintf(`{"status":%q}`, moods[i%2]))
	}
	client.Close()
	n.Kill()
	b := onNode(t, redis.URL(), "b")
	guest = follow(t, b, "topic=site", "")
	guest.until("state", "")
	follow(t, b, "topic=site", forumtest.UserCookie("alice")).until("state", "")
	seen("after all nodes were restarted", guest)
}

// A node that was cut off while a user signed out ends that user's stream, whatever
// was told meanwhile, and the user stays gone.
func TestSignOutReachesANodeThatWasAway(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	proxy := forumtest.NewHangingProxy(t, "unix", redis.Socket)
	a, b := onNode(t, redis.URL(), "a"), onNode(t, proxy.URL(), "b")
	stream := follow(t, b, "topic=site", forumtest.UserCookie("alice"))
	forumtest.Await(t, "alice", func() bool { return strings.Contains(rosterOf(bare(a)).Body, `"alice"`) })
	proxy.Freeze()
	if status, _, _, err := bare(a).Do(http.MethodPost, "/logout", forumtest.UserCookie("alice"), ""); err != nil || status != http.StatusSeeOther {
		t.Fatalf("the sign-out: got %d and error %v", status, err)
	}
	client := bare(a)
	defer client.Close()
	for i := range 1300 { // goodbyes of pages of other nodes, made up or not, and statuses
		user := forumtest.UserCookie(fmt.Sprint("user-", i/5))
		client.From = fmt.Sprint("198.51.100.", 1+i%200)
		if i%2 == 0 {
			client.Do(http.MethodPut, "/presence/status", user, fmt.Sprintf(`{"status":%q}`, moods[i/2%2]))
		} else {
			client.Do(http.MethodPost, "/presence/leave", user, goodbye(fmt.Sprint("c.", i, "~site")))
		}
	}
	proxy.Thaw()
	if _, ended := stream.within(forumtest.FindTime + forumtest.Patience/6); !ended {
		t.Error("the stream of who signed out goes on")
	}
	time.Sleep(hostileTTL / 3)
	if body := rosterOf(bare(a)).Body; strings.Contains(body, `"alice"`) {
		t.Errorf("who signed out is back: %s", body)
	}
}
