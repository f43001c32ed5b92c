package presencetest

import (
	"fmt"
	"slices"
	"sync"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

func watchCases() []ruleCase {
	return []ruleCase{
		{"rule 2", "every watcher gets every diff, in order", watchOrder},
		{"rule 2", "a watch begins when Watch returns, and ends when stopped", watchBeginsAndEnds},
		{"rule 2", "a reader who watches and then reads misses nothing", watchThenRead},
		{"notices", "every node hears every notice, in order", notices},
		{"notices", "kinds that the store does not know are delivered too", unknownKinds},
	}
}

// A mailbox keeps the values delivered to it.
type mailbox[T any] struct {
	mu  sync.Mutex
	all []T
}

func (m *mailbox[T]) put(v T) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.all = append(m.all, v)
}

func (m *mailbox[T]) got() []T {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.all)
}

// watch delivers to a mailbox until the case ends.
func (tr *trial) watch(node backend.Store, topic presence.Topic) (box *mailbox[backend.Diff], stop func()) {
	tr.Helper()
	box = new(mailbox[backend.Diff])
	stop, err := node.Watch(tr.ctx, topic, backend.Watcher{Diff: box.put})
	if err != nil {
		tr.Fatalf("watch: %v", err)
	}
	stop = sync.OnceFunc(stop)
	tr.Cleanup(stop)
	return box, stop
}

// Rule 2, scenarios 22 and 33: each node gets each diff of the topic once, in the order of
// the log, also when four nodes write.
func watchOrder(tr *trial) {
	var boxes []*mailbox[backend.Diff]
	for _, node := range []backend.Store{tr.store, tr.store, tr.peer} {
		box, _ := tr.watch(node, presence.Site)
		boxes = append(boxes, box)
	}
	var nodes sync.WaitGroup
	defer nodes.Wait() // also where the case ends early: no node outlives it
	for n := range 4 {
		nodes.Go(func() { stir(tr, n, 100) })
	}
	tr.do("thread:1", join("u", "a.1"))
	nodes.Wait()
	want := ids(tr.log(presence.Site, backend.Origin))
	for i, box := range boxes {
		if !soon(func() bool { return len(box.got()) >= len(want) }) || !slices.Equal(ids(box.got()), want) {
			tr.Errorf("watcher %d got %v, want %v", i, ids(box.got()), want)
		}
	}
}

// Rule 2: no diff from before Watch, every diff after it, none after stop.
func watchBeginsAndEnds(tr *trial) {
	tr.do(presence.Site, join("before", "a.1"))
	box, stop := tr.watch(tr.store, presence.Site)
	other, _ := tr.watch(tr.store, presence.Site)
	tr.do(presence.Site, join("during", "a.2"))
	if !soon(func() bool { return len(box.got()) == 1 }) || line(changes(box.got()[0])) != "+during" {
		tr.Fatalf("got %+v, want one diff with the join of during", box.got())
	}
	stop()
	tr.do(presence.Site, join("after", "a.3"))
	if !soon(func() bool { return len(other.got()) == 2 }) {
		tr.Fatalf("the other watcher got %+v, want two diffs", other.got())
	}
	if got := box.got(); len(got) != 1 {
		tr.Errorf("got %d diffs, want none after stop", len(got))
	}
}

// Rule 2, scenarios 19 and 21: as a node does, watch, read a snapshot, and apply the diffs
// that came since, many times while others write. Missing diffs are in the log.
func watchThenRead(tr *trial) {
	const writers, steps, trials = 4, 150, 100
	var churn sync.WaitGroup
	defer churn.Wait() // also where the case ends early: no writer outlives it
	for w := range writers {
		churn.Go(func() { stir(tr, w, steps) })
	}
	type reader struct {
		*roster
		box *mailbox[backend.Diff]
	}
	var readers []reader
	for range trials {
		box, _ := tr.watch(tr.peer, presence.Site)
		readers = append(readers, reader{tr.read(presence.Site), box})
	}
	churn.Wait()
	end := tr.read(presence.Site)
	for i, r := range readers {
		known := ids(tr.log(presence.Site, r.id)) // what the snapshot does not hold
		if !soon(func() bool { return caughtUp(r.box.got(), end.id, known) }) {
			tr.Fatalf("reader %d from %q: got %v, want on to %q", i, r.id, ids(r.box.got()), end.id)
		}
		for _, d := range r.box.got() {
			if !slices.Contains(known, d.ID) {
				continue
			}
			if err := r.apply(d); err != nil {
				tr.Fatalf("reader %d: %v", i, err)
			}
		}
		if err := r.equal(end); err != nil {
			tr.Fatalf("reader %d: %v", i, err)
		}
	}
}

func caughtUp(got []backend.Diff, head presence.DiffID, missing []presence.DiffID) bool {
	return len(missing) == 0 || len(got) > 0 && got[len(got)-1].ID == head
}

// listen delivers to a mailbox until the case ends.
func (tr *trial) listen(node backend.Bus) (box *mailbox[backend.Notice], stop func()) {
	tr.Helper()
	box = new(mailbox[backend.Notice])
	stop, err := node.Listen(tr.ctx, box.put)
	if err != nil {
		tr.Fatalf("listen: %v", err)
	}
	stop = sync.OnceFunc(stop)
	tr.Cleanup(stop)
	return box, stop
}

// A notice reaches every listener that has not stopped, the sender's too.
func notices(tr *trial) {
	var boxes []*mailbox[backend.Notice]
	var stops []func()
	for _, node := range []backend.Store{tr.store, tr.store, tr.peer} {
		box, stop := tr.listen(node)
		boxes, stops = append(boxes, box), append(stops, stop)
	}
	var want []backend.Notice
	send := func(n backend.Notice) {
		want = append(want, n)
		if err := tr.store.Publish(tr.ctx, n); err != nil {
			tr.Fatalf("notify: %v", err)
		}
	}
	for i := range 20 {
		send(backend.SignOutNotice(presence.UserID(fmt.Sprintf("u%d \u2028\"", i))))
		send(backend.SignOutNotice("__proto__"))
	}
	for i, box := range boxes {
		if !soon(func() bool { return len(box.got()) >= len(want) }) || !slices.Equal(box.got(), want) {
			tr.Errorf("listener %d got %+v, want %+v", i, box.got(), want)
		}
	}
	stops[0]()
	send(backend.SignOutNotice("last"))
	if !soon(func() bool { return len(boxes[1].got()) == len(want) }) || len(boxes[0].got()) != len(want)-1 {
		tr.Errorf("got %d and %d notices, want %d without the one after stop", len(boxes[0].got()), len(boxes[1].got()), len(want))
	}
}

// A notice of any kind arrives as it was published. Lasting ones keep their order, and so
// do those of the moment.
func unknownKinds(tr *trial) {
	boxes := make([]*mailbox[backend.Notice], 2)
	for i, node := range []backend.Bus{tr.store, tr.peer} {
		boxes[i], _ = tr.listen(node)
	}
	lasting := func(n backend.Notice) bool { return n.Lasting }
	var want []backend.Notice
	for i := range 20 {
		want = append(want, backend.Notice{
			Kind: "knock", User: "__proto__", Payload: fmt.Sprintf("{\"door\": %d} \u2028\x00\n", i), Lasting: i%2 == 0, ID: fmt.Sprint("event", i),
		})
	}
	want = append(want, backend.Notice{Kind: "knock", Lasting: true}, backend.Notice{Kind: "knock"})
	for _, n := range want {
		if err := tr.store.Publish(tr.ctx, n); err != nil {
			tr.Fatalf("publish: %v", err)
		}
	}
	for i, box := range boxes {
		if !soon(func() bool { return len(box.got()) >= len(want) }) {
			tr.Fatalf("listener %d got %d notices, want %d", i, len(box.got()), len(want))
		}
		for _, last := range []bool{true, false} {
			other := func(n backend.Notice) bool { return lasting(n) != last }
			got, want := slices.DeleteFunc(box.got(), other), slices.DeleteFunc(slices.Clone(want), other)
			if !slices.Equal(got, want) {
				tr.Errorf("listener %d got %+v of those with Lasting %t, want %+v", i, got, last, want)
			}
		}
	}
}
