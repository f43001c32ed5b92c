package redisstore_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// endless returns the keys without an end, or with a later one than two days from now.
func (k *keeper) endless() (keys []string) {
	k.Helper()
	for all := k.client.Scan(k.Context(), 0, "*", 1000).Iterator(); all.Next(k.Context()); {
		left, err := k.client.PTTL(k.Context(), all.Val()).Result()
		noError(k.T, err)
		if left < 0 || left > 48*time.Hour {
			keys = append(keys, all.Val())
		}
	}
	slices.Sort(keys)
	return keys
}

// What a fleet leaves behind ends by itself, but the records and the secret.
func TestKeysEnd(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, presence.Keep{Names: 10, Active: true, Peak: true})
	user := func(id presence.UserID) presence.User { return presence.User{ID: id, Name: string(id)} }
	fill := func() {
		t.Helper()
		k.does(
			backend.Op{Kind: backend.OpJoin, User: user("a"), Holder: "n.1", For: time.Minute},
			backend.Op{Kind: backend.OpSeen, User: user("b"), For: 5 * time.Minute},
			backend.Op{Kind: backend.OpJoin, User: presence.User{ID: "c", Status: presence.Invisible}, Holder: "n.2", For: time.Minute},
			backend.Op{Kind: backend.OpGuest, Guest: "g", For: 5 * time.Minute},
			backend.Op{Kind: backend.OpBot, Guest: "h", Bot: "Googlebot", For: 5 * time.Minute},
			backend.Op{Kind: backend.OpJoin, User: user("d"), Holder: "n.3", For: time.Minute},
		)
		k.does(backend.Op{Kind: backend.OpRelease, User: user("d"), Holder: "n.3"})
	}
	for range 3 { // the sets turn
		fill()
		noError(t, errorOf(k.Age(t.Context(), 5*time.Minute)))
		noError(t, errorOf(k.Sweep(t.Context(), backend.SweepOptions{Limit: 100, Nodes: true})))
		k.passes(5 * time.Minute)
	}
	fill()
	noError(t, k.Publish(t.Context(), backend.SignOutNotice("a")))
	_, err := k.PutStatus(t.Context(), "a", backend.ChosenStatus{Status: presence.Busy}, false)
	noError(t, err)
	_, err = k.Secret(t.Context(), make([]byte, 32))
	noError(t, err)
	_, err = k.Poll(t.Context(), backend.Poll{Process: "n", Term: time.Second})
	noError(t, err)
	k.passes(time.Minute)
	noError(t, errorOf(k.Sweep(t.Context(), backend.SweepOptions{Limit: 100, Nodes: true})))
	_, err = k.ClaimConsumer(t.Context(), "mailer", backend.ConsumerClaim{Holder: "h", For: time.Minute, Create: true})
	noError(t, err)
	_, err = k.CommitConsumer(t.Context(), "mailer", backend.ConsumerStep{Holder: "h", For: time.Minute, Set: map[string]string{"begun": "1"}})
	noError(t, err)
	_, err = k.AddErasure(t.Context(), "z", time.Minute)
	noError(t, err)
	want := []string{"presence:{site}:peak", "presence:{~index}:fleet"}
	if got := k.endless(); !slices.Equal(got, want) {
		t.Errorf("got keys without an end %q, want %q", got, want)
	}
}

// While a node runs, its sweeps lengthen the life of what it keeps.
func TestKeysStay(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, presence.Keep{})
	k.does(
		backend.Op{Kind: backend.OpJoin, User: presence.User{ID: "a"}, Holder: "n.1", For: 24 * time.Hour},
		backend.Op{Kind: backend.OpJoin, User: presence.User{ID: "b"}, Holder: "n.2", For: time.Minute})
	k.does(backend.Op{Kind: backend.OpRelease, User: presence.User{ID: "b"}, Holder: "n.2"})
	noError(t, k.Publish(t.Context(), backend.SignOutNotice("a")))
	noError(t, errorOf(k.PutStatus(t.Context(), "a", backend.ChosenStatus{Status: presence.Busy}, false)))
	soon := func() (all []string) {
		for keys := k.client.Scan(t.Context(), 0, "*", 1000).Iterator(); keys.Next(t.Context()); {
			if left, err := k.client.PTTL(t.Context(), keys.Val()).Result(); err == nil && left > time.Minute && left <= time.Hour {
				all = append(all, keys.Val())
			}
		}
		return all
	}
	shorten := func() {
		t.Helper()
		for keys := k.client.Scan(t.Context(), 0, "*", 1000).Iterator(); keys.Next(t.Context()); {
			if !strings.HasSuffix(keys.Val(), ":fleet") && !strings.HasSuffix(keys.Val(), ":memory") { // which ends within seconds
				noError(t, k.client.PExpire(t.Context(), keys.Val(), time.Hour).Err())
			}
		}
		if len(soon()) < 8 {
			t.Fatalf("got keys %q, want more", soon())
		}
	}
	for _, pause := range []time.Duration{11 * time.Minute, 6*time.Hour + time.Minute} {
		shorten()
		noError(t, errorOf(k.Sweep(t.Context(), backend.SweepOptions{Limit: 100})))
		k.passes(pause)
		noError(t, errorOf(k.Sweep(t.Context(), backend.SweepOptions{Limit: 100})))
		if got := soon(); len(got) > 0 {
			t.Errorf("after %v the keys %q end within an hour, want them to stay", pause, got)
		}
	}
}
