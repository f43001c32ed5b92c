package simtest_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// A person is a user of the site, with pages open or not. The world's mutex guards it.
type person struct {
	w    *world
	id   string
	kind kind

	pages      []*page
	here       bool                   // pages are open
	departures map[presence.Topic]int // how often others may have seen a leave, at most
	status     string
	set        int64         // how many starts of nodes there had been when status was set
	known      []*process    // which know that
	viewed     time.Time     // when a page was last viewed, of a user who visits
	sure       bool          // and nothing failed since
	hidden     time.Time     // when it was answered that nobody sees the user; zero: others may
	gone       time.Time     // when the last page was closed; zero: one is open, or the user never came
	out        time.Time     // when it was answered that the user is signed out; zero: not since pages opened
	outID      string        // of the notice that says so; "": none was published since pages opened
	asked      time.Time     // when the latest sign-out was asked
	typing     time.Time     // until when, as the user said
	silent     time.Time     // when the user said that it is over; zero: not since the last word
	saying     int           // words under way
	changing   int           // changes of settings under way
	unsure     bool          // a change may have reached the Directory, and nobody was told
	chosen     chan struct{} // closed when the choice before the next one is done; nil: there was none
	outs       atomic.Int64  // sign-outs under way
	cameOut    atomic.Int64  // when a page last came to a process that was not well, in Unix ns
	strayed    atomic.Int64  // when another process than that of the stream last took a beat of a page, in Unix ns
}

func (u *person) visitor() presence.Visitor {
	return visitor(u.id)
}

func (u *person) come(pages int) {
	if u.here || u.signingOut() {
		return
	}
	u.here = true
	u.w.has(u)
	u.goes(false)
	for range pages {
		u.pages = append(u.pages, u.w.openPage(u.id, u, presence.Site))
	}
}

// leave closes all pages.
func (u *person) leave() {
	if !u.here {
		return
	}
	u.here = false
	u.departs(1)
	for _, p := range u.pages {
		p.close()
	}
	u.pages = nil
	u.goes(true)
}

func (p *page) close() {
	select {
	case <-p.closed:
	default:
		close(p.closed)
	}
}

// signingOut reports whether a sign-out is under way. A page that opens meanwhile may end with
// it, or not.
func (u *person) signingOut() bool {
	return u.outs.Load() > 0 || slices.ContainsFunc(u.w.leaving, func(p *page) bool { return p.person == u && !p.ended() })
}

// navigate closes a page and opens the next one a moment later: nobody may see it.
func (u *person) navigate() {
	if len(u.pages) == 0 {
		return
	}
	u.pages[0].close()
	u.pages = append(u.pages[1:], u.w.openPage(u.id, u, u.pages[0].follows()...))
}

// signOut leaves the pages open: they must end by themselves.
func (u *person) signOut(node int) {
	p := u.w.at(node)
	if u.kind == visits {
		u.signOutViews(p)
		return
	}
	if !u.here || p == nil {
		return
	}
	u.here = false
	// While the store is out a sign-out waits at one node, and joins perhaps at the others, and
	// they come in any order: then a leave follows each.
	u.departs(u.w.game.nodes)
	pages := u.pages
	u.pages = nil
	u.w.leaving = append(u.w.leaving, pages...)
	for _, page := range pages {
		page.strange.Store(true)
	}
	u.goes(true)
	asked := time.Now()
	u.w.mu.Lock()
	u.asked = asked
	u.w.mu.Unlock()
	patient := u.w.pages%2 == 0 // the browser stays open where the sign-out is refused: it is told once the store is back
	u.outs.Add(1)
	u.w.later(func() {
		defer u.outs.Add(-1)
		stays := false // the pages are open until the sign-out is told once more, and the user is there
		defer func() { u.goes(!stays) }()
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := p.tracker.SignOut(ctx, presence.UserID(u.id)); err != nil {
			u.w.note("sign-out of %s: %v", u.id, err)
			u.w.mu.Lock()
			for _, page := range pages {
				page.refused = p
			}
			u.w.mu.Unlock()
			for _, page := range pages {
				if !patient {
					page.close()
				}
			}
			stays = patient
		} else {
			u.w.mu.Lock()
			u.out = time.Now()
			u.w.mu.Unlock()
		}
		select {
		case <-p.dead: // a sign-out that waited there is known to nobody else
			for _, page := range pages {
				page.close()
			}
		default:
		}
	})
}

// publishes is for when a process publishes that a user signs out now.
func (w *world) publishes(n backend.Notice) {
	u := w.person(string(n.User))
	w.mu.Lock()
	defer w.mu.Unlock()
	if u != nil {
		u.outID = n.ID
	}
}

// forgot reports whether nobody knows that a user signed out: the store has lost it, and the processes that
// had heard of it have ended. The store may lose it before the sign-out is answered, which waits for pages to be
// told. A process that has reached the store for less than well does not count: it has not told the others yet.
func (w *world) forgot(u *person, well time.Duration) bool {
	w.mu.Lock()
	id, out := u.outID, u.out
	w.mu.Unlock()
	if out.IsZero() || id == "" || slices.ContainsFunc(w.server.notices(), func(n lateNotice) bool { return n.notice.ID == id }) {
		return false
	}
	return !slices.ContainsFunc(w.processes(), func(p *process) bool { return p.link.knows(id) && p.well() >= well })
}

// choiceForgotten reports whether nobody may know what a user chose: the store has lost data since all was well, and either
// nodes have begun or ended since the choice, or no node that knows it has been well for long enough to have told others.
func (w *world) choiceForgotten(u *person) bool {
	run := w.processes()
	w.mu.Lock()
	lost, known := w.lost, u.known
	anew, muted := u.set != w.starts.Load(), w.muted.After(u.hidden)
	w.mu.Unlock()
	knows := func(p *process) bool { return slices.Contains(run, p) && p.well() > catchesUp }
	return lost && (anew || muted && !slices.ContainsFunc(known, knows))
}

// knownFor returns for how long a node has been well that knows what a user chose, since the store lost that.
func (w *world) knownFor(u *person) (d time.Duration) {
	run := w.processes()
	w.mu.Lock()
	lost, known := w.lost, u.known
	w.mu.Unlock()
	if !lost {
		return never
	}
	for _, p := range known {
		if slices.Contains(run, p) {
			d = max(d, p.well())
		}
	}
	return d
}

// absent reports whether the user has gone, or hides.
func (u *person) absent() bool {
	u.w.mu.Lock()
	defer u.w.mu.Unlock()
	return !u.gone.IsZero() || !u.hidden.IsZero()
}

// signOutViews ends the user's page views. A failover that is under way may undo it.
func (u *person) signOutViews(p *process) {
	if p == nil {
		return
	}
	u.departs(1)
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	out := p.tracker.SignOut(ctx, presence.UserID(u.id)) == nil
	u.viewed, u.sure = time.Time{}, out && u.w.calm()
	if out {
		u.w.mu.Lock()
		u.out = time.Now()
		u.w.mu.Unlock()
	}
	if !out || u.w.goesOn("lag", "part-lags") {
		u.viewed = time.Now()
	}
}

// unknown is the status of a user where nobody can say whether it was set.
const unknown = "?"

func (u *person) choose(node int, status string) {
	p := u.w.at(node)
	if p == nil {
		return
	}
	u.departs(1) // it may be invisible, for a moment at least
	u.w.mu.Lock()
	u.status, u.hidden = unknown, time.Time{}
	u.w.statuses[u.id]++
	turn := u.w.statuses[u.id]
	u.w.mu.Unlock()
	before, done := u.chosen, make(chan struct{})
	u.chosen = done
	u.w.later(func() {
		defer close(done)
		if before != nil {
			<-before // one after another, so that the last one is the last
		}
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		err := u.w.set(ctx, p, u.id, status)
		u.w.note("%s chooses %s: %v", u.id, status, err)
		known, well := u.w.informed(p), p.well() > 0
		u.w.mu.Lock()
		defer u.w.mu.Unlock()
		u.unsure = u.unsure || err != nil
		if err == nil && u.w.statuses[u.id] == turn {
			u.status, u.set, u.known = status, u.w.starts.Load(), known
			if status == "invisible" && !u.unsure && u.changing == 0 && well { // else the others hear late
				u.hidden = time.Now()
			}
		}
	})
}

func (u *person) view(node int) {
	p := u.w.at(node)
	if p == nil {
		return
	}
	u.departs(1) // its hold ends, unless another view comes before
	u.viewed, u.sure = time.Now(), u.w.calm()
	u.goes(false)
	p.tracker.Seen(presence.Site, u.visitor().User, presence.Device{})
}

// truth is how others must see the user now: a status, "" for absent, or unknown.
func (u *person) truth() string {
	switch {
	case u.kind == visits:
		switch age := time.Since(u.viewed); {
		case u.viewed.IsZero() || age > u.w.game.age()+u.w.game.sweep()+time.Second && u.sure:
			return ""
		case age > u.w.game.age()+u.w.game.restTime():
			return ""
		case u.sure && age > time.Second && age < u.w.game.age()-time.Second:
			return "online"
		}
		return unknown
	case !u.here || u.status == "invisible":
		return ""
	}
	return u.status
}

func (u *person) String() string {
	return fmt.Sprintf("%s (%s, here %v, %d pages, status %s)", u.id, u.kind, u.here, len(u.pages), u.status)
}
