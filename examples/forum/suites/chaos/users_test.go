package chaos_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rollcall-go/rollcall/examples/forum/internal/forumtest"
)

// A chaosUser is somebody with pages open, or not. The test's own goroutine
// moves them.
type chaosUser struct {
	fleet   *fleet
	name    string
	kind    userKind
	readers []*chaosReader

	here       bool            // pages are open
	signedOut  bool            // and end by themselves
	outAt      *forumtest.Node // where
	leave      context.CancelFunc
	away       absence
	pages      sync.WaitGroup
	departures int  // how often others may have seen a leave, at most
	arrived    bool // came since all was well

	mu     sync.Mutex // requests in the background set these
	status string     // what was set last; "?" where it is not known whether it was
	viewed time.Time  // when a page was last asked for
	seen   bool       // and it was answered
	set    int64      // how many starts of nodes there had been when status was set
}

type userKind string

const (
	stays  userKind = "stays"  // all the time
	moody  userKind = "moody"  // too, and changes status
	comes  userKind = "comes"  // and goes
	visits userKind = "visits" // pages without streams
)

// populate lets users and guests come, with about as many streams as asked for.
func (f *fleet) populate(users, streams int) {
	guests := min(streams/10, 150) // an address may have 256 on a node
	ctx, cancel := context.WithCancel(context.Background())
	var watching sync.WaitGroup
	f.t.Cleanup(func() {
		cancel()
		watching.Wait()
	})
	for range guests {
		r := newChaosReader(f, "")
		f.readers = append(f.readers, r)
		watching.Go(func() { r.run(ctx) })
	}
	kinds := []userKind{stays, comes, stays, comes, comes, moody, stays, comes, visits, comes}
	for i := range users {
		u := &chaosUser{fleet: f, name: fmt.Sprint("u", i), kind: kinds[i%len(kinds)], status: "online"}
		f.users = append(f.users, u)
		f.t.Cleanup(func() {
			u.close()
			u.pages.Wait()
		})
		if u.kind == visits {
			continue
		}
		for n := (streams - guests) / users; len(u.readers) <= n && (len(u.readers) == 0 || rand.IntN(10) < 9); {
			r := newChaosReader(f, u.name)
			u.away.fleet, r.away = f, &u.away
			u.readers = append(u.readers, r)
		}
		f.readers = append(f.readers, u.readers...)
		u.come()
		if i%100 == 99 {
			time.Sleep(200 * time.Millisecond)
		}
	}
}

// move lets something happen to a user.
func (u *chaosUser) move(rnd *rand.Rand) {
	switch u.kind {
	case moody:
		u.setStatus([]string{"online", "away", "busy", "invisible"}[rnd.IntN(4)])
	case visits:
		u.view(rnd.IntN(len(u.fleet.nodes)))
	case comes:
		switch {
		case !u.here && slices.ContainsFunc(u.readers, (*chaosReader).open):
			// A sign-out has not ended all yet: rest looks whether it does.
		case !u.here:
			u.come()
		case rnd.IntN(4) == 0:
			u.signOut(rnd.IntN(len(u.fleet.nodes)))
		default:
			u.close()
		}
	}
}

// come opens the user's pages.
func (u *chaosUser) come() {
	u.pages.Wait()
	ctx, cancel := context.WithCancel(context.Background())
	u.here, u.signedOut, u.leave, u.arrived = true, false, cancel, true
	u.away.again()
	for _, r := range u.readers {
		r.reopen()
		u.pages.Go(func() { r.run(ctx) })
	}
}

// close closes the user's pages.
func (u *chaosUser) close() {
	if u.leave != nil {
		u.leave()
	}
	if u.here {
		u.here = false
		u.departures++
	}
}

// signOut leaves the pages open: they must be closed from the other side.
func (u *chaosUser) signOut(node int) {
	for _, r := range u.readers {
		r.leaveIt()
	}
	u.here = false
	// While Redis is out, a sign-out waits at one node and joins perhaps at the
	// others, and they come in any order: then a leave follows each.
	u.departures += len(u.fleet.nodes)
	if status := u.request(http.MethodPost, node, "/logout", ""); status == http.StatusSeeOther {
		u.signedOut, u.outAt = true, u.fleet.nodes[node]
	} else {
		u.leave() // nobody heard: the browser is closed
	}
}

// forgets is for when a node is killed: a sign-out that waited there for Redis is
// known to nobody else. What is still open is closed by hand.
func (f *fleet) forgets(n *forumtest.Node) {
	for _, u := range f.users {
		if u.signedOut && u.outAt == n && slices.ContainsFunc(u.readers, (*chaosReader).open) {
			u.leave()
		}
	}
}

// view asks for a page in the background.
func (u *chaosUser) view(node int) {
	u.mu.Lock()
	u.viewed, u.seen = time.Now(), false
	u.mu.Unlock()
	u.departures++ // its hold ends, unless another view comes before
	u.fleet.waits.Go(func() {
		status := u.request(http.MethodGet, node, "/threads/1", "")
		u.mu.Lock()
		defer u.mu.Unlock()
		u.seen = status == http.StatusOK
	})
}

// setStatus sets the status, in the background.
func (u *chaosUser) setStatus(status string) {
	u.departures++ // it may be invisible, for a moment at least
	node := rand.IntN(len(u.fleet.nodes))
	u.fleet.waits.Go(func() {
		u.mu.Lock() // one after another, so that the last one is the last
		defer u.mu.Unlock()
		u.status = "?"
		if u.request(http.MethodPut, node, "/presence/status", fmt.Sprintf(`{"status":%q}`, status)) == http.StatusNoContent {
			u.status, u.set = status, u.fleet.starts.Load()
		}
	})
}

// wiped is for when the store has lost its data: nodes that began since do not
// know what users chose before, and nobody else does. Who never chose is online.
func (f *fleet) wiped() {
	f.waits.Wait()
	f.lost = true
	for _, u := range f.users {
		if u.kind == moody && u.set != f.starts.Load() {
			u.status = "?"
			u.departures++
		}
	}
}

// request returns the status of the answer, 0 where there was none.
func (u *chaosUser) request(method string, node int, path, body string) int {
	req, err := http.NewRequest(method, u.fleet.nodes[node].URL(path), strings.NewReader(body))
	if err != nil {
		panic(err)
	}
	req.AddCookie(&http.Cookie{Name: forumtest.CookieName, Value: u.name})
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	client := *u.fleet.client
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	res, err := client.Do(req)
	if err != nil {
		return 0
	}
	defer res.Body.Close()
	return res.StatusCode
}

// truth is how others must see the user now: a status, "" for absent, or "?"
// where that cannot be said.
func (u *chaosUser) truth() string {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case u.kind == visits:
		switch age := time.Since(u.viewed); {
		case u.seen && age < chaosAge-time.Second:
			return "online"
		case age < chaosAge+lossTime:
			return "?"
		}
		return ""
	case !u.here, u.status == "invisible":
		return ""
	}
	return u.status
}
