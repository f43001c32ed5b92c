package redisstore_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rollcall-go/rollcall/internal/redistest"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/redisstore"
)

func changesOf(t *testing.T, store backend.Store, mark string) (backend.Changes, error) {
	p, err := store.Poll(t.Context(), backend.Poll{Mark: mark})
	return p.Changes, err
}

// changes returns the topics that are told for a mark, or "all", and the next mark.
func (k *keeper) changes(mark string) (told, next string) {
	k.Helper()
	p, err := k.Poll(k.Context(), backend.Poll{Mark: mark})
	noError(k.T, err)
	c := p.Changes
	if c.All {
		return "all", c.Mark
	}
	slices.Sort(c.Topics)
	return fmt.Sprint(c.Topics), c.Mark
}

func (k *keeper) wantsChanges(mark, want string) (next string) {
	k.Helper()
	told, next := k.changes(mark)
	if told != want {
		k.Errorf("got %s, want %s", told, want)
	}
	return next
}

func TestChanges(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, presence.Keep{})
	mark := k.wantsChanges("", "all")
	mark = k.wantsChanges(mark, "[]")
	k.does(joins("a"))
	first := mark
	mark = k.wantsChanges(mark, "[site]")
	mark = k.wantsChanges(mark, "[]")
	k.does(of(backend.OpHeartbeat, "a"))
	mark = k.wantsChanges(mark, "[]")
	k.passes(-time.Hour) // the clock was set back
	applyAll(t, k.Store, []backend.Batch{{Topic: "thread:1", Ops: []backend.Op{joins("a")}}})
	mark = k.wantsChanges(mark, "[thread:1]")
	k.wantsChanges(first, "[site thread:1]")

	noError(t, k.client.FlushAll(t.Context()).Err())
	mark = k.wantsChanges(mark, "all")
	mark = k.wantsChanges(mark, "[]")

	for part := range 11 {
		var batches []backend.Batch
		for i := range 500 {
			batches = append(batches, backend.Batch{Topic: presence.Topic(fmt.Sprint("thread:", part*500+i)), Ops: []backend.Op{joins("a")}})
		}
		applyAll(t, k.Store, batches)
	}
	k.wantsChanges(mark, "all") // more than an answer has
	if got := k.client.ZCard(t.Context(), "presence:{~index}:changed").Val(); got != 5002 {
		t.Errorf("the set has %d members, want 5,000 topics and two", got)
	}
}

// A server that lost its scripts gets their source again, and then the note of a topic.
func TestChangesOfAScriptThatIsSentAgain(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, presence.Keep{})
	k.does(joins("a"))
	_, mark := k.changes("")
	noError(t, k.client.ScriptFlush(t.Context()).Err())
	k.does(joins("b"))
	k.wantsChanges(mark, "[site]")
	// The note is known, and the script before it is not.
	noError(t, k.client.ScriptFlush(t.Context()).Err())
	applyAll(t, k.Store, []backend.Batch{{Topic: "thread:1", Ops: []backend.Op{joins("a")}}})
	noError(t, k.client.ScriptFlush(t.Context()).Err())
	_, mark = k.changes("")
	k.does(of(backend.OpRelease, "b"))
	k.wantsChanges(mark, "[site]")
}

// A server that starts again with its file is another one: what was lost is not told.
func TestChangesAfterARestart(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client := server.Client()
	store := redisstore.New(client, redisstore.Config{Timeout: patience})
	defer store.Close()
	apply(t, store, joins("a"))
	c, err := changesOf(t, store, "")
	noError(t, err)
	noError(t, client.Save(t.Context()).Err())
	c, err = changesOf(t, store, c.Mark)
	noError(t, err)
	if c.All || len(c.Topics) > 0 {
		t.Errorf("before: got %+v, want nothing", c)
	}
	server.Kill()
	server.Run()
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		got, err := changesOf(t, store, c.Mark)
		if err == nil {
			if !got.All || got.Mark == "" {
				t.Errorf("after: got %+v, want that all may have changed", got)
			}
			return
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

// While a node of the fleet notes nothing, since its client may be one of a cluster, nobody relies on the notes.
func TestChangesOfAMixedFleet(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, presence.Keep{})
	_, mark := k.changes("")
	other := redisstore.New(struct{ redis.UniversalClient }{k.client}, redisstore.Config{Timeout: patience})
	defer other.Close()
	apply(t, other, joins("a"))
	if c, err := changesOf(t, k.Store, mark); err != nil || !c.All || c.Mark != "" {
		t.Errorf("got %+v, %v, want that all may have changed, and no mark", c, err)
	}
	if c, err := changesOf(t, other, mark); err != nil || !c.All || c.Mark != "" {
		t.Errorf("the other node got %+v, %v, want the same", c, err)
	}
}

// A user who may not ask INFO is told all the same.
func TestChangesWithoutInfo(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	store := redisstore.New(limited(t, client, "~presence:*", "resetchannels", "&presence:*", "+@all", "-@admin", "-info", "-keys"), redisstore.Config{Timeout: patience})
	defer store.Close()
	c, err := changesOf(t, store, "")
	noError(t, err)
	apply(t, store, joins("a"))
	if c, err = changesOf(t, store, c.Mark); err != nil || c.All || len(c.Topics) != 1 {
		t.Errorf("got %+v, %v, want the site", c, err)
	}
}
