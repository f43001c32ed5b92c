package simtest_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed/feedtest"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
)

// A world is a fleet and its users while a game is played. The goroutine of play alone changes
// persons, but for what mu guards.
type world struct {
	game      game
	server    *server
	persons   []*person
	watchers  []*page
	leaving   []*page // of users who signed out
	pages     int     // that were opened
	statuses  map[string]int
	directory *presencetest.MemoryDirectory // of games with people or settings
	program   *program                      // of games with a consumer
	database  *feedtest.Memory              // of games with an inbox
	messages  map[string][]string           // the ids of what must be in each user's inbox
	chance    *rand.Rand

	lost                            bool         // the store has lost data since all was well: a node that starts finds nobody
	away, hanging, readonly, frozen atomic.Int64 // failures of the store that go on
	databaseOut                     atomic.Int64

	allowed  allowed        // which faults are, while what fails
	acts     int            // that were done
	troubles []*trouble     // mu guards it
	rewound  time.Time      // when the latest failover began
	muted    time.Time      // when the store last lost notices
	starts   atomic.Int64   // of processes, and ends
	waiting  sync.WaitGroup // what is not over: nodes that come back, requests
	pending  atomic.Int64   // the same, to look at
	running  sync.WaitGroup // all goroutines

	mu     sync.Mutex
	nodes  []*process // nil: none runs there
	all    []*process // that ever ran
	faults []string
	notes  []string
	began  time.Time
}

// longest is how long a game may take, by a clock outside the bubble. Most take a tenth of a second.
const longest = 2 * time.Minute

// play plays a game, and returns what was wrong, and all that happened. A game that
// does not end is a panic, with what all goroutines are at.
func play(t *testing.T, g game) (faults, notes []string) {
	ends := time.AfterFunc(longest, func() {
		debug.SetTraceback("all")
		panic(fmt.Sprintf("seed %d: the game does not end\n%v", g.seed, g))
	})
	defer ends.Stop()
	synctest.Test(t, func(t *testing.T) {
		w := &world{
			game: g, server: &server{Store: memstore.New()}, statuses: make(map[string]int), allowed: parseAllowed(allowedLines), directory: presencetest.NewMemoryDirectory(), began: time.Now(),
			chance: rand.New(rand.NewPCG(g.seed, 2)), nodes: make([]*process, g.nodes),
		}
		w.play()
		faults, notes = w.faults, w.notes
	})
	return faults, notes
}

func (w *world) play() {
	if w.game.has(consumer) {
		w.program = w.newProgram()
	}
	if w.game.has(inbox) {
		w.database, w.messages = feedtest.NewMemory(), make(map[string][]string)
	}
	for i := range w.nodes {
		w.nodes[i] = w.newProcess(nodeName(i))
	}
	for i, k := range kinds {
		u := &person{w: w, id: fmt.Sprint("u", i), kind: k, status: "online", departures: make(map[presence.Topic]int)}
		w.persons = append(w.persons, u)
	}
	for range 3 {
		w.watchers = append(w.watchers, w.openPage("watcher", nil, w.game.topics()...))
	}
	for i, u := range w.persons { // pages read the list: it is whole before the first one opens
		if u.kind == stays || u.kind == moody {
			u.come(1 + i%2)
		}
	}
	time.Sleep(time.Second)
	w.rest("at the start")
	begin := time.Now()
	for _, a := range w.game.acts {
		if w.failed() {
			break
		}
		time.Sleep(a.at - time.Since(begin))
		w.note("%v", a)
		w.do(a)
	}
	if !w.failed() {
		w.rest("after the last act")
	}
	if !w.failed() {
		w.depart()
	}
	for _, u := range w.persons {
		u.leave()
	}
	for _, p := range append(w.watchers, w.leaving...) {
		p.close()
	}
	w.waiting.Wait()
	for _, p := range w.processes() {
		w.end(p)
	}
	w.closeSites()
	w.running.Wait()
}

// do does one act.
func (w *world) do(a act) {
	u := w.persons[a.who%len(w.persons)]
	switch a.do {
	case "come":
		u.come(1)
		return
	case "come twice":
		u.come(2)
		return
	case "another page":
		u.pages = append(u.pages, w.openPage(u.id, u, presence.Site))
		if len(u.pages) > 3 {
			u.pages[0].close()
			u.pages = u.pages[1:]
			u.exits()
		}
		return
	case "go":
		u.leave()
		return
	case "navigate":
		u.navigate()
		return
	case "sign out":
		u.signOut(a.node)
		return
	case "status":
		u.choose(a.node, a.with)
		return
	case "view":
		u.view(a.node)
		return
	case "type":
		u.types(a.node, a.d)
		return
	case "enter":
		u.enter()
		return
	case "exit":
		u.exit()
		return
	case "settings", "contacts":
		w.doSettings(u, a)
		return
	case "move":
		w.move(a.who)
		return
	case "put", "mark":
		w.doInbox(u, a)
		return
	case "database out", "database slow", "database mute":
		w.databaseFails(a)
		return
	case "save":
		w.server.write()
		return
	}
	for _, u := range w.persons {
		u.sure = false
	}
	w.acts++
	w.fails(a.do, func() {}) // also what is over at once
	node := a.who % w.game.nodes
	switch a.do {
	case "pause":
		w.pause(node, a.d)
	case "evict":
		w.evict(a.with)
	case "kill":
		w.replace(node, a.d, w.kill)
	case "deploy":
		w.replace(node, a.d, func(p *process) {
			p.stop()
			w.close(p)
		})
	case "restart store": // with its file, or without data
		w.storeFails(a.do, "away", presencetest.Fault{Err: errAway}, a.d)
		w.views(w.server.restart)
		w.loses()
	case "store away": // and back with its data
		w.storeFails(a.do, "away", presencetest.Fault{Err: errAway}, a.d)
	case "wipe":
		w.server.wipe()
		w.loses()
	case "store hangs":
		w.storeFails(a.do, "hangs", presencetest.Fault{}, a.d)
	case "writes hang":
		w.storeFails(a.do, "frozen", presencetest.Fault{}, a.d)
	case "node cut off", "node hangs":
		w.nodeFails(node, a.do, "hangs", presencetest.Fault{}, a.d)
	case "slow way":
		w.nodeFails(node, a.do, "slow", presencetest.Fault{Delay: w.game.slowness()}, a.d*4)
	case "answers lost":
		if p := w.at(node); p != nil {
			p.way.Break(presencetest.Fault{Err: errAway, Landed: true, Times: lostAnswers})
			well := p.suffers()
			w.fails(a.do, func() {
				time.Sleep(time.Second)
				p.heal("answers")
				well()
			})
		}
	case "lag":
		if !w.rewound.IsZero() && time.Since(w.rewound) < w.game.ttl() {
			return // two failovers within a TTL may lose two renewals in a row, which no lease outlasts
		}
		w.rewound = time.Now()
		w.server.save()
		w.fails(a.do, func() {
			time.Sleep(a.d)
			w.mu.Lock()
			w.lost = true
			w.mu.Unlock()
			w.server.rewind()
			w.losesNotices()
			w.note("the store is back at what it had")
		})
	case "lose diffs":
		for _, p := range w.processes() {
			p.link.loseDiffs(1 + w.chance.IntN(3))
		}
	case "late diffs":
		if p := w.at(node); p != nil {
			p.way.Disturb(presencetest.Disturbance{Delay: a.d / 4})
			p.link.muddles(time.Now().Add(a.d + a.d/4))
			well := p.suffers()
			w.fails(a.do, func() {
				time.Sleep(a.d)
				p.way.Disturb(presencetest.Disturbance{})
				well()
			})
		}
	case "directory slow", "directory late", "directory out", "directory deaf":
		w.directoryFails(a)
	default:
		w.failsInCluster(a)
	}
}

// later runs what takes time.
func (w *world) later(fn func()) {
	w.waiting.Add(1)
	w.pending.Add(1)
	w.running.Go(func() {
		defer w.waiting.Done()
		defer w.pending.Add(-1)
		fn()
	})
}

func (w *world) calm() bool { return w.pending.Load() == 0 }

func (w *world) note(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.noteLocked(format, args...)
}

func (w *world) noteLocked(format string, args ...any) {
	w.notes = append(w.notes, fmt.Sprintf("%9.3fs ", time.Since(w.began).Seconds())+strings.TrimSpace(fmt.Sprintf(format, args...)))
}

func (w *world) fault(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.noteLocked("FAULT "+format, args...)
	if len(w.faults) < 20 {
		w.faults = append(w.faults, fmt.Sprintf(format, args...))
	}
}

func (w *world) failed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.faults) > 0
}

func keys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// close stops a process as a deploy does: its streams end, and what waits is written.
func (w *world) close(p *process) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	_ = p.tracker.Close(ctx)
	p.closeFeeds(ctx)
}
