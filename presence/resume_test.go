package presence_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

func TestResume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, presence.NewMemoryStore(), presence.Config{})
		seen := func(id string) { tracker.Seen(presence.Site, user(id)); time.Sleep(100 * time.Millisecond) }
		seen("alice")
		first := openPage(t, tracker, presence.ConnectOptions{})
		first.want("state alice")
		at := first.conn.Cursor()

		resume := func(from presence.Cursor, want ...string) {
			t.Helper()
			p := openPage(t, tracker, presence.ConnectOptions{Cursor: from})
			p.roster["site"] = map[string]string{"alice": "-"}
			if from == at {
				p.cursor["site"] = string(at)
			}
			p.want(want...)
			p.conn.Close()
		}
		resume(at)
		seen("bob")
		seen("carol")
		if err := tracker.SignOut(t.Context(), "bob"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		resume(at, "diff +carol -")
		seen("bob")
		resume(at, "diff +bob,carol -")
		for _, garbage := range []presence.Cursor{"x", "~~~", "site.0", "\x00", presence.Cursor(strings.Repeat("a", 1<<20)), presence.Cursor(strings.Repeat("~", 1<<10)), at + "x"} {
			resume(garbage, "state alice,bob,carol")
		}
	})
}

func TestResumeAfterTheTopicWasForgottenHere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, presence.NewMemoryStore(), presence.Config{})
		tracker.Seen(presence.Site, user("alice"))
		p := openPage(t, tracker, presence.ConnectOptions{})
		p.want("state alice")
		at := p.conn.Cursor()
		p.conn.Close()
		tracker.Seen(presence.Site, user("bob"))
		time.Sleep(2 * time.Minute)
		if got := tracker.Stats().Topics; got != 0 {
			t.Fatalf("got %d topics in memory that nobody looks at, want 0", got)
		}
		back := openPage(t, tracker, presence.ConnectOptions{Cursor: at})
		back.roster["site"] = map[string]string{"alice": "-"}
		back.want("diff +bob -")
	})
}

func TestMerging(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := presence.NewMemoryStore()
		tracker := start(t, store, presence.Config{})
		signOut := func(id presence.UserID) { // elsewhere
			store.Apply(t.Context(), []presence.Batch{{Topic: presence.Site, Ops: []presence.Op{{Kind: presence.OpSignOut, User: presence.User{ID: id}}}}})
		}
		w := openPage(t, tracker, presence.ConnectOptions{})
		w.want("state ")
		tracker.Seen(presence.Site, user("alice"))
		time.Sleep(time.Millisecond)
		synctest.Wait()
		if got := w.read(); !slices.Equal(got, []string{"diff +alice -"}) {
			t.Errorf("the first change after a quiet moment: got %q, want it at once", got)
		}
		for i := range 10 {
			tracker.Seen(presence.Site, user(fmt.Sprint("u", i)))
			time.Sleep(4 * time.Millisecond)
		}
		signOut("u9")    // came and went inside the window
		signOut("alice") // was there, and is again
		tracker.Seen(presence.Site, user("alice"))
		w.want("diff +u0,u1,u2,u3,u4,u5,u6,u7,u8 -")
	})
}
