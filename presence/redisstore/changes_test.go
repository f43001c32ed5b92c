package redisstore_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// changes returns the topics that are told for a mark, or "all", and the next mark.
func (k *keeper) changes(mark string) (told, next string) {
	k.Helper()
	c, err := k.Changes(k.Context(), mark)
	noError(k.T, err)
	if c.All {
		return "all", c.Mark
	}
	slices.Sort(c.Topics)
	return fmt.Sprint(c.Topics), c.Mark
}

func TestChanges(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, presence.Keep{})
	wants := func(mark, want string) (next string) {
		t.Helper()
		told, next := k.changes(mark)
		if told != want {
			t.Errorf("got %s, want %s", told, want)
		}
		return next
	}
	mark := wants("", "all")
	k.passes(3 * time.Second)
	mark = wants(mark, "[]")
	k.does(joins("a"))
	older := mark
	mark = wants(mark, "[site]")
	k.passes(3 * time.Second)
	mark = wants(mark, "[site]") // once more, since it changed within a second of the mark
	k.passes(3 * time.Second)
	mark = wants(mark, "[]")
	k.does(of(backend.OpHeartbeat, "a"))
	wants(mark, "[]")
	if got := k.client.ZCard(t.Context(), "presence:{index}:changed").Val(); got != 1 {
		t.Errorf("%d topics are noted, want 1", got)
	}

	k.passes(time.Minute) // since that mark
	wants(older, "all")
	k.passes(2 * time.Minute)
	k.does(joins("b"))
	for range 3 { // an old note goes with a new one
		applyAll(t, k.Store, []backend.Batch{{Topic: "thread:1", Ops: []backend.Op{joins("a")}}})
		k.passes(time.Minute)
	}
	if got := k.client.ZRange(t.Context(), "presence:{index}:changed", 0, -1).Val(); !slices.Equal(got, []string{"thread:1"}) {
		t.Errorf("the topics %q are noted, want the one that changed lately", got)
	}

	mark = wants("", "all")
	k.passes(-time.Second)
	wants(mark, "all") // the clock was set back
	mark = wants("", "all")
	noError(t, k.client.FlushAll(t.Context()).Err())
	mark = wants(mark, "all")
	wants(mark, "[]")

	for part := range 11 {
		var batches []backend.Batch
		for i := range 500 {
			batches = append(batches, backend.Batch{Topic: presence.Topic(fmt.Sprint("thread:", part*500+i)), Ops: []backend.Op{joins("a")}})
		}
		applyAll(t, k.Store, batches)
	}
	wants(mark, "all") // more than an answer has
}

// A server that lost its scripts gets their source again, after the note of a topic.
func TestChangesOfAScriptThatIsSentAgain(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, presence.Keep{})
	k.does(joins("a"))
	_, mark := k.changes("")
	noError(t, k.client.ScriptFlush(t.Context()).Err())
	k.does(joins("b"))
	if told, _ := k.changes(mark); told != "[site]" {
		t.Errorf("got %s, want the site", told)
	}
}
