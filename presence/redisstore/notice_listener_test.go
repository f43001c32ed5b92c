package redisstore_test

import (
	"sync"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/internal/redistest"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/redisstore/internal/storetest"
)

// noticeLate is as in the package: from when on a notice says that it is late.
const noticeLate = time.Second

// signedOut returns the user who signed out by a notice, or "".
func signedOut(n backend.Notice) presence.UserID {
	if n.Kind != backend.NoticeSignedOut {
		return ""
	}
	return n.User
}

// A notice reaches a node whose subscription was broken when it was told, once,
// and says how late it is; and so does one from before the node listened.
func TestNoticesThatNobodyPublishes(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client := server.Client()
	a, b := storetest.New(t, server), storetest.New(t, server)
	polls(t, b)
	tell := func(user presence.UserID) {
		t.Helper()
		noError(t, a.Publish(t.Context(), backend.SignOutNotice(user)))
		noError(t, client.Do(t.Context(), "CLIENT", "KILL", "TYPE", "pubsub").Err())
	}
	heard, goOn := make(chan backend.Notice, 10), make(chan struct{})
	hear := func(want presence.UserID) backend.Notice {
		t.Helper()
		select {
		case n := <-heard:
			if signedOut(n) != want {
				t.Errorf("heard %+v, want that %s signed out", n, want)
			}
			return n
		case <-time.After(patience):
			t.Fatalf("%s was not heard", want)
			panic("unreachable")
		}
	}
	tell("before")
	time.Sleep(noticeLate + 100*time.Millisecond)
	var once sync.Once
	stop, err := b.Listen(t.Context(), func(n backend.Notice) {
		if heard <- n; signedOut(n) != "before" {
			once.Do(func() { <-goOn }) // what comes meanwhile is late
		}
	})
	noError(t, err)
	defer stop()
	if n := hear("before"); n.Ago <= noticeLate {
		t.Errorf("heard %+v, want how late it is", n)
	}

	told := time.Now()
	tell("first")
	if n := hear("first"); n.Ago > time.Since(told)+time.Millisecond { // a log tells milliseconds, so that 0.2 ms may be 1 ms
		t.Errorf("heard %+v, want that it is not late", n)
	}
	tell("second")
	time.Sleep(noticeLate + 100*time.Millisecond)
	close(goOn)
	if n := hear("second"); n.Ago <= noticeLate {
		t.Errorf("heard %+v, want how late it is", n)
	}
	select {
	case n := <-heard:
		t.Errorf("heard %+v too, want no more", n)
	case <-time.After(1500 * time.Millisecond):
	}
}
