package chaos_test

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/examples/forum/internal/forumtest"
	"github.com/rollcall-go/rollcall/internal/hooktest"
)

// A hook receives what a fleet posts. It refuses one post of fifteen.
type hook struct {
	t      *testing.T
	server *httptest.Server

	mu       sync.Mutex
	known    map[string]string // id -> body, of what was taken
	events   map[string][]hookEvent
	gaps     int
	repeated int
	refused  int
}

// A hookEvent is a join or leave that was taken, without repetitions.
type hookEvent struct {
	Type string
	Data struct {
		Topic    string
		User     struct{ ID string }
		Since    time.Time
		LastSeen time.Time `json:"last_seen"`
		Seconds  float64
	}
	at time.Time
}

func newHook(t *testing.T) *hook {
	h := &hook{t: t, known: make(map[string]string), events: make(map[string][]hookEvent)}
	h.server = httptest.NewServer(h)
	t.Cleanup(h.server.Close)
	return h
}

func (h *hook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // its node was killed
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	e := hookEvent{at: time.Now()}
	id := r.Header.Get("webhook-id")
	if err := hooktest.Verify(r.Header, body); err != nil || json.Unmarshal(body, &e) != nil {
		h.t.Errorf("got %s, which cannot be verified: %v", body, err)
	}
	if rand.IntN(15) == 0 {
		h.refused++
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	if _, ok := h.known[id]; ok {
		h.repeated++
		return
	}
	h.known[id] = string(body)
	if e.Type == "presence.gap" {
		h.gaps++
		return
	}
	h.events[e.Data.User.ID] = append(h.events[e.Data.User.ID], e)
}

// of returns the events about a user.
func (h *hook) of(user string) []hookEvent {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.events[user][:len(h.events[user]):len(h.events[user])]
}

// taken is how many posts were taken.
func (h *hook) taken() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.known)
}

// undone is how long before a wipe a stream may have ended without the store's word of it: the
// release was on its way, or its user in the grace.
const undone = chaosGrace + time.Second

// doubted is how long after a wipe nobody knows when a user was last seen who goes: the nodes
// have not restored who is there.
const doubted = 6 * time.Second

// takesOver is how long after the death of a node another one leads. With the data lost before that, everybody would
// join once more.
const takesOver = 9 * time.Second

// A stay is a user's time at the site: all the while a stream was wanted, and mostly open.
type stay struct{ from, to time.Time }

// TestDeliverChaos kills each node, and wipes Redis once another node leads, while users come and go. Each
// stay is posted as one join and one leave, in order, and nothing twice under a new id.
func TestDeliverChaos(t *testing.T) {
	t.Parallel()
	h := newHook(t)
	f := newFleet(t, false, "-webhook", h.server.URL, "-webhook-secret", hooktest.Secret)
	const users, stays = 18, 4
	told := make([][]stay, users)
	var moving sync.WaitGroup
	for i := range users {
		u := &chaosUser{fleet: f, name: fmt.Sprint("d", i), kind: comes, status: "online"}
		u.readers = []*chaosReader{newChaosReader(f, u.name)}
		t.Cleanup(func() {
			u.close()
			u.pages.Wait()
		})
		moving.Go(func() {
			for n := range stays {
				time.Sleep(rand.N(6 * time.Second))
				told[i] = append(told[i], u.stay(2*time.Second+rand.N(8*time.Second)))
				forumtest.Await(t, fmt.Sprintf("leave %d of %s", n+1, u.name), func() bool { return len(h.of(u.name)) >= 2*(n+1) })
			}
		})
	}
	// A consumer is new until a node leads, and a wipe loses what happened before: see deliver.Run.
	forumtest.Await(t, "the first event", func() bool { return h.taken() > 0 })
	var wiped []time.Time
	for i, n := range f.nodes {
		t.Logf("%s node %d killed", time.Now().Format("05.000"), i)
		n.Kill()
		time.Sleep(takesOver)
		wiped = append(wiped, time.Now())
		t.Logf("%s wiped", time.Now().Format("05.000"))
		f.command("FLUSHALL")
		time.Sleep(3 * time.Second) // the node that leads has written its record again
		n.Run()
		time.Sleep(5 * time.Second)
	}
	t.Logf("%s all is well", time.Now().Format("05.000"))
	moving.Wait()
	time.Sleep(2 * time.Second) // for what should not come
	worst := 0.0
	for i, all := range told {
		name := fmt.Sprint("d", i)
		events := h.of(name)
		if len(events) != 2*stays {
			t.Errorf("%s: got %s, want %d joins and leaves", name, lines(events), 2*stays)
			continue
		}
		for n, s := range all {
			join, leave := events[2*n], events[2*n+1]
			if join.Type != "presence.join" || leave.Type != "presence.leave" || !leave.Data.Since.Equal(join.Data.Since) || join.Data.Topic != "site" {
				t.Errorf("%s: got %s, want a join and the leave of the same stay, each time", name, lines(events))
				break
			}
			wipedNear := func(before time.Duration) bool {
				return slices.ContainsFunc(wiped, func(at time.Time) bool { return s.to.After(at.Add(-before)) && s.to.Before(at.Add(doubted)) })
			}
			near := wipedNear(undone)
			if leave.Data.LastSeen.IsZero() && wipedNear(undone+chaosTTL) {
				continue // found by a list after a gap: the lease had not ended before the wipe
			}
			length := leave.Data.LastSeen.Sub(leave.Data.Since).Seconds()
			if math.Abs(leave.Data.Seconds-length) > 0.01*length {
				t.Errorf("%s: got %+v, want the seconds from since to last seen within 1 %%", name, leave)
			}
			// A node that was killed proved its users alive a heartbeat before, and a wiped store
			// knows no last seen.
			if off := s.to.Sub(s.from).Seconds() - leave.Data.Seconds; math.Abs(off) > 2 {
				t.Logf("%s: off by %.1f s: there from %s to %s, told %s to %s at %s", name, off, s.from.Format("05.000"), s.to.Format("05.000"),
					leave.Data.Since.Local().Format("05.000"), leave.Data.LastSeen.Local().Format("05.000"), leave.at.Format("05.000"))
			}
			if !near {
				worst = max(worst, math.Abs(s.to.Sub(s.from).Seconds()-leave.Data.Seconds))
			}
		}
	}
	if most := (chaosTTL + 2*time.Second).Seconds(); worst > most {
		t.Errorf("got a time online that is wrong by %.1f s, want at most %.1f s", worst, most)
	}
	h.mu.Lock()
	t.Logf("%d gaps, %d repetitions, %d refused; times online were off by %.2f s at most", h.gaps, h.repeated, h.refused, worst)
	h.mu.Unlock()
	if t.Failed() {
		for i, n := range f.nodes {
			t.Logf("node %d logged\n%s", i, n.Logged())
		}
	}
}

// stay comes, stays for a while after the stream is open, and goes.
func (u *chaosUser) stay(length time.Duration) (s stay) {
	u.come()
	reads := func() bool { return u.readers[0].reading() }
	forumtest.Await(u.fleet.t, "the stream of "+u.name, reads)
	s.from = time.Now()
	time.Sleep(length)
	// A page that closes while its node is dead never told anybody when it went.
	forumtest.Await(u.fleet.t, "the stream of "+u.name, reads)
	s.to = time.Now()
	u.close()
	return s
}

func lines(events []hookEvent) string {
	var all []string
	for _, e := range events {
		all = append(all, fmt.Sprintf("%s %s since %s at %s", strings.TrimPrefix(e.Type, "presence."), e.Data.Topic,
			e.Data.Since.Local().Format("05.000"), e.at.Format("05.000")))
	}
	return strings.Join(all, ", ")
}
