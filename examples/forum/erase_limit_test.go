package main

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/examples/forum/internal/forumtest"
)

// An address that asks for many erasures has to wait, and keeps no other one waiting.
func TestEraseLimit(t *testing.T) {
	var l eraseLimit
	now := time.Now()
	for range eraseAtOnce {
		if wait := l.wait("a", now); wait != 0 {
			t.Fatalf("got %v, want no wait", wait)
		}
	}
	if wait := l.wait("a", now.Add(time.Second)); wait != eraseEvery-time.Second {
		t.Errorf("got %v, want %v", wait, eraseEvery-time.Second)
	}
	if wait := l.wait("b", now); wait != 0 {
		t.Errorf("another address: got %v, want no wait", wait)
	}
	if wait := l.wait("a", now.Add(eraseEvery)); wait != 0 {
		t.Errorf("later: got %v, want no wait", wait)
	}
	for i := range 2 * maxAddresses {
		l.wait(fmt.Sprint(i), now)
	}
	if len(l.full) > maxAddresses+1 {
		t.Errorf("%d addresses are remembered", len(l.full))
	}
}

// A flood of made-up members who erase themselves is refused after a few, with a reason.
func TestEraseFlood(t *testing.T) {
	t.Parallel()
	f := forumtest.Start(t)
	for i := range eraseAtOnce + 1 {
		id := fmt.Sprint("made-up", i)
		res := f.User(t, id).Post("/settings/erase", url.Values{"confirm": {id}})
		switch {
		case i < eraseAtOnce && res.Status != http.StatusOK && res.Status != http.StatusSeeOther:
			t.Fatalf("%s: got %d, want 303", id, res.Status)
		case i == eraseAtOnce && (res.Status != http.StatusTooManyRequests || res.Header.Get("Retry-After") == "" || !strings.Contains(res.Body, "from your address")):
			t.Errorf("got %d, want 429, Retry-After and why\n%s", res.Status, res.Body)
		}
	}
}
