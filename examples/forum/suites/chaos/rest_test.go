package chaos_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rollcall-go/rollcall/examples/forum/internal/forumtest"
)

// rest waits until every reader and every node has the truth, and returns how
// long that took.
func (f *fleet) rest(t *testing.T) time.Duration {
	t.Helper()
	began := time.Now()
	f.waits.Wait()
	for again := true; again; { // whoever does not know what became of a status sets it again
		again = false
		for _, u := range f.users {
			if u.kind == moody && u.truth() == "?" {
				u.setStatus("busy")
				again = true
			}
		}
		f.waits.Wait()
		if time.Since(began) > forumtest.Patience {
			t.Errorf("after %v not every status can be set", forumtest.Patience)
			return forumtest.Patience
		}
	}
	var latest string // what was wrong last
	for {
		wrong := f.wrong()
		took := time.Since(began)
		if wrong == "" {
			if took > restTime {
				t.Logf("%s at rest after %v, before: %s", time.Now().Format("05.000"), took, latest)
			}
			f.clean(t)
			return took
		}
		latest = time.Now().Format("05.000 ") + wrong
		if took > forumtest.Patience {
			t.Errorf("after %v: %s", forumtest.Patience, wrong)
			f.explain(t)
			f.clean(t)
			return took
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// wrong says what is not as it should be yet.
func (f *fleet) wrong() string {
	truth := make(map[string]string)
	for _, u := range f.users {
		truth[u.name] = u.truth()
	}
	known := make(map[*forumtest.Roster]string)
	for _, r := range f.readers {
		r.mu.Lock()
		up, parted, roster, node, cursor := r.up, r.parted, r.roster, r.node, r.cursor
		r.mu.Unlock()
		if parted {
			if up {
				return fmt.Sprintf("a stream of %s is open, who signed out or left", r.name)
			}
			continue
		}
		if !up {
			return fmt.Sprintf("a reader of %q has no stream", r.name)
		}
		difference, ok := known[roster]
		if !ok {
			difference = differs(roster, truth)
			known[roster] = difference
		}
		if difference != "" {
			return fmt.Sprintf("a reader of %q at node %d at %s has a roster of %d: %s", r.name, node, cursor, len(roster.Users), difference)
		}
	}
	for i, n := range f.nodes {
		roster, err := f.rosterOf(n)
		if err != nil {
			return fmt.Sprintf("node %d: %v", i, err)
		}
		if difference := differs(roster, truth); difference != "" {
			return fmt.Sprintf("the roster of node %d: %s", i, difference)
		}
	}
	return ""
}

// differs says how a roster is not the truth.
func differs(r *forumtest.Roster, truth map[string]string) string {
	var wrong []string
	for user, want := range truth {
		if got := r.Status(user); got != want && want != "?" {
			wrong = append(wrong, fmt.Sprintf("%s is %q, want %q", user, got, want))
		}
	}
	for user := range r.Users {
		if _, known := truth[user]; !known {
			wrong = append(wrong, "nobody knows "+user)
		}
	}
	if len(wrong) == 0 {
		return ""
	}
	slices.Sort(wrong)
	return fmt.Sprintf("%d wrong: %s", len(wrong), strings.Join(wrong[:min(len(wrong), 10)], ", "))
}

// rosterOf asks a node for its roster.
func (f *fleet) rosterOf(n *forumtest.Node) (*forumtest.Roster, error) {
	res, err := f.client.Get(n.URL("/presence/roster?topic=site&limit=1000"))
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	var body struct {
		Stale bool
		Total int
		Users map[string]json.RawMessage
	}
	if err := json.NewDecoder(res.Body).Decode(&body); err != nil || res.StatusCode != http.StatusOK || body.Stale {
		return nil, fmt.Errorf("got %s, stale %v, error %v", res.Status, body.Stale, err)
	}
	if body.Total != len(body.Users) {
		return nil, fmt.Errorf("total %d of %d", body.Total, len(body.Users))
	}
	roster := &forumtest.Roster{Users: make(map[string]string, len(body.Users))}
	for user, profile := range body.Users {
		roster.Users[user] = string(profile)
	}
	return roster, nil
}

// clean holds what everybody saw against what may be seen, and begins anew.
func (f *fleet) clean(t *testing.T) {
	t.Helper()
	defer f.library.Forget()
	defer func() { f.lost, f.apart = false, false }()
	most := make(map[string]int)
	absences := make(map[string][]string)
	arrived := make(map[string]bool)
	for _, u := range f.users {
		arrived[u.name], u.arrived = u.arrived, false
		late, all := u.away.taken()
		most[u.name], absences[u.name] = u.departures+late, all
	}
	seen := make(map[string]int) // by fault: how many readers
	told := make(map[string][]string)
	path := make(map[string][]string)
	for _, r := range f.readers {
		r.mu.Lock()
		for _, fault := range r.faults {
			seen[fault]++
		}
		r.faults = nil
		for user := range most {
			n, most := r.left[user], most[user]
			if most > 0 {
				most += r.back[user] // who is behind brings back who has left
			}
			// A node that does not reach the store yet has not heard of who came meanwhile, and cannot look.
			if !f.lost && !(f.apart && arrived[user]) {
				n += r.missed[user]
			}
			if n > most {
				seen[fmt.Sprintf("%s was seen to leave %d times, and left %d times at most", user, n, most)]++
				told[user], path[user] = f.library.Leaves(user), r.leaves
			}
		}
		for user, n := range most { // once said, not again
			r.left[user] = min(r.left[user], n)
		}
		clear(r.missed)
		clear(r.back)
		r.earlier, r.leaves = r.leaves, nil
		r.mu.Unlock()
	}
	for i, fault := range slices.Sorted(maps.Keys(seen)) {
		if i == 10 {
			t.Errorf("and %d other faults", len(seen)-i)
			break
		}
		t.Errorf("%d readers: %s", seen[fault], fault)
	}
	for user, events := range told {
		t.Logf("of leaves of %s told\n%s\nand one reader saw\n%s\nabsences: %s", user, strings.Join(events, "\n"),
			strings.Join(path[user], "\n"), strings.Join(absences[user], "; "))
	}
}

// explain logs what is known of those whom the first node sees wrongly.
func (f *fleet) explain(t *testing.T) {
	if f.redis != nil {
		t.Log("subscriptions:", f.redis.Client().PubSubNumSub(t.Context(), "presence:{~index}:live", "presence:{site}:diffs").Val())
	}
	for _, r := range f.readers {
		if !r.reading() {
			r.explain(t)
		}
	}
	roster, err := f.rosterOf(f.nodes[0])
	if err != nil {
		t.Log(err)
		return
	}
	for _, u := range f.users {
		if got, want := roster.Status(u.name), u.truth(); got != want && want != "?" {
			t.Logf("%s is %q, want %q; %s, here %v, signed out %v, view at %v; the store has %q", u.name, got, want, u.kind, u.here, u.signedOut,
				u.viewed.Format("15:04:05.000"), f.store().HGet(t.Context(), "presence:{site}:users", u.name).Val())
			for _, r := range u.readers {
				r.explain(t)
			}
		}
	}
}

func (r *chaosReader) explain(t *testing.T) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t.Logf("a stream of %q: node %d, connected %v, up %v, parted %v, cursor %s, to wait %v", r.name, r.node, r.conn != nil, r.up, r.parted, r.cursor, r.retry)
}

// store is a client of what the forums use.
func (f *fleet) store() redis.UniversalClient {
	if f.cluster != nil {
		return f.cluster.Client()
	}
	return f.redis.Client()
}
