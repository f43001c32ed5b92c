package chaos_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/examples/forum/internal/forumtest"
	"github.com/rollcall-go/rollcall/internal/pgtest"
)

// TestChaosPeople breaks a fleet with a database in every way, also by stopping the
// database, while people come and go whom others watch. Nobody may ever see somebody who is
// hidden from them. After the disasters each watcher sees the truth, and after that each
// person who comes or goes does so once.
func TestChaosPeople(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 0))
	postgres := pgtest.Start(t)
	f := newFleet(t, false, "-sql", postgres.Database(t))
	p := newPeople(f)
	p.rest(t)

	disasters := append(f.disasters(), []disaster{
		{"SQL stopped", func(*fleet, *rand.Rand) {
			postgres.Stop()
			time.Sleep(time.Duration(500+rnd.IntN(2000)) * time.Millisecond)
			p.churn(rnd)
			postgres.Run(t)
		}},
		{"SQL killed", func(*fleet, *rand.Rand) {
			postgres.Kill()
			p.churn(rnd)
			postgres.Run(t)
		}},
		{"SQL away while a node starts", func(f *fleet, rnd *rand.Rand) {
			f.waits.Wait()
			postgres.Stop()
			n := f.nodes[rnd.IntN(len(f.nodes))]
			n.Kill()
			n.Run()
			p.churn(rnd)
			time.Sleep(2 * time.Second)
			postgres.Run(t)
		}},
	}...)
	rnd.Shuffle(len(disasters), func(i, j int) { disasters[i], disasters[j] = disasters[j], disasters[i] })
	for some := range slices.Chunk(disasters, 4) {
		var names []string
		for _, d := range some {
			p.churn(rnd)
			d.do(f, rnd)
			names = append(names, d.name)
		}
		t.Logf("at rest %v after %s", p.rest(t).Round(time.Millisecond), strings.Join(names, ", "))
		if t.Failed() {
			for i, n := range f.nodes {
				t.Logf("node %d logged\n%s", i, n.Logged())
			}
			return
		}
	}
	p.once(t)
}

// people are those who are watched, and their watchers.
type people struct {
	fleet    *fleet
	persons  []*person
	watchers []*chaosReader
}

// A person is one of those who are watched, from several devices.
type person struct {
	fleet   *fleet
	name    string
	devices []*chaosReader
	leave   context.CancelFunc // nil: not here
	pages   sync.WaitGroup

	online string // the audience; "?" where it is not known what was set
	fickle bool   // the audience changes
	block  string // a watcher who is blocked
}

// The watchers that stand on each person's list are the first ones.
const (
	chaosWatchers = 4
	chaosContacts = 2
)

// newPeople lets persons of every kind come, and watchers.
func newPeople(f *fleet) *people {
	p := &people{fleet: f}
	ctx, cancel := context.WithCancel(context.Background())
	var watching sync.WaitGroup
	f.t.Cleanup(func() {
		cancel()
		watching.Wait()
	})
	list := url.Values{"topic": {"people"}}
	for i, kind := range []string{"everyone", "contacts", "nobody", "everyone", "contacts", "everyone", "fickle", "blocks"} {
		u := &person{fleet: f, name: fmt.Sprintf("%s%d", kind, i), online: kind}
		switch kind {
		case "fickle":
			u.online, u.fickle = "everyone", true
		case "blocks":
			u.online, u.block = "everyone", "w0"
			f.form(u.name, "/contacts", url.Values{"do": {"block"}, "user": {u.block}})
		}
		f.form(u.name, "/settings", url.Values{"online": {u.online}})
		for i := range chaosContacts {
			if name := fmt.Sprint("w", i); name != u.block {
				f.form(u.name, "/contacts", url.Values{"do": {"add"}, "user": {name}})
			}
		}
		for i := range 1 + i%3 {
			r := newChaosReader(f, u.name)
			r.agent = []string{"Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0", "Mozilla/5.0 (iPhone) Safari/604.1", "Opera/9.80"}[i]
			u.devices = append(u.devices, r)
		}
		list.Add("person", u.name)
		p.persons = append(p.persons, u)
		f.t.Cleanup(func() {
			u.close()
			u.pages.Wait()
		})
		u.come()
	}
	for i := range chaosWatchers {
		r := newChaosReader(f, fmt.Sprint("w", i))
		r.query = list.Encode()
		r.check = func(roster *forumtest.Roster) string { return p.widened(r.name, roster) }
		p.watchers = append(p.watchers, r)
		watching.Go(func() { r.run(ctx) })
	}
	return p
}

// form sends a form as a user until a node takes it.
func (f *fleet) form(user, path string, values url.Values) {
	for began := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		status := f.formOnce(rand.IntN(len(f.nodes)), user, path, values)
		if status == http.StatusSeeOther {
			return
		}
		if time.Since(began) > forumtest.Patience {
			f.t.Fatalf("%s: %s %v got %d for %v, want 303", user, path, values, status, forumtest.Patience)
		}
	}
}

// formOnce returns the status of the answer, 0 where there was none.
func (f *fleet) formOnce(node int, user, path string, values url.Values) int {
	req, err := http.NewRequest(http.MethodPost, f.nodes[node].URL(path), strings.NewReader(values.Encode()))
	if err != nil {
		panic(err)
	}
	req.AddCookie(&http.Cookie{Name: forumtest.CookieName, Value: user})
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	client := *f.client
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	res, err := client.Do(req)
	if err != nil {
		return 0
	}
	res.Body.Close()
	return res.StatusCode
}

func (u *person) come() {
	u.pages.Wait()
	ctx, cancel := context.WithCancel(context.Background())
	u.leave = cancel
	for _, r := range u.devices {
		r.reopen()
		u.pages.Go(func() { r.run(ctx) })
	}
}

func (u *person) close() {
	if u.leave != nil {
		u.leave()
		u.leave = nil
	}
}

// churn lets some people come and go, and one change who sees them.
func (p *people) churn(rnd *rand.Rand) {
	for range 3 {
		u := p.persons[rnd.IntN(len(p.persons))]
		if u.leave == nil {
			u.come()
		} else {
			u.close()
		}
	}
	for _, u := range p.persons {
		if !u.fickle {
			continue
		}
		to := []string{"everyone", "contacts", "nobody"}[rnd.IntN(3)]
		switch p.fleet.formOnce(rnd.IntN(len(p.fleet.nodes)), u.name, "/settings", url.Values{"online": {to}}) {
		case http.StatusSeeOther:
			u.online = to
		case http.StatusServiceUnavailable: // it may be in the database, and the nodes not told
			u.online = "?"
		default:
			u.online = "?"
		}
	}
}

// shown reports whether a watcher may see a person who is online.
func (u *person) shown(watcher string) bool {
	if u.block == watcher {
		return false
	}
	switch u.online {
	case "everyone":
		return true
	case "contacts":
		return slices.Contains([]string{"w0", "w1"}[:chaosContacts], watcher)
	}
	return false
}

// widened says whom a watcher sees who may never be seen by that watcher.
func (p *people) widened(watcher string, roster *forumtest.Roster) string {
	for _, u := range p.persons {
		if _, seen := roster.Users[u.name]; seen && !u.fickle && !u.shown(watcher) {
			return fmt.Sprintf("%s sees %s, who is hidden", watcher, u.name)
		}
	}
	return ""
}

// rest waits until each watcher sees the truth, and returns how long that took.
func (p *people) rest(t *testing.T) time.Duration {
	t.Helper()
	began := time.Now()
	p.fleet.waits.Wait()
	for _, u := range p.persons {
		if u.online == "?" {
			p.fleet.form(u.name, "/settings", url.Values{"online": {"contacts"}})
			u.online = "contacts"
		}
	}
	for wrong := p.wrong(); wrong != ""; wrong = p.wrong() {
		if time.Since(began) > forumtest.Patience {
			t.Errorf("after %v: %s", forumtest.Patience, wrong)
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	for _, r := range p.watchers {
		r.mu.Lock()
		for _, fault := range r.faults {
			t.Errorf("%s: %s", r.name, fault)
		}
		r.faults = nil
		r.mu.Unlock()
	}
	p.fleet.library.Forget()
	return time.Since(began)
}

// wrong says what is not as it should be yet.
func (p *people) wrong() string {
	for _, r := range p.watchers {
		r.mu.Lock()
		up, roster, node := r.up, r.roster, r.node
		r.mu.Unlock()
		if !up {
			return r.name + " has no stream"
		}
		for _, u := range p.persons {
			want := u.leave != nil && u.shown(r.name)
			if _, got := roster.Users[u.name]; got != want {
				return fmt.Sprintf("%s at node %d sees %s: %v, want %v", r.name, node, u.name, got, want)
			}
		}
	}
	for _, u := range p.persons {
		for _, r := range u.devices {
			if u.leave != nil && !r.reading() {
				return "a device of " + u.name + " has no stream"
			}
		}
	}
	return ""
}

// once lets everybody go in quiet, and come again: each watcher sees each person whom the
// watcher may see leave once and join once, however many devices there are.
func (p *people) once(t *testing.T) {
	t.Helper()
	for _, u := range p.persons {
		if u.leave == nil {
			u.come()
		}
	}
	p.rest(t)
	count := func(of func(*chaosReader) map[string]int) map[string]int {
		all := make(map[string]int)
		for _, r := range p.watchers {
			r.mu.Lock()
			for user, n := range of(r) {
				all[r.name+" "+user] = n
			}
			r.mu.Unlock()
		}
		return all
	}
	left, came := func(r *chaosReader) map[string]int { return r.left }, func(r *chaosReader) map[string]int { return r.came }
	check := func(what string, of func(*chaosReader) map[string]int, move func(*person)) {
		t.Helper()
		before := count(of)
		for _, u := range p.persons {
			move(u)
		}
		p.rest(t)
		after := count(of)
		for _, r := range p.watchers {
			for _, u := range p.persons {
				want := 0
				if u.shown(r.name) {
					want = 1
				}
				if got := after[r.name+" "+u.name] - before[r.name+" "+u.name]; got != want {
					t.Errorf("%s saw %s %s %d times, want %d", r.name, u.name, what, got, want)
				}
			}
		}
	}
	check("leave", left, (*person).close)
	check("join", came, (*person).come)
}
