package handlers

import (
	"container/heap"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// A writer drives streams without a goroutine for each: it shares them out among
// a few shards.
type writer struct {
	shards []*shard
	next   atomic.Uint32
}

func newWriter(h *Handler, shards int) *writer {
	w := new(writer)
	for range shards {
		w.shards = append(w.shards, newShard(h))
	}
	return w
}

// adopt takes a stream and its connection, of which something was read already,
// unless it is one that the system's poller cannot watch.
func (w *writer) adopt(s *stream, conn net.Conn, sent []byte) bool {
	switch conn.(type) {
	case *net.TCPConn, *net.UnixConn: // what wraps one may change what goes through
	default:
		return false
	}
	fd, ok := descriptor(conn.(syscall.Conn))
	if !ok {
		return false
	}
	bound(fd)
	sh := w.shards[w.next.Add(1)%uint32(len(w.shards))]
	return sh.do(func() { sh.take(&wire{stream: s, conn: conn, fd: fd}, sent) }, true)
}

// A shard is one goroutine that drives streams: it writes what their sockets have
// room for, and never waits for one. The goroutine is there while streams are.
type shard struct {
	h     *Handler
	group *presence.Group

	mu      sync.Mutex
	running bool
	todo    []func()
	called  chan struct{} // receives when there is something to do

	// What follows is the goroutine's.
	now    time.Time // when the present round began
	poller *poller
	wires  map[*presence.Connection]*wire
	byFD   map[int]*wire
	agenda agenda
	unread []*wire // that may have more to read than a round takes
	batch  batch
	conns  []*presence.Connection
	edges  []edge
	in     [4 << 10]byte
}

func newShard(h *Handler) *shard {
	return &shard{
		h: h, group: presence.NewGroup(), called: make(chan struct{}, 1),
		wires: make(map[*presence.Connection]*wire), byFD: make(map[int]*wire),
	}
}

// do runs f in the shard's goroutine, soon. It returns false if there is none, and
// none is to be started, or can be.
func (sh *shard) do(f func(), start bool) bool {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if !sh.running {
		if !start {
			return false
		}
		p, err := newPoller()
		if err != nil {
			return false
		}
		sh.running = true
		go sh.run(p)
	}
	sh.todo = append(sh.todo, f)
	select {
	case sh.called <- struct{}{}:
	default:
	}
	return true
}

// run drives the streams until there are none. While it tidies up, its successor
// may run already.
func (sh *shard) run(p *poller) {
	sh.poller = p
	var watching sync.WaitGroup
	ready := make(chan struct{}, 1)
	watching.Go(func() { p.watch(ready) })
	defer watching.Wait()
	defer p.close()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-sh.called:
			sh.now = time.Now()
			sh.mu.Lock()
			todo := sh.todo
			sh.todo = nil
			sh.mu.Unlock()
			for _, f := range todo {
				f()
			}
		case <-sh.group.Ready():
			sh.now = time.Now()
			sh.conns = sh.group.Woken(sh.conns[:0])
			for _, c := range sh.conns {
				if w := sh.wires[c]; w != nil {
					sh.serve(w)
				}
			}
			clear(sh.conns)
		case <-ready:
			sh.now = time.Now()
			sh.edges = p.edges(sh.edges[:0])
			for _, e := range sh.edges {
				sh.look(e)
			}
		case <-timer.C:
			sh.now = time.Now()
		}
		unread := sh.unread
		sh.unread = nil
		for _, w := range unread {
			sh.read(w)
		}
		sh.tick()
		if sh.stop() {
			return
		}
		timer.Reset(sh.rest())
		if cap(sh.batch.bytes) > maxPooledBatch {
			sh.batch = batch{}
		}
	}
}

// stop ends the goroutine if it has no stream and nothing to do.
func (sh *shard) stop() bool {
	if len(sh.wires) > 0 {
		return false
	}
	sh.mu.Lock()
	defer sh.mu.Unlock()
	sh.running = len(sh.todo) > 0
	return !sh.running
}

// rest returns how long nothing is due.
func (sh *shard) rest() time.Duration {
	switch {
	case len(sh.unread) > 0:
		return 0
	case len(sh.agenda) == 0: // its first stream is about to come
		return time.Minute
	}
	return time.Until(sh.agenda[0].due)
}

// tick does what is due.
func (sh *shard) tick() {
	for len(sh.agenda) > 0 && !sh.agenda[0].due.After(sh.now) {
		w := sh.agenda[0]
		sh.attend(w)
		if !w.gone {
			w.due = w.next(sh.now)
			heap.Fix(&sh.agenda, w.place)
		}
	}
}

// attend does what is due for one stream.
func (sh *shard) attend(w *wire) {
	late := !w.until.IsZero() && !sh.now.Before(w.until)
	switch {
	case late && w.parting:
		sh.drop(w)
	case late && len(w.rest) > 0:
		sh.h.counters.slowCut.Add(1)
		sh.drop(w)
	case w.parting:
	case w.aged(sh.now):
		sh.part(w, errAge)
	default:
		if w.checks(sh.now) && !w.checking {
			w.checking = true
			allowed := w.allowed()
			go func() {
				ok := allowed()
				sh.do(func() { sh.checked(w, ok) }, false)
			}()
		}
		sh.serve(w)
	}
}

// checked takes the site's answer whether a stream may go on.
func (sh *shard) checked(w *wire, ok bool) {
	if w.checking = false; !ok && !w.parting && !w.gone {
		sh.part(w, errRight)
	}
}

// An agenda is a shard's streams, the one that has something to do first at the
// top. A stream that was served earlier than it expected stays where it is: it is
// found to be too early once a heartbeat.
type agenda []*wire

func (a agenda) Len() int           { return len(a) }
func (a agenda) Less(i, j int) bool { return a[i].due.Before(a[j].due) }
func (a agenda) Swap(i, j int) {
	a[i], a[j] = a[j], a[i]
	a[i].place, a[j].place = i, j
}

func (a *agenda) Push(w any) {
	w.(*wire).place = len(*a)
	*a = append(*a, w.(*wire))
}

func (a *agenda) Pop() any {
	last := len(*a) - 1
	w := (*a)[last]
	(*a)[last] = nil
	*a = (*a)[:last]
	return w
}
