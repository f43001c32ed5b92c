package simtest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed"
	"github.com/rollcall-go/rollcall/presence/track"
)

// A page follows the site's roster as a browser's page does: whatever happens, it comes back
// to any node, with the cursor of the last event. It keeps the roster that its events make,
// and notes each event that does not follow from what it had.
type page struct {
	w       *world
	name    string
	person  *person // nil: a visitor who only watches
	open    opener
	limit   int  // users in a state
	window  int  // users of each roster that it reads, in place of limit; 0: all
	beats   bool // its beats prove that it is alive
	rnd     *rand.Rand
	closed  chan struct{} // the user closed it
	changed chan struct{} // its topics are others
	moves   chan struct{} // its connection breaks, and it comes back at any node
	refused *process      // did not take the sign-out, and tells it once the store is back. The world's mutex guards it
	strange atomic.Bool   // the user signed out: a connection that is made from now on is a guest's

	mu       sync.Mutex
	conn     stream // nil: it has none
	process  *process
	id       presence.Cursor
	topics   []presence.Topic // that it is to show
	tuned    bool             // its connection has the thread
	pictures map[presence.Topic]*picture
	box      box
	waited   time.Duration // how long the events that it takes were held up
	over     atomic.Bool   // it ended, and does not come back
}

func (w *world) openPage(name string, owner *person, topics ...presence.Topic) *page {
	w.pages++
	p := &page{
		w: w, name: fmt.Sprintf("%s/%d", name, w.pages), person: owner, closed: make(chan struct{}), changed: make(chan struct{}, 1), moves: make(chan struct{}, 1),
		topics: topics, pictures: make(map[presence.Topic]*picture), rnd: rand.New(rand.NewPCG(w.game.seed, uint64(w.pages)+100)),
	}
	p.beats = owner != nil && p.rnd.IntN(3) == 0
	p.choose()
	w.running.Go(p.run)
	return p
}

func (p *page) visitor() presence.Visitor {
	if p.person == nil {
		return presence.Visitor{}
	}
	return p.person.visitor()
}

// run connects again and again until the page is closed, or its user signed out.
func (p *page) run() {
	defer func() {
		p.w.mu.Lock()
		refused := p.refused != nil
		p.w.mu.Unlock()
		if refused { // until now the user was there
			p.person.goes(true)
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.conn = nil
		p.over.Store(true)
	}()
	for {
		again := p.connect()
		if !again {
			return
		}
		select {
		case <-p.closed:
			return
		case <-time.After(50*time.Millisecond + time.Duration(p.rnd.IntN(200))*time.Millisecond):
		}
	}
}

// connect reads one connection to its end, and reports whether the page comes back.
func (p *page) connect() (again bool) {
	if p.strange.Load() {
		return false
	}
	process := p.w.alive(p.rnd)
	if process == nil {
		return true
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	gone := make(chan struct{})
	defer close(gone)
	p.w.running.Go(func() { // who closes a page goes at once, whatever the page waits for
		select {
		case <-p.closed:
			cancel()
		case <-process.dead:
			cancel()
		case <-gone:
		}
	})
	p.mu.Lock()
	p.tuneLocked()
	p.mu.Unlock()
	asked := time.Now()
	p.person.comesTo(process)
	conn, err := p.open(ctx, process)
	if err != nil {
		p.w.note("%s is refused: %v", p.name, err)
		return true
	}
	p.mu.Lock()
	p.conn, p.process = conn, process
	for _, s := range p.pictures {
		s.fresh = true
	}
	p.mu.Unlock()
	p.person.comesTo(process)
	p.w.note("%s is connected to %s", p.name, process.tracker.Config().Node)
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.conn = nil
	}()
	var beat <-chan time.Time
	if p.beats {
		ticker := time.NewTicker(p.w.game.ttl() * 4 / 9)
		defer ticker.Stop()
		beat = ticker.C
	}
	var held time.Duration // how long the page has read nothing, until free
	var free time.Time
	busy := func(does func(context.Context, stream) bool) bool {
		began := time.Now()
		if began.After(free) {
			held = 0
		}
		goesOn := does(ctx, conn)
		held, free = held+time.Since(began), time.Now()
		return goesOn
	}
	for {
		select {
		case <-process.dead:
			return true
		case <-p.closed:
			conn.Close()
			return false
		case <-conn.Done():
			p.w.note("%s ends: %v", p.name, conn.Err())
			if errors.Is(conn.Err(), presence.ErrSignedOut) && !p.strange.Load() && !p.left() {
				later := asked.Sub(time.Now().Add(-p.w.ago(&p.person.asked)))
				if !p.w.allows(finding{fault: "ends-later-stream", w: p.w, at: process, u: p.person, lasts: later}) {
					p.w.fault("%s is ended by a sign-out, and was opened %v after that", p.name, later)
				}
			}
			return !errors.Is(conn.Err(), presence.ErrSignedOut) || !p.strange.Load()
		case <-conn.Ready():
			waited := process.awake(ctx)
			if time.Since(free) == waited {
				waited += held
			}
			held = 0
			if !p.take(conn.Events(nil), waited) {
				conn.Close()
				return true
			}
		case <-p.changed:
			if !busy(p.retune) {
				conn.Close()
				return true
			}
		case <-p.moves:
			conn.Close()
			return true
		case <-beat:
			if !busy(p.beat) {
				conn.Close()
				return true
			}
		}
	}
}

// left reports whether the user closed the page.
func (p *page) left() bool {
	select {
	case <-p.closed:
		return true
	default:
		return false
	}
}

// beat proves at any node that the page is alive. It returns false if the page must connect
// again: also after a loss of data, at a node that does not know the token, as the endpoint says.
// A page that polls has no token, and its polls prove that it is alive.
func (p *page) beat(ctx context.Context, conn stream) bool {
	if conn.Token() == "" {
		return true
	}
	for range 3 {
		process := p.w.alive(p.rnd)
		if process == nil {
			return true
		}
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		alive, err := process.tracker.Beat(ctx, conn.Token(), p.visitor(), track.Page{})
		cancel()
		if err == nil && alive {
			p.strays(process)
		}
		if err == nil || errors.Is(err, presence.ErrForeignToken) {
			return alive
		}
	}
	return true
}

// strays notes that a process took a beat of the page, if the stream is at another one.
func (p *page) strays(at *process) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.person != nil && p.process != at {
		p.person.strayed.Store(time.Now().UnixNano())
	}
}

// connected reports whether the page has a connection to a process that lives.
func (p *page) connected() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.conn != nil && p.conn.Err() == nil
}

func (p *page) ended() bool { return p.over.Load() }

// take applies events, which may have waited for their process to go on, or for the page to read. It
// returns false if the page must connect again.
func (p *page) take(events []presence.Event, waited time.Duration) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waited = waited
	for _, e := range events {
		if e.ID != "" {
			p.id = e.ID
		}
		var d payload
		if err := json.Unmarshal(e.Data, &d); err != nil {
			p.w.fault("%s gets %s: %v", p.name, e.Data, err)
			continue
		}
		if d.Topic == feed.InboxTopic {
			p.mail(e)
			continue
		}
		switch e.Type {
		case presence.EventState:
			p.picture(d.Topic).state(d)
		case presence.EventDiff:
			p.picture(d.Topic).diff(d)
		case presence.EventHeartbeat:
			p.picture(d.Topic).heartbeat(d)
		case presence.EventCount:
			p.picture(d.Topic).count(d)
		case presence.EventSignal:
			p.picture(d.Topic).signal(d.Signals)
		case "error":
			p.w.note("%s is told: %s", p.name, e.Data)
			return false
		}
	}
	return true
}

// picture returns that of a topic. mu is held.
func (p *page) picture(topic presence.Topic) *picture {
	s := p.pictures[topic]
	if s == nil {
		s = newPicture(p, topic)
		p.pictures[topic] = s
	}
	return s
}
