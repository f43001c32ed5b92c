package redisstore_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rollcall-go/rollcall/internal/redistest"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/redisstore"
	"github.com/rollcall-go/rollcall/presence/redisstore/internal/storeclock"
)

// A keeper is a store with a clock of its own, which keeps more of the site than who is
// online.
type keeper struct {
	*testing.T
	*redisstore.Store
	client *redis.Client
	clock  atomic.Int64 // Unix ms
	keep   presence.Keep
}

// keeperStart is a whole minute.
var keeperStart = time.Unix(60*29_000_000, 0)

func newKeeper(t *testing.T, keep presence.Keep) *keeper {
	k := &keeper{T: t, client: redistest.Start(t).Client(), keep: keep}
	k.clock.Store(keeperStart.UnixMilli())
	k.Store = redisstore.New(storeclock.Client{UniversalClient: k.client, Now: k.now}, redisstore.Config{Timeout: patience})
	t.Cleanup(func() { k.Close() })
	return k
}

func (k *keeper) now() time.Time         { return time.UnixMilli(k.clock.Load()) }
func (k *keeper) passes(d time.Duration) { k.clock.Add(d.Milliseconds()) }

// does applies a batch to the site.
func (k *keeper) does(ops ...backend.Op) {
	k.Helper()
	applyKeeping(k.T, k.Store, k.keep, ops...)
}

// recent returns the page as "total: user user-offline …".
func (k *keeper) recent(q backend.RecentQuery) string {
	k.Helper()
	if q.Limit == 0 {
		q.Limit = 1000
	}
	page, err := k.Recent(k.Context(), presence.Site, q)
	noError(k.T, err)
	words := []string{fmt.Sprint(page.Total)}
	for _, u := range page.Users {
		word := string(u.ID)
		if !u.Online {
			word += "-"
		}
		if u.Name != "Name of "+string(u.ID) {
			word += "(" + u.Name + ")"
		}
		words = append(words, word)
	}
	if page.Next != "" {
		words = append(words, "…")
	}
	return strings.Join(words, " ")
}

func (k *keeper) wants(got, want string) {
	k.Helper()
	if got != want {
		k.Errorf("got %q, want %q", got, want)
	}
}

func named(id string) presence.User {
	return presence.User{ID: presence.UserID(id), Name: "Name of " + id}
}

func seen(id string) backend.Op {
	return backend.Op{Kind: backend.OpSeen, User: named(id), For: 5 * time.Minute}
}

func joins(id string) backend.Op {
	return backend.Op{Kind: backend.OpJoin, User: named(id), Holder: "n.1", For: 10 * time.Minute}
}

func of(kind backend.OpKind, id string) backend.Op {
	return backend.Op{Kind: kind, User: presence.User{ID: presence.UserID(id)}, Holder: "n.1"}
}

// keys are the site's keys of these names that are there.
func (k *keeper) keys(names ...string) (there []string) {
	for _, name := range names {
		if k.client.Exists(k.Context(), "presence:{site}:"+name).Val() == 1 {
			there = append(there, name)
		}
	}
	return there
}

// counts returns the figures of the site.
func (k *keeper) counts() backend.Counts {
	k.Helper()
	c, err := k.Counts(k.Context(), presence.Site)
	noError(k.T, err)
	return c[0]
}

// guest returns an operation of a guest.
func guest(kind backend.OpKind, id string) backend.Op {
	return backend.Op{Kind: kind, Guest: id, For: guestPeriod}
}
