package forumtest

import (
	"encoding/json"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"sync"
	"time"
)

// A Library keeps each roster and each event once, and computes the result of an event on a roster once.
// Thousands of readers have the same few, so checks are cheap.
type Library struct {
	seed maphash.Seed

	mu      sync.Mutex
	events  map[string]map[string]*RosterEvent // by type and data
	rosters map[rosterKey]*Roster
	steps   map[stepKey]*chaosStep
	leaves  map[string][]string // by user: each event with a leave of the user, and when it came
	Empty   *Roster
}

// A Roster has the users who are present, with their profiles as JSON. It never changes.
type Roster struct {
	Users map[string]string
	hash  uint64
}

type rosterKey struct {
	hash uint64
	size int
}

type stepKey struct {
	from  *Roster
	event *RosterEvent
}

// A chaosStep is the result of an event on a roster.
type chaosStep struct {
	To     *Roster
	Left   []string
	Faults []string
}

// A RosterEvent is a state or a diff.
type RosterEvent struct {
	Typ    string
	data   string
	bad    error
	Cursor string
	Prev   string
	Total  int
	Users  map[string]json.RawMessage
	Joins  map[string]json.RawMessage
	Leaves map[string]json.RawMessage
}

func NewLibrary() *Library {
	l := &Library{seed: maphash.MakeSeed()}
	l.Empty = &Roster{}
	l.Forget()
	return l
}

// Forget drops the rosters and events that are no longer needed.
func (l *Library) Forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = map[string]map[string]*RosterEvent{"state": {}, "diff": {}}
	l.steps = make(map[stepKey]*chaosStep)
	l.leaves = make(map[string][]string)
	l.rosters = make(map[rosterKey]*Roster)
}

// Leaves returns the events since the last Forget that have a leave of a user, and when they came.
func (l *Library) Leaves(user string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.leaves[user])
}

// Event returns the event with the given data; nil if events of its type change no roster.
func (l *Library) Event(typ, data []byte) *RosterEvent {
	l.mu.Lock()
	defer l.mu.Unlock()
	known, ok := l.events[string(typ)]
	if !ok {
		return nil
	}
	e := known[string(data)]
	if e == nil {
		e = &RosterEvent{Typ: string(typ), data: string(data)}
		e.bad = json.Unmarshal(data, e)
		known[e.data] = e
	}
	return e
}

// Apply returns the result of an event on a roster.
func (l *Library) Apply(from *Roster, e *RosterEvent) *chaosStep {
	l.mu.Lock()
	defer l.mu.Unlock()
	step := l.steps[stepKey{from, e}]
	if step == nil {
		step = l.work(from, e)
		l.steps[stepKey{from, e}] = step
	}
	return step
}

func (l *Library) work(from *Roster, e *RosterEvent) *chaosStep {
	step := &chaosStep{To: from}
	fault := func(format string, args ...any) { step.Faults = append(step.Faults, fmt.Sprintf(format, args...)) }
	if e.bad != nil {
		fault("%s is not JSON: %v: %.200s", e.Typ, e.bad, e.data)
		return step
	}
	to := make(map[string]string, e.Total)
	if e.Typ == "state" {
		for user, profile := range e.Users {
			to[user] = string(profile)
		}
		for user := range from.Users {
			if _, stays := to[user]; !stays {
				step.Left = append(step.Left, user)
			}
		}
	} else {
		maps.Copy(to, from.Users)
		for user, profile := range e.Joins {
			if _, both := e.Leaves[user]; both {
				fault("%s joins and leaves in one diff: %.200s", user, e.data)
			}
			if to[user] == string(profile) {
				fault("%s joined twice in a row: %.200s", user, e.data)
			}
			to[user] = string(profile)
		}
		for user := range e.Leaves {
			if _, there := to[user]; !there {
				fault("%s left, and was not there: %.200s", user, e.data)
			}
			delete(to, user)
			step.Left = append(step.Left, user)
		}
	}
	if e.Total != len(to) {
		fault("the total is %d, and the roster has %d", e.Total, len(to))
	}
	for _, user := range step.Left {
		l.leaves[user] = append(l.leaves[user], fmt.Sprintf("%s %.400s", time.Now().Format("05.000"), e.data))
	}
	step.To = l.roster(to)
	return step
}

// roster returns the one roster with these users. The caller holds mu.
func (l *Library) roster(users map[string]string) *Roster {
	var hash uint64
	for user, profile := range users {
		hash += maphash.String(l.seed, user+"\x00"+profile)
	}
	key := rosterKey{hash, len(users)}
	r := l.rosters[key]
	if r == nil {
		r = &Roster{Users: users, hash: hash}
		l.rosters[key] = r
	}
	return r
}

// Status returns a user's status in the roster; "" if the user is not in it.
func (r *Roster) Status(user string) string {
	var profile struct{ Status string }
	if text, ok := r.Users[user]; ok && json.Unmarshal([]byte(text), &profile) == nil {
		return profile.Status
	}
	return ""
}
