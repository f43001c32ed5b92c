package track_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/deliver"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
)

func (s *swapStore) ClaimConsumer(ctx context.Context, consumer string, claim backend.ConsumerClaim) (backend.ConsumerClaimed, error) {
	return s.now().ClaimConsumer(ctx, consumer, claim)
}

func (s *swapStore) CommitConsumer(ctx context.Context, consumer string, step backend.ConsumerStep) (backend.ConsumerState, error) {
	return s.now().CommitConsumer(ctx, consumer, step)
}

func (s *swapStore) ReadConsumer(ctx context.Context, consumer string) (map[string]string, error) {
	return s.now().ReadConsumer(ctx, consumer)
}

// After a wipe each topic and kind has a gap, and then who came and who is gone is told. Users who stayed are not told
// again, unless the node that led dies with the data: then everybody who is there joins once more.
func TestDeliverWipe(t *testing.T) {
	for dies, want := range map[bool]string{
		false: "site ! +new _u0, thread:* !, thread:0 ! _u0, thread:1 ! +new, thread:2 +new",
		true:  "site ! +new +u1 +u2 +u3, thread:* !, thread:0 +u2, thread:1 +new +u1 +u3, thread:2 +new",
	} {
		bubble(t, fmt.Sprintf("dies=%v", dies), func(t *testing.T) {
			store := newSwapStore()
			p := newTwin(t, store, presence.Site, deliver.AllOf("thread"))
			var pages []*page
			for i := range 4 {
				pages = append(pages, in(t, p.b, fmt.Sprint("u", i), presence.Site, presence.Topic(fmt.Sprint("thread:", i%2))))
				time.Sleep(time.Second)
			}
			p.want(10*time.Minute, "site +u0 +u1 +u2 +u3, thread:0 +u0 +u2, thread:1 +u1 +u3")
			if dies {
				p.dies()
			}
			store.wipe()
			pages[0].conn.Close() // nobody restores u0
			time.Sleep(10 * time.Millisecond)
			in(t, p.b, "new", presence.Site, "thread:1", "thread:2")
			time.Sleep(time.Minute)
			var got []string // in any order
			for topic := range strings.SplitSeq(p.read(), ", ") {
				words := strings.Fields(topic)
				slices.Sort(words[1:])
				got = append(got, strings.Join(words, " "))
			}
			if got := strings.Join(got, ", "); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
			if got, want := strings.Join(record(t, store, "t/"), " "), "t/site/new t/site/u1 t/site/u2 t/site/u3 t/thread:0/u2 t/thread:1/new t/thread:1/u1 t/thread:1/u3 t/thread:2/new"; got != want {
				t.Errorf("got the record %s, want %s", got, want)
			}
			pages[1].goes(p.b, "u1")
			p.want(3*time.Second, "site -u1, thread:1 -u1")
		})
	}
}

// The store is away for longer than a node holds the record, and begins with an old file of it. The node that led goes
// first, and writes what it knows, without a user who was erased meanwhile.
func TestDeliverOldFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, file := newSwapStore(), memstore.New()
		p := newTwin(t, store)
		in(t, p.a, "alice")
		p.want(10*time.Second, "+alice")
		old, err := store.ReadConsumer(t.Context(), "program")
		noError(t, err)
		in(t, p.b, "bob")
		p.want(10*time.Second, "+bob")
		p.dies()
		p.others.Break(presencetest.Fault{Err: errDown})
		time.Sleep(10 * time.Second) // a does not lead any more
		noError(t, start(t, store, quiet).Erase(t.Context(), "alice"))
		time.Sleep(10 * time.Second)
		_, err = file.ClaimConsumer(t.Context(), "program", backend.ConsumerClaim{Holder: "of the file", For: time.Second, Create: true})
		noError(t, err)
		_, err = file.CommitConsumer(t.Context(), "program", backend.ConsumerStep{Holder: "of the file", Set: old})
		noError(t, err)
		store.goOnAs(file)
		p.others.Heal()
		time.Sleep(2 * time.Second)
		p.faults.Heal()
		p.want(time.Minute, "!")
		if !statsOf(p.a).Leads {
			t.Error("want the node that led to go on")
		}
		if got := strings.Join(record(t, store, ""), " "); got != "p/site steps t/site/bob" {
			t.Errorf("got the record %s, want a position, and bob alone", got)
		}
	})
}

// The store fails over to a copy in which users are still there whose leave was told. They
// are not told as new, and who really stays is.
func TestDeliverRevived(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, replica := newSwapStore(), memstore.New()
		p, _ := newProgram(t, store, deliver.Options{})
		apply := func(store backend.Store, kind backend.OpKind, name string, lasts time.Duration) {
			store.Apply(t.Context(), []backend.Batch{{Topic: presence.Site, Ops: []backend.Op{
				{Kind: kind, User: user(name), Holder: "x.1", For: lasts},
			}}})
		}
		for name, lasts := range map[string]time.Duration{"ghost": 40 * time.Second, "stays": time.Hour, "returns": time.Hour} {
			apply(store, backend.OpJoin, name, lasts)
			apply(replica, backend.OpJoin, name, lasts)
		}
		time.Sleep(time.Second)
		p.read()
		apply(store, backend.OpRelease, "ghost", 0)
		apply(store, backend.OpRelease, "returns", 0) // and somebody goes on to renew the lease in the copy
		time.Sleep(time.Second)
		p.read()
		store.goOnAs(replica)
		p.want(50*time.Second, "!")
		p.want(time.Minute, "+returns")
	})
}
