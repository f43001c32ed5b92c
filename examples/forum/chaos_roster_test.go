package main

import (
	"encoding/json"
	"fmt"
	"hash/maphash"
	"maps"
	"sync"
	"time"
)

// Thousands of readers have the same few rosters and take the same few events.
// A library keeps each once, and works out once what an event makes of a
// roster, so that what is checked costs next to nothing.
type library struct {
	seed maphash.Seed

	mu      sync.Mutex
	events  map[string]map[string]*chaosEvent // type, data
	rosters map[rosterKey]*chaosRoster
	steps   map[stepKey]*chaosStep
	leaves  map[string][]string // by user: each event that told of a leave, and when
	empty   *chaosRoster
}

// A chaosRoster is who is there, with their profiles as JSON. It never changes.
type chaosRoster struct {
	users map[string]string
	hash  uint64
}

type rosterKey struct {
	hash uint64
	size int
}

type stepKey struct {
	from  *chaosRoster
	event *chaosEvent
}

// A chaosStep is what an event makes of a roster.
type chaosStep struct {
	to     *chaosRoster
	left   []string
	faults []string
}

// A chaosEvent is a state or a diff.
type chaosEvent struct {
	typ    string
	data   string
	bad    error
	Cursor string
	Prev   string
	Total  int
	Users  map[string]json.RawMessage
	Joins  map[string]json.RawMessage
	Leaves map[string]json.RawMessage
}

func newLibrary() *library {
	l := &library{seed: maphash.MakeSeed()}
	l.empty = &chaosRoster{}
	l.forget()
	return l
}

// forget drops what nobody will ask for again.
func (l *library) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = map[string]map[string]*chaosEvent{"state": {}, "diff": {}}
	l.steps = make(map[stepKey]*chaosStep)
	l.leaves = make(map[string][]string)
	l.rosters = make(map[rosterKey]*chaosRoster)
}

// event returns the event with that data, nil where its type changes no roster.
func (l *library) event(typ, data []byte) *chaosEvent {
	l.mu.Lock()
	defer l.mu.Unlock()
	known, ok := l.events[string(typ)]
	if !ok {
		return nil
	}
	e := known[string(data)]
	if e == nil {
		e = &chaosEvent{typ: string(typ), data: string(data)}
		e.bad = json.Unmarshal(data, e)
		known[e.data] = e
	}
	return e
}

// apply returns what an event makes of a roster.
func (l *library) apply(from *chaosRoster, e *chaosEvent) *chaosStep {
	l.mu.Lock()
	defer l.mu.Unlock()
	step := l.steps[stepKey{from, e}]
	if step == nil {
		step = l.work(from, e)
		l.steps[stepKey{from, e}] = step
	}
	return step
}

func (l *library) work(from *chaosRoster, e *chaosEvent) *chaosStep {
	step := &chaosStep{to: from}
	fault := func(format string, args ...any) { step.faults = append(step.faults, fmt.Sprintf(format, args...)) }
	if e.bad != nil {
		fault("%s is not JSON: %v: %.200s", e.typ, e.bad, e.data)
		return step
	}
	to := make(map[string]string, e.Total)
	if e.typ == "state" {
		for user, profile := range e.Users {
			to[user] = string(profile)
		}
		for user := range from.users {
			if _, stays := to[user]; !stays {
				step.left = append(step.left, user)
			}
		}
	} else {
		maps.Copy(to, from.users)
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
			step.left = append(step.left, user)
		}
	}
	if e.Total != len(to) {
		fault("the total is %d, and the roster has %d", e.Total, len(to))
	}
	for _, user := range step.left {
		l.leaves[user] = append(l.leaves[user], fmt.Sprintf("%s %.400s", time.Now().Format("05.000"), e.data))
	}
	step.to = l.roster(to)
	return step
}

// roster returns the one roster with these users. The caller holds mu.
func (l *library) roster(users map[string]string) *chaosRoster {
	var hash uint64
	for user, profile := range users {
		hash += maphash.String(l.seed, user+"\x00"+profile)
	}
	key := rosterKey{hash, len(users)}
	r := l.rosters[key]
	if r == nil {
		r = &chaosRoster{users: users, hash: hash}
		l.rosters[key] = r
	}
	return r
}

// status is a user's in the roster, "" where it holds none.
func (r *chaosRoster) status(user string) string {
	var profile struct{ Status string }
	if text, ok := r.users[user]; ok && json.Unmarshal([]byte(text), &profile) == nil {
		return profile.Status
	}
	return ""
}
