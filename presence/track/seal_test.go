package track_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
)

// A connection's id begins with 56 random bits, so that the ids beside it name nobody.
func TestIDsCannotBeCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, memstore.New(), track.Config{Node: "a"})
		seen := make(map[presence.Holder]bool)
		shared := 16
		var before string
		for range 100 {
			c := connect(t, tracker, track.ConnectOptions{})
			process := c.ID().Process()
			id, inside := strings.CutPrefix(string(c.ID()), process+".")
			if !strings.HasPrefix(process, "a.") || !inside || len(id) != 20 || seen[c.ID()] {
				t.Fatalf("got id %q, want a new one of 20 characters after the names of the node and the process", c.ID())
			}
			seen[c.ID()] = true
			n := 0
			for before != "" && n < len(id) && id[n] == before[n] {
				n++
			}
			shared, before = min(shared, n), id
		}
		if shared > 0 {
			t.Errorf("all ids begin with the same %d characters, want random ones", shared)
		}
	})
}

// A token that the fleet did not make costs the store nothing: no operation, no
// notice, whatever it names.
func TestForeignTokensCostTheStoreNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := presencetest.NewFaults(memstore.New())
		a := start(t, store, track.Config{Node: "a"})
		other := start(t, memstore.New(), track.Config{Node: "a"})
		mine := connect(t, a, track.ConnectOptions{Visitor: visitor("alice")})
		stolen := connect(t, other, track.ConnectOptions{Visitor: visitor("alice")}).Token()
		parts := strings.Split(string(mine.Token()), "~")
		time.Sleep(2 * time.Second) // the node has told of itself
		applied, told := store.Calls(presencetest.CallApply), store.Calls(presencetest.CallPublish)
		for _, token := range []presence.Token{
			"x.1~evil-1~evil-2", stolen, presence.Token(strings.Join(parts[:len(parts)-1], "~")),
			presence.Token(strings.Replace(string(mine.Token()), "~site~", "~site~evil~", 1)),
			presence.Token(strings.Replace(string(mine.Token()), "a.", "b.", 1)),
			mine.Token() + "A", mine.Token()[:len(mine.Token())-1],
		} {
			for name, call := range map[string]func() error{
				"Beat": func() error { _, err := a.Beat(t.Context(), token, presence.Visitor{}, track.Page{}); return err },
				"Follow": func() error {
					_, err := a.Beat(t.Context(), token, presence.Visitor{}, track.Page{Joined: true})
					return err
				},
				"Leave": func() error { return a.Leave(t.Context(), token, presence.Visitor{}) },
				"Attend": func() error {
					_, err := a.Beat(t.Context(), token, presence.Visitor{}, idlePage(true))
					return err
				},
			} {
				if err := call(); !errors.Is(err, presence.ErrForeignToken) {
					t.Errorf("%s(%q): got %v, want ErrForeignToken", name, token, err)
				}
			}
		}
		time.Sleep(2 * time.Second) // after 4 s the new lease is looked at
		if got := store.Calls(presencetest.CallApply) - applied; got != 0 {
			t.Errorf("got %d calls of Apply, want none", got)
		}
		if got := store.Calls(presencetest.CallPublish) - told; got != 0 {
			t.Errorf("got %d calls of Notify, want none", got)
		}
		if mine.Err() != nil {
			t.Errorf("the connection ended: %v", mine.Err())
		}
		// The token alone proves: no cookie is needed.
		if alive, err := a.Beat(t.Context(), mine.Token(), presence.Visitor{}, track.Page{}); err != nil || !alive {
			t.Errorf("the page's own: got %v, %v, want true", alive, err)
		}
	})
}

// A guest's token does nothing in another guest's hands.
func TestTokenOfAnotherGuest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, memstore.New(), track.Config{Node: "a"})
		c := connect(t, tracker, track.ConnectOptions{Visitor: presence.Visitor{Guest: "g1"}})
		if err := tracker.Leave(t.Context(), c.Token(), presence.Visitor{Guest: "g2"}); err != nil || c.Err() != nil {
			t.Errorf("by another guest: got %v, and the connection's %v, want nil", err, c.Err())
		}
		if err := tracker.Leave(t.Context(), c.Token(), presence.Visitor{Guest: "g1"}); err != nil || c.Err() == nil {
			t.Errorf("by its own guest: got %v, and the connection is still open", err)
		}
	})
}

// Nodes share the secret that the first of them offered; a site may give one; and
// after a wipe the nodes' own goes on, so that pages need not connect again.
func TestSecretOfTheFleet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faults := presencetest.NewFaults(memstore.New())
		a, b := pair(t, faults)
		synctest.Wait()
		mac, ok := a.Sign("guest", "x")
		if !ok || !b.Verify("guest", "x", mac) || b.Verify("guest", "y", mac) || b.Verify("other", "x", mac) {
			t.Error("want a node to verify what another signed, and nothing else")
		}
		own := start(t, faults, track.Config{Node: "c", Secret: []byte("0123456789abcdef")})
		if other, _ := own.Sign("guest", "x"); other == mac {
			t.Error("a site's own secret made no difference")
		}
		if _, err := track.New(faults, track.Config{Secret: []byte("short")}); !errors.Is(err, presence.ErrInvalidConfig) || !strings.Contains(err.Error(), "Secret") {
			t.Errorf("got %v, want ErrInvalidConfig that names Secret", err)
		}
	})
}

// While the store was never reached, nothing is signed and nothing verified.
func TestNoSecretYet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faults := presencetest.NewFaults(memstore.New())
		faults.Break(presencetest.Fault{Err: errDown})
		a := start(t, faults, track.Config{})
		time.Sleep(10 * time.Second)
		if mac, ok := a.Sign("guest", "x"); ok || a.Verify("guest", "x", mac) {
			t.Error("got a signature without a secret")
		}
		faults.Heal()
		time.Sleep(5 * time.Second)
		if mac, ok := a.Sign("guest", "x"); !ok || !a.Verify("guest", "x", mac) {
			t.Error("got no signature once the store was back")
		}
	})
}

// MACs are made with hashes that are used again. A long text before does not change the MAC
// of a short one, and neither do others at the same time.
func TestMACsDoNotMix(t *testing.T) {
	secret := []byte("not much of a secret")
	one, two := start(t, memstore.New(), track.Config{Secret: secret}), start(t, memstore.New(), track.Config{Secret: secret})
	want, known := one.Sign("guest", "short")
	if !known {
		t.Fatal("the secret is not known")
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for n := range 200 {
				long, _ := two.Sign("guest", strings.Repeat("x", n*10))
				if got, _ := two.Sign("guest", "short"); got != want || got == long {
					t.Errorf("got MAC %x beside %x, want %x", got, long, want)
				}
			}
		})
	}
	all.Wait()
	if got, _ := one.Sign("gues", "tshort"); got == want {
		t.Error("got the same MAC for another purpose")
	}
}
