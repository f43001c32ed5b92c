package presencetest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

func broadcastCases() []ruleCase {
	return []ruleCase{
		{"rule 12", "every watcher of the topic hears every broadcast, in order", broadcastOrder},
		{"rule 12", "every valid topic has broadcasts of its own", broadcastTopics},
		{"rule 12", "a watch begins when it returns, and ends when stopped", broadcastBeginsAndEnds},
		{"rule 12", "stop is final while others send", broadcastStop},
		{"rule 12", "a broadcast is no diff and keeps nothing", broadcastKeepsNothing},
		{"rule 12", "every byte arrives, and nobody shares the bytes", broadcastBytes},
		{"rule 12", "a broadcast that is too long is refused", broadcastBounds},
	}
}

// broadcastSize is what a broadcast may have, in bytes.
const broadcastSize = 4 << 10

func broadcast(topic presence.Topic, data string) backend.Broadcast {
	return backend.Broadcast{Topic: topic, Data: []byte(data)}
}

// send sends broadcasts, which must succeed.
func (tr *trial) send(node backend.Store, all ...backend.Broadcast) {
	tr.Helper()
	if err := node.Send(tr.ctx, all...); err != nil {
		tr.Fatalf("send: %v", err)
	}
}

// watchBroadcasts delivers to a mailbox until the case ends.
func (tr *trial) watchBroadcasts(node backend.Store, topic presence.Topic) (box *mailbox[string], stop func()) {
	tr.Helper()
	box = new(mailbox[string])
	stop, err := node.Watch(tr.ctx, topic, backend.Watcher{Broadcast: func(data []byte) { box.put(string(data)) }})
	if err != nil {
		tr.Fatalf("watch broadcasts: %v", err)
	}
	stop = sync.OnceFunc(stop)
	tr.Cleanup(stop)
	return box, stop
}

// wantHeard waits until a mailbox has got as many as wanted, and compares.
func (tr *trial) wantHeard(who string, box *mailbox[string], want ...string) {
	tr.Helper()
	if !soon(func() bool { return len(box.got()) >= len(want) }) || !slices.Equal(box.got(), want) {
		tr.Errorf("%s heard %.60q, want %.60q", who, box.got(), want)
	}
}

// Rule 12: two nodes send at the same time, some by one call. Each watcher on each node gets all
// of them once, and those of one node in their order.
func broadcastOrder(tr *trial) {
	nodes := []backend.Store{tr.store, tr.peer}
	var boxes []*mailbox[string]
	for _, node := range []backend.Store{tr.store, tr.store, tr.peer} {
		box, _ := tr.watchBroadcasts(node, presence.Site)
		boxes = append(boxes, box)
	}
	const most = 60
	want := make([][]string, len(nodes))
	var senders sync.WaitGroup
	for n, node := range nodes {
		for i := range most {
			want[n] = append(want[n], fmt.Sprintf("!1 %d %d", n, i))
		}
		senders.Go(func() {
			for some := range slices.Chunk(want[n], 3) {
				if err := node.Send(tr.ctx, broadcast(presence.Site, some[0]), broadcast("thread:1", "!1"), broadcast(presence.Site, some[1]), broadcast(presence.Site, some[2])); err != nil {
					tr.Errorf("send: %v", err)
				}
			}
		})
	}
	senders.Wait()
	for i, box := range boxes {
		soon(func() bool { return len(box.got()) >= len(nodes)*most })
		all := box.got()
		if len(all) != len(nodes)*most {
			tr.Errorf("watcher %d heard %d broadcasts, want %d", i, len(all), len(nodes)*most)
		}
		for n := range nodes {
			of := slices.DeleteFunc(slices.Clone(all), func(s string) bool { return !strings.HasPrefix(s, fmt.Sprintf("!1 %d ", n)) })
			if !slices.Equal(of, want[n]) {
				tr.Errorf("watcher %d heard of node %d %q, want %q", i, n, of, want[n])
			}
		}
	}
}

// Rule 12: no other topic hears a broadcast, also none whose name is alike, and none of those
// that no request can spell.
func broadcastTopics(tr *trial) {
	topics := []presence.Topic{
		presence.Site, "Site", "site:", ":site", "site.diffs", "diffs", "index", "notices", "meta", "*", "a:b", "a", "acme/site", "globex/site", "/site", "@people",
	}
	boxes := make([]*mailbox[string], len(topics))
	var all []backend.Broadcast
	for i, topic := range topics {
		boxes[i], _ = tr.watchBroadcasts(tr.peer, topic)
		all = append(all, broadcast(topic, "!1 "+string(topic)))
	}
	tr.send(tr.store, all...)
	for i, topic := range topics {
		tr.wantHeard("a watcher of "+string(topic), boxes[i], "!1 "+string(topic))
	}
}

// Rule 12: none from before, every one after it, none after stop.
func broadcastBeginsAndEnds(tr *trial) {
	tr.send(tr.store, broadcast(presence.Site, "!1 before"))
	other, _ := tr.watchBroadcasts(tr.peer, presence.Site)
	tr.send(tr.store, broadcast(presence.Site, "!1 still before"))
	tr.wantHeard("the other watcher", other, "!1 still before")
	box, stop := tr.watchBroadcasts(tr.store, presence.Site)
	tr.send(tr.store, broadcast(presence.Site, "!1 during"))
	tr.wantHeard("the watcher", box, "!1 during")
	stop()
	tr.send(tr.peer, broadcast(presence.Site, "!1 after"))
	tr.wantHeard("the other watcher", other, "!1 still before", "!1 during", "!1 after")
	tr.wantHeard("a watcher that stopped", box, "!1 during")
}

// Rule 12: no call begins after stop has returned, however many are sent meanwhile. The diffs of
// the topic go on.
func broadcastStop(tr *trial) {
	diffs, _ := tr.watch(tr.store, presence.Site)
	ended := make(chan struct{})
	var senders sync.WaitGroup
	end := sync.OnceFunc(func() {
		close(ended)
		senders.Wait()
	})
	defer end()
	senders.Go(func() {
		for {
			select {
			case <-ended:
				return
			default:
			}
			if err := tr.peer.Send(tr.ctx, broadcast(presence.Site, "!1")); err != nil {
				tr.Errorf("send: %v", err)
				return
			}
			time.Sleep(time.Millisecond / 10) // where time is made up, it passes only if all wait
		}
	})
	for range 20 {
		box, stop := tr.watchBroadcasts(tr.store, presence.Site)
		soon(func() bool { return len(box.got()) > 0 })
		stop()
		had := len(box.got())
		still, stopStill := tr.watchBroadcasts(tr.store, presence.Site)
		soon(func() bool { return len(still.got()) > 1 })
		stopStill()
		if got := len(box.got()); had == 0 || got != had {
			tr.Fatalf("heard %d broadcasts until stop and %d after it, want some and none", had, got-had)
		}
	}
	end()
	tr.do(presence.Site, join("u", "a.1"))
	if !soon(func() bool { return len(diffs.got()) == 1 }) {
		tr.Errorf("got %d diffs, want the join", len(diffs.got()))
	}
}

// Rule 12: a broadcast changes no counts, topics or log, and the diff after it follows the diff
// before it.
func broadcastKeepsNothing(tr *trial) {
	diffs, _ := tr.watch(tr.peer, presence.Site)
	box, _ := tr.watchBroadcasts(tr.peer, presence.Site)
	tr.do(presence.Site, join("u", "a.1"))
	before, counts, topics := tr.read(presence.Site), tr.counts(presence.Site), tr.topics(100)
	tr.send(tr.store, broadcast(presence.Site, "!1 one"), broadcast("thread:1", "!1"), broadcast(presence.Site, "!1 two"))
	tr.wantHeard("the watcher", box, "!1 one", "!1 two")
	if got := tr.counts(presence.Site); !sameCounts(got, counts) {
		tr.Errorf("counts are %+v, want %+v as before", got, counts)
	}
	if got := tr.counts("thread:1"); !sameCounts(got, backend.Counts{Head: backend.Origin}) {
		tr.Errorf("counts of a topic that had broadcasts alone are %+v, want none", got)
	}
	if got := tr.topics(100); !slices.Equal(got, topics) {
		tr.Errorf("topics are %q, want %q as before", got, topics)
	}
	if got := ids(tr.log(presence.Site, before.id)); len(got) > 0 {
		tr.Errorf("the log has diffs %q, want none since", got)
	}
	tr.do(presence.Site, join("v", "a.2"))
	if !soon(func() bool { return len(diffs.got()) >= 2 }) || !slices.Equal(ids(diffs.got()), ids(tr.log(presence.Site, backend.Origin))) {
		tr.Errorf("got diffs %v, want those of the log alone", ids(diffs.got()))
	}
	tr.wantHeard("the watcher", box, "!1 one", "!1 two")
}

// Rule 12: a broadcast is bytes. The sender may use them again, and a watcher may spoil its own.
func broadcastBytes(tr *trial) {
	every := []byte("!1 \n\r\n$-1 \x00\xff\xfe \u2028 \xed\xa0\x80 {}")
	for b := range 256 {
		every = append(every, byte(b))
	}
	want := []string{string(every), "!", "!2", "!" + strings.Repeat("\x00", broadcastSize-1)}
	var boxes []*mailbox[string]
	for _, node := range []backend.Store{tr.store, tr.store, tr.peer} {
		box := new(mailbox[string])
		stop, err := node.Watch(tr.ctx, presence.Site, backend.Watcher{Broadcast: func(data []byte) {
			box.put(string(data))
			clear(data)
		}})
		if err != nil {
			tr.Fatalf("watch broadcasts: %v", err)
		}
		tr.Cleanup(stop)
		boxes = append(boxes, box)
	}
	for _, text := range want {
		data := bytes.Clone([]byte(text))
		tr.send(tr.store, backend.Broadcast{Topic: presence.Site, Data: data})
		if string(data) != text {
			tr.Fatalf("the sender's bytes became %.60q, want %.60q", data, text)
		}
		clear(data)
	}
	for i, box := range boxes {
		tr.wantHeard(fmt.Sprint("watcher ", i), box, want...)
	}
}

// Rule 12: a call with an invalid broadcast sends nothing.
func broadcastBounds(tr *trial) {
	box, _ := tr.watchBroadcasts(tr.peer, presence.Site)
	for _, bad := range []string{"", "1 2-0 1-0 0 0", " !", "{}", "!" + strings.Repeat("x", broadcastSize)} {
		err := tr.store.Send(tr.ctx, broadcast(presence.Site, "!1 beside it"), broadcast(presence.Site, bad), broadcast(presence.Site, "!1 beside it"))
		if !errors.Is(err, backend.ErrInvalidBroadcast) {
			tr.Errorf("a broadcast of %d bytes, %.20q: got error %v, want ErrInvalidBroadcast", len(bad), bad, err)
		}
	}
	tr.send(tr.store)
	longest := "!" + strings.Repeat("x", broadcastSize-1)
	tr.send(tr.store, broadcast(presence.Site, longest))
	tr.wantHeard("the watcher", box, longest)
}
