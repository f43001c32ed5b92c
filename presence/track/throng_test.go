package track_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// throng is a topic whose users come and go at another node.
const throng presence.Topic = "throng"

func holderOf(id string) presence.Holder { return presence.Holder("elsewhere." + id) }

// come lets users come to the throng as from another node, a millisecond apart.
func come(t *testing.T, store backend.Store, ids ...string) {
	t.Helper()
	for _, id := range ids {
		stepIn(t, store, throng, backend.Op{Kind: backend.OpJoin, User: user(id), Holder: holderOf(id), For: time.Hour})
		time.Sleep(time.Millisecond)
	}
}

func leave(t *testing.T, store backend.Store, ids ...string) {
	t.Helper()
	for _, id := range ids {
		stepIn(t, store, throng, backend.Op{Kind: backend.OpRelease, User: user(id), Holder: holderOf(id)})
	}
}

// stepIn applies an operation as another node does: at once, and as one step.
func stepIn(t *testing.T, store backend.Store, topic presence.Topic, op backend.Op) {
	t.Helper()
	noError(t, store.Apply(context.Background(), []backend.Batch{{Topic: topic, Ops: []backend.Op{op}}})[0].Err)
}

// span returns the ids u<from>, …, u<to-1>.
func span(from, to int) (ids []string) {
	for i := from; i < to; i++ {
		ids = append(ids, fmt.Sprint("u", i))
	}
	return ids
}
