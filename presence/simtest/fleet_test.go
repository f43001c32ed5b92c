package simtest_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/rollcall-go/rollcall/presence/feed"
	"github.com/rollcall-go/rollcall/presence/feed/feedtest"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
)

var (
	errAway = errors.New("the store is away")
	errDead = errors.New("the process is dead")
)

// A process is one run of a node: a Tracker with its jobs and its own way to the store.
type process struct {
	tracker   *track.Tracker
	site      *site                // nil: no page of the game needs one
	way       *presencetest.Faults // how it reaches the store, with what fails of that
	directory *presencetest.FaultyDirectory
	database  *feedtest.FaultyStore // of games with an inbox
	feeds     *feed.Keeper
	link      *link
	dead      chan struct{} // closed when it is killed
	stop      context.CancelFunc

	mu     sync.Mutex
	failed map[string]presencetest.Fault // what fails now, by what it is
	ails   clock                         // whatever goes wrong here
}

func (w *world) newProcess(name string) *process {
	l := newLink(w, name)
	p := &process{way: presencetest.NewFaults(l), link: l, dead: make(chan struct{}), ails: clock{last: time.Now()}, failed: make(map[string]presencetest.Fault)}
	w.mu.Lock()
	w.all = append(w.all, p)
	w.mu.Unlock()
	if w.away.Load() > 0 {
		p.fail("away", presencetest.Fault{Err: errAway})
	}
	if w.readonly.Load() > 0 {
		p.fail("readonly", presencetest.Fault{Err: errAway})
	}
	if w.hanging.Load() > 0 {
		p.fail("hangs", presencetest.Fault{})
	}
	if w.frozen.Load() > 0 {
		p.fail("frozen", presencetest.Fault{})
	}
	cfg := w.game.config(name)
	cfg.Logger = slog.New(slog.NewTextHandler(w.logTo(name), nil))
	p.directory = presencetest.NewFaultyDirectory(w.directory)
	if w.game.has(people) || w.game.has(settings) {
		cfg.Directory = p.directory
	}
	var err error
	if p.tracker, err = track.New(p.way, cfg); err != nil {
		panic(err)
	}
	if w.game.has(inbox) {
		w.newFeeds(p)
	}
	if w.game.has(web) {
		p.site = w.newSite(p)
	}
	if w.program != nil {
		w.program.deliver(p)
	}
	ctx, cancel := context.WithCancel(context.Background())
	p.stop = cancel
	if p.feeds != nil {
		w.running.Go(func() { p.relays(ctx) })
	}
	if w.game.has(many) {
		w.running.Go(func() { p.readMany(ctx) })
	}
	w.running.Go(func() {
		for ctx.Err() == nil {
			time.Sleep(w.game.sweep())
			_, _ = p.tracker.Sweep(ctx)
			_, _ = p.tracker.Age(ctx)
		}
	})
	return p
}

// fail begins a failure of the way to the store. The worst that goes on counts.
func (p *process) fail(what string, f presencetest.Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, failed := p.failed[what]; !failed {
		p.ails.begins()
	}
	p.failed[what] = f
	p.applyLocked()
}

func (p *process) heal(what string) {
	if what == "hangs" || what == "paused" || what == "frozen" {
		p.link.muddles(time.Now())
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, failed := p.failed[what]; failed {
		p.ails.ends()
	}
	delete(p.failed, what)
	p.applyLocked()
}

// suffers is for what goes wrong that is no failure of the way: until well is called.
func (p *process) suffers() (well func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ails.begins()
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.ails.ends()
	}
}

// well returns for how long nothing has gone wrong.
func (p *process) well() time.Duration {
	lost := p.link.lostFor()
	p.mu.Lock()
	defer p.mu.Unlock()
	return min(lost, p.ails.since())
}

func (p *process) applyLocked() {
	_, dead := p.failed["dead"]
	_, away := p.failed["away"]
	_, hangs := p.failed["hangs"]
	_, paused := p.failed["paused"]
	_, frozen := p.failed["frozen"]
	p.link.set((hangs || paused) && !dead, frozen && !dead, dead || away)
	p.way.Break(p.failed["slow"]) // and no answers are lost any more
	for _, what := range []string{"dead", "away"} {
		if f, ok := p.failed[what]; ok {
			p.way.Break(f)
			return
		}
	}
	if f, ok := p.failed["readonly"]; ok {
		p.way.Break(f, writes...)
	}
}

// cutOff reports whether the process does not reach the store now.
func (p *process) cutOff() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, away := p.failed["away"]
	_, hangs := p.failed["hangs"]
	return away || hangs
}

// kill ends the process in the middle of what it does.
func (w *world) kill(p *process) {
	p.fail("dead", presencetest.Fault{Err: errDead})
	if p.database != nil {
		p.database.Break(feedtest.Fault{Err: errDead})
	}
	close(p.dead)
	p.goOn()
	w.end(p)
}

// end stops a process as a deploy does, and waits.
func (w *world) end(p *process) {
	p.stop()
	w.running.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_ = p.tracker.Close(ctx)
		p.closeFeeds(ctx)
	})
}

// alive returns a process that accepts connections, or nil.
func (w *world) alive(rnd *rand.Rand) *process {
	nodes := w.nodesNow()
	first := rnd.IntN(len(nodes))
	for i := range nodes {
		if p := nodes[(first+i)%len(nodes)]; p != nil && p.link.pausedNow() == nil {
			return p
		}
	}
	return nil
}

// at returns the process of a node that can be reached, or nil.
func (w *world) at(node int) *process {
	nodes := w.nodesNow()
	if p := nodes[node%len(nodes)]; p != nil && p.link.pausedNow() == nil {
		return p
	}
	return nil
}

// nodesNow returns the processes that run. A link may take a note with its mutex held, so w.mu comes after
// that, and must not be held where a link is asked.
func (w *world) nodesNow() []*process {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.nodes)
}

// replace takes a node's process away, and starts another one once ready is closed and a pause is over.
func (w *world) replace(node int, pause time.Duration, stop func(*process)) {
	w.mu.Lock()
	old := w.nodes[node]
	w.nodes[node] = nil
	w.mu.Unlock()
	if old == nil {
		return
	}
	w.starts.Add(1)
	w.fails("kill", func() {
		old.goOn()
		stop(old)
		time.Sleep(pause)
		w.starts.Add(1) // what the old one heard until now, perhaps nobody else had
		fresh := w.newProcess(nodeName(node))
		w.mu.Lock()
		w.nodes[node] = fresh
		w.mu.Unlock()
	})
}

func nodeName(i int) string { return string(rune('a' + i)) }

// processes returns those that run.
func (w *world) processes() (running []*process) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.nodes {
		if p != nil {
			running = append(running, p)
		}
	}
	return running
}

// everyProcess returns all that ever ran, and those that start and have no answer of the store yet.
func (w *world) everyProcess() []*process {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.all)
}

// logTo is where a node logs.
func (w *world) logTo(name string) io.Writer {
	return writerFunc(func(b []byte) (int, error) {
		w.note("node %s logs: %s", name, b)
		return len(b), nil
	})
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }
