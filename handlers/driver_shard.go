package handlers

import (
	"container/heap"
	"sync"
	"time"

	"github.com/rollcall-go/rollcall/internal/wait"
	"github.com/rollcall-go/rollcall/presence/track"
)

// A shard is one goroutine that drives streams. It writes what a socket has room for,
// and never waits for a socket. The goroutine runs while the shard has streams.
type shard struct {
	faults *faults
	group  *track.Group

	mu      sync.Mutex
	running bool
	tasks   []task
	posted  wait.Wakeup // receives after a task was posted

	// The fields below belong to the goroutine.
	now     time.Time // when the present round began
	poller  *poller
	streams map[*track.Connection]*shardStream
	byFD    map[int]*shardStream
	agenda  agenda
	unread  []*shardStream // streams whose sockets may hold more than one round reads
	batch   batch
	woken   []*track.Connection
	edges   []edge
	in      [4 << 10]byte
}

func newShard(f *faults) *shard {
	return &shard{
		faults: f, group: track.NewGroup(), posted: wait.NewWakeup(),
		streams: make(map[*track.Connection]*shardStream), byFD: make(map[int]*shardStream),
	}
}

// A task is work for a stream in the shard's goroutine.
type task struct {
	s  *shardStream
	do func()
}

// post queues a task and reports whether it was queued. If the goroutine does not run, post starts it, but
// only if start is true.
func (sh *shard) post(s *shardStream, do func(), start bool) bool {
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
	sh.tasks = append(sh.tasks, task{s, do})
	sh.posted.Wake()
	return true
}

// run drives the streams until there are none. The next run may start while this one cleans up.
func (sh *shard) run(p *poller) {
	sh.poller = p
	var watching sync.WaitGroup
	ready := wait.NewWakeup()
	watching.Go(func() { p.wait(ready) })
	defer watching.Wait()
	defer p.close()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-sh.posted:
			sh.now = time.Now()
		case <-sh.group.Ready():
			sh.now = time.Now()
			sh.writeToWoken()
		case <-ready:
			sh.now = time.Now()
			sh.handleEdges()
		case <-timer.C:
			sh.now = time.Now()
		}
		sh.runTasks() // even after a timer: a queued answer has come in time
		unread := sh.unread
		sh.unread = nil
		for _, s := range unread {
			sh.guard(s, sh.read)
		}
		sh.runDue()
		if sh.stopIfIdle() {
			return
		}
		timer.Reset(sh.untilDue())
		if cap(sh.batch.bytes) > maxPooledBatch {
			sh.batch = batch{}
		}
	}
}

// writeToWoken writes to the streams whose connections have something new.
func (sh *shard) writeToWoken() {
	sh.woken = sh.group.Woken(sh.woken[:0])
	for _, c := range sh.woken {
		if s := sh.streams[c]; s != nil {
			sh.guard(s, sh.writeNew)
		}
	}
	sh.group.Written()
	clear(sh.woken)
}

// handleEdges reads from and writes to the sockets that the poller names.
func (sh *shard) handleEdges() {
	sh.edges = sh.poller.edges(sh.edges[:0])
	for _, e := range sh.edges {
		if s := sh.byFD[e.fd]; s != nil {
			sh.guard(s, func(s *shardStream) { sh.handleEdge(s, e) })
		}
	}
}

// runTasks runs the queued tasks.
func (sh *shard) runTasks() {
	sh.mu.Lock()
	tasks := sh.tasks
	sh.tasks = nil
	sh.mu.Unlock()
	for _, t := range tasks {
		sh.guard(t.s, func(*shardStream) { t.do() })
	}
}

// stopIfIdle reports whether the goroutine ends: it has no stream and no task.
func (sh *shard) stopIfIdle() bool {
	if len(sh.streams) > 0 {
		return false
	}
	sh.mu.Lock()
	defer sh.mu.Unlock()
	sh.running = len(sh.tasks) > 0
	return !sh.running
}

// untilDue returns how long the goroutine may sleep.
func (sh *shard) untilDue() time.Duration {
	switch {
	case len(sh.unread) > 0:
		return 0
	case len(sh.agenda) == 0: // the first stream is about to be added
		return time.Minute
	}
	return time.Until(sh.agenda[0].due)
}

// runDue serves the streams that are due, and puts each back into the agenda.
func (sh *shard) runDue() {
	for len(sh.agenda) > 0 && !sh.agenda[0].due.After(sh.now) {
		s := sh.agenda[0]
		sh.guard(s, sh.onDue)
		if s.phase != phaseGone {
			s.due = s.next(sh.now)
			heap.Fix(&sh.agenda, s.place)
		}
	}
}

// guard calls do for a stream. A panic ends that stream and no other.
func (sh *shard) guard(s *shardStream, do func(*shardStream)) {
	defer func() {
		if p := recover(); p != nil {
			sh.faults.streamPanicked(p)
			sh.discard(s)
		}
	}()
	do(s)
}

// discard drops a stream that has panicked. If that panics too, the stream stays
// half dropped.
func (sh *shard) discard(s *shardStream) {
	defer sh.faults.recoverStream()
	if sh.byFD[s.fd] == s {
		sh.drop(s)
	}
}
