package redisstore_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/redisstore"
	"github.com/rollcall-go/rollcall/presence/redisstore/internal/storetest"
)

// An oldNode is what a node of version 1 hears and reads.
type oldNode struct {
	*testing.T
	client   redis.UniversalClient
	messages chan *redis.Message
}

// newOldNode subscribes as version 1 does. On a cluster of Redis 7 it used sharded
// channels.
func newOldNode(t *testing.T, client redis.UniversalClient, channels ...string) *oldNode {
	t.Helper()
	n := &oldNode{t, client, make(chan *redis.Message, 1000)}
	for _, channel := range channels {
		subscribe := client.Subscribe
		if _, ok := client.(*redis.ClusterClient); ok {
			subscribe = client.SSubscribe
		}
		pubsub := subscribe(t.Context(), channel)
		if _, err := pubsub.Receive(t.Context()); err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for m := range pubsub.Channel() {
				n.messages <- m
			}
		}()
		t.Cleanup(func() { pubsub.Close(); <-ended })
	}
	return n
}

// hears waits for a message on a channel.
func (n *oldNode) hears(channel string) string {
	n.Helper()
	for {
		select {
		case m := <-n.messages:
			if m.Channel == channel {
				return m.Payload
			}
		case <-time.After(patience):
			n.Fatalf("nothing came on %s", channel)
		}
	}
}

// says publishes as version 1 does.
func (n *oldNode) says(channel, message string) {
	n.Helper()
	publish := n.client.Publish
	if _, ok := n.client.(*redis.ClusterClient); ok {
		publish = n.client.SPublish
	}
	if err := publish(n.Context(), channel, message).Err(); err != nil {
		n.Fatal(err)
	}
}

// notes writes a notice into the log as version 1 does.
func (n *oldNode) notes(json string) {
	n.Helper()
	if err := n.client.XAdd(n.Context(), &redis.XAddArgs{Stream: "presence:{notices}:log", MaxLen: 1000, Approx: true, Values: []any{"n", json}}).Err(); err != nil {
		n.Fatal(err)
	}
	n.says("presence:{notices}", "")
}

var oldDiff = regexp.MustCompile(`^\d+-\d+ \S+ \d+ \d+\n[+~\d]`)

// While nodes of version 1 are there, they are told what they understand, and
// what they tell is heard.
func TestBesideVersion1(t *testing.T) {
	for _, server := range []storetest.ServerKind{storetest.Standalone, storetest.OneNodeCluster} {
		t.Run(server.Name, func(t *testing.T) {
			t.Parallel()
			client := server.Start(t)
			store := redisstore.New(client, redisstore.Config{Timeout: patience})
			t.Cleanup(func() { store.Close() })
			diffs, notices := make(chan presence.Diff, 1000), make(chan presence.Notice, 1000)
			stopWatch, err := store.Watch(t.Context(), presence.Site, func(d presence.Diff) { diffs <- d })
			if err != nil {
				t.Fatal(err)
			}
			defer stopWatch()
			stopListen, err := store.Listen(t.Context(), func(n presence.Notice) { notices <- n })
			if err != nil {
				t.Fatal(err)
			}
			defer stopListen()

			// Without them nothing is told that nobody hears.
			deaf := newOldNode(t, client, "presence:{site}:diffs")
			apply(t, store, ops(presence.OpJoin, 0, 1, 0, time.Hour)...)
			<-diffs

			node := newOldNode(t, client, "presence:{notices}", "presence:{site}:diffs")
			node.hears("presence:{notices}") // it is asked for
			if len(deaf.messages) > 0 {
				t.Errorf("got %q on the old channel though no node of version 1 was there", (<-deaf.messages).Payload)
			}
			for i, end := 1, time.Now().Add(patience); len(deaf.messages) == 0; i++ {
				if apply(t, store, ops(presence.OpJoin, i, i+1, 0, time.Hour)...); time.Now().After(end) {
					t.Fatal("a node of version 1 is there, and is told of no diff")
				}
				time.Sleep(10 * time.Millisecond)
			}
			if got := node.hears("presence:{site}:diffs"); !oldDiff.MatchString(got) {
				t.Errorf("got %q, want a diff as version 1 reads it", got)
			}

			// A diff of theirs makes a reader look into the log.
			for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
				node.says("presence:{site}:diffs", "17-4 17-3 9 0\n+mallory\x1f1 online {}")
				if slices.ContainsFunc(drainDiffs(diffs), func(d presence.Diff) bool {
					return d.ID == "17-4" && d.Prev != "17-3" && len(d.Joins) == 0
				}) {
					break
				}
				if time.Now().After(end) {
					t.Fatal("a diff of version 1 was not taken for a hint")
				}
			}

			// Notices go both ways, each once; theirs that choose a status are kept.
			for len(notices) > 0 {
				<-notices
			}
			node.notes(`{"status":"invisible","status_of":"alice"}`)
			node.notes(`{"left":"o.1","left_by":"alice"}`)
			if err := store.Publish(t.Context(), presence.LeaveNotice("bob", "n.1")); err != nil {
				t.Fatal(err)
			}
			node.notes(`{"signed_out":"alice"}`)
			var heard []presence.Notice
			for len(heard) == 0 || signedOut(heard[len(heard)-1]) == "" {
				select {
				case n := <-notices:
					heard = append(heard, n)
				case <-time.After(patience):
					t.Fatalf("heard %+v, want what version 1 told, until alice signed out", heard)
				}
			}
			for _, want := range []presence.Notice{presence.StatusNotice("alice", presence.Invisible), presence.LeaveNotice("alice", "o.1"), presence.LeaveNotice("bob", "n.1")} {
				times := 0
				for _, n := range heard {
					if n.Ago = 0; n == want {
						times++
					}
				}
				if times != 1 {
					t.Errorf("heard %+v %d times in %+v, want once", want, times, heard)
				}
			}
			if err := store.Hear(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got, err := store.Statuses(t.Context(), "alice"); err != nil || got[0] != presence.Invisible {
				t.Errorf("got status %q, %v, want the one that was chosen at a node of version 1", got, err)
			}
			log := client.XRange(t.Context(), "presence:{notices}:log", "-", "+").Val()
			if !slices.ContainsFunc(log, func(e redis.XMessage) bool { return strings.Contains(fmt.Sprint(e.Values["n"]), `"left":"n.1"`) }) {
				t.Errorf("the log has %v, want what a closed page told too, for version 1", log)
			}
		})
	}
}

func drainDiffs(diffs chan presence.Diff) (all []presence.Diff) {
	for len(diffs) > 0 {
		all = append(all, <-diffs)
	}
	return all
}
