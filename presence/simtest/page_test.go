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
	beats   bool // its beats prove that it is alive
	rnd     *rand.Rand
	closed  chan struct{} // the user closed it
	strange atomic.Bool   // the user signed out: a connection that is made from now on is a guest's

	mu      sync.Mutex
	conn    stream // nil: it has none
	process *process
	fresh   bool // nothing came on this connection yet
	roster  map[string]string
	part    bool // the roster lacks users whom a state left out
	total   int
	cursor  string
	id      presence.Cursor
	left    map[string]int // how often it saw each user leave
	missed  map[string]int // how often a state elsewhere held a user no more
	back    map[string]int // or again
	over    bool           // it ended, and does not come back
}

func (w *world) openPage(name string, owner *person) *page {
	w.pages++
	p := &page{
		w: w, name: fmt.Sprintf("%s/%d", name, w.pages), person: owner, closed: make(chan struct{}), roster: make(map[string]string),
		left: make(map[string]int), missed: make(map[string]int), back: make(map[string]int),
		rnd: rand.New(rand.NewPCG(w.game.seed, uint64(w.pages)+100)),
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
		p.mu.Lock()
		defer p.mu.Unlock()
		p.over, p.conn = true, nil
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
	p.w.running.Go(func() { // who closes a page that loads goes
		select {
		case <-p.closed:
			cancel()
		case <-process.dead:
			cancel()
		case <-gone:
		}
	})
	conn, err := p.open(ctx, process)
	if err != nil {
		p.w.note("%s is refused: %v", p.name, err)
		return true
	}
	p.mu.Lock()
	p.conn, p.process, p.fresh = conn, process, true
	p.mu.Unlock()
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
	for {
		select {
		case <-process.dead:
			return true
		case <-p.closed:
			conn.Close()
			return false
		case <-conn.Done():
			p.w.note("%s ends: %v", p.name, conn.Err())
			return !errors.Is(conn.Err(), presence.ErrSignedOut) || !p.strange.Load()
		case <-conn.Ready():
			p.take(conn.Events(nil))
		case <-beat:
			if !p.beat(conn) {
				conn.Close()
				return true
			}
		}
	}
}

// beat proves at any node that the page is alive. It returns false if the page must connect
// again.
func (p *page) beat(conn stream) bool {
	for range 3 {
		process := p.w.alive(p.rnd)
		if process == nil {
			return true
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		alive, err := process.tracker.Beat(ctx, conn.Token(), p.visitor(), presence.Page{})
		cancel()
		if err == nil {
			return alive
		}
	}
	return true
}

// connected reports whether the page has a connection to a process that lives.
func (p *page) connected() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.conn != nil && p.conn.Err() == nil
}

func (p *page) ended() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.over
}

// payload is any event's data.
type payload struct {
	Cursor    string
	Prev      string
	Total     int
	Truncated bool
	Users     map[string]profile
	Joins     map[string]profile
	Leaves    map[string]struct{}
}

type profile struct {
	Status string
	Since  string
}

func (u profile) String() string { return u.Status + " since " + u.Since }

// take applies events.
func (p *page) take(events []presence.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range events {
		if e.ID != "" {
			p.id = e.ID
		}
		var d payload
		if err := json.Unmarshal(e.Data, &d); err != nil {
			p.w.fault("%s gets %s: %v", p.name, e.Data, err)
			continue
		}
		switch e.Type {
		case presence.EventState:
			p.state(d)
		case presence.EventDiff:
			p.diff(d)
		}
	}
}

func (p *page) state(d payload) {
	p.w.note("%s gets a state of %d at %s", p.name, len(d.Users), d.Cursor)
	if len(d.Users) != min(d.Total, p.limit) || d.Truncated != (len(d.Users) < d.Total) {
		p.w.fault("%s gets a state of %d users with total %d, truncated %v, and asked for %d", p.name, len(d.Users), d.Total, d.Truncated, p.limit)
	}
	moved, knew := p.fresh, !p.part
	p.part, p.total = d.Truncated, d.Total
	for user := range p.roster {
		switch _, there := d.Users[user]; {
		case there || p.part:
		case moved:
			p.missed[user]++
		default:
			p.leaves(user, "a state")
		}
	}
	now := make(map[string]string)
	for user, u := range d.Users {
		now[user] = u.String()
		if _, there := p.roster[user]; !there && moved && knew {
			p.back[user]++
		}
	}
	p.roster, p.cursor, p.fresh = now, d.Cursor, false
}

func (p *page) diff(d payload) {
	p.fresh = false
	if d.Prev != p.cursor {
		p.w.fault("%s stands at %s, and gets a diff that goes on from %s", p.name, p.cursor, d.Prev)
	}
	for user, u := range d.Joins {
		if p.roster[user] == u.String() {
			p.w.fault("%s gets a join of %s, who was there unchanged", p.name, user)
		}
		if _, both := d.Leaves[user]; both {
			p.w.fault("%s gets %s twice in one diff", p.name, user)
		}
		p.roster[user] = u.String()
	}
	for user := range d.Leaves {
		if p.roster[user] == "" && !p.part {
			p.w.fault("%s gets a leave of %s, who was not there", p.name, user)
		}
		delete(p.roster, user)
		p.leaves(user, "a diff")
	}
	p.total = d.Total
	if d.Total < len(p.roster) || d.Total > len(p.roster) && !p.part {
		p.w.fault("%s has %d users, and gets total %d", p.name, len(p.roster), d.Total)
	}
	p.cursor = d.Cursor
	p.w.note("%s gets a diff to %s: joins %v, leaves %v", p.name, d.Cursor, keys(d.Joins), keys(d.Leaves))
}

func (p *page) leaves(user, by string) {
	p.left[user]++
	p.w.note("%s sees %s leave, by %s", p.name, user, by)
}
