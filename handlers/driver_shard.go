package handlers

import (
	"container/heap"
	"sync"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// A shard is one goroutine that drives streams: it writes what their sockets have
// room for, and never waits for one. The goroutine is there while streams are.
type shard struct {
	h     *Handler
	group *presence.Group

	mu      sync.Mutex
	running bool
	todo    []task
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

// A task is something to do for a stream.
type task struct {
	w *wire
	f func()
}

// do runs f for a stream in the shard's goroutine, soon. It returns false if there is
// none, and none is to be started, or can be.
func (sh *shard) do(w *wire, f func(), start bool) bool {
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
	sh.todo = append(sh.todo, task{w, f})
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
		case <-sh.group.Ready():
			sh.now = time.Now()
			sh.conns = sh.group.Woken(sh.conns[:0])
			for _, c := range sh.conns {
				if w := sh.wires[c]; w != nil {
					sh.guard(w, sh.serve)
				}
			}
			clear(sh.conns)
		case <-ready:
			sh.now = time.Now()
			sh.edges = p.edges(sh.edges[:0])
			for _, e := range sh.edges {
				if w := sh.byFD[e.fd]; w != nil {
					sh.guard(w, func(w *wire) { sh.look(w, e) })
				}
			}
		case <-timer.C:
			sh.now = time.Now()
		}
		sh.work() // also when a timer fires: an answer that waits has come in time
		unread := sh.unread
		sh.unread = nil
		for _, w := range unread {
			sh.guard(w, sh.read)
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

// work does what others have asked for.
func (sh *shard) work() {
	sh.mu.Lock()
	todo := sh.todo
	sh.todo = nil
	sh.mu.Unlock()
	for _, t := range todo {
		sh.guard(t.w, func(*wire) { t.f() })
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
		sh.guard(w, sh.attend)
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
	case !w.answerBy.IsZero() && !sh.now.Before(w.answerBy):
		sh.h.rights.unanswered()
		sh.part(w, errRight)
	default:
		if w.answerBy.IsZero() && w.checks(sh.now) {
			w.answerBy = sh.now.Add(sh.h.patience())
			sh.h.rights.ask(w.visit, w.silence.topics(), func(ok bool) {
				sh.do(w, func() { sh.checked(w, ok) }, false)
			})
		}
		sh.serve(w)
	}
}

// checked takes the site's answer whether a stream may go on.
func (sh *shard) checked(w *wire, ok bool) {
	if w.answerBy = (time.Time{}); !ok && !w.parting && !w.gone {
		sh.part(w, errRight)
	}
}

// guard does something for a stream. A panic ends that stream, and no other.
func (sh *shard) guard(w *wire, do func(*wire)) {
	defer func() {
		if p := recover(); p != nil {
			sh.h.broke(p)
			sh.discard(w)
		}
	}()
	do(w)
}

// discard drops a stream that has panicked, as far as it can be dropped.
func (sh *shard) discard(w *wire) {
	defer sh.h.rescue()
	if sh.byFD[w.fd] == w {
		sh.drop(w)
	}
}
