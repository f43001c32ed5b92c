package main

import (
	"maps"
	"sync"
	"time"
)

// A record is what happened to a set of users, as shifts in order of time.
type record struct {
	begin time.Time

	mu     sync.Mutex
	shifts []shift
	there  map[string]bool
}

func newRecord(begin time.Time) *record { return &record{begin: begin, there: map[string]bool{}} }

// apply writes down what a change changes.
func (r *record) apply(c change) {
	now := time.Since(r.begin)
	r.mu.Lock()
	defer r.mu.Unlock()
	if c.All {
		kept := map[string]bool{}
		for _, u := range c.Joins {
			kept[u] = true
		}
		for u := range r.there {
			if !kept[u] {
				r.set(now, u, false)
			}
		}
	}
	for _, u := range c.Joins {
		r.set(now, u, true)
	}
	for _, u := range c.Leaves {
		r.set(now, u, false)
	}
}

// set writes down a user. The caller holds mu.
func (r *record) set(now time.Duration, user string, there bool) {
	if user == watcherName || r.there[user] == there {
		return
	}
	if there {
		r.there[user] = true
	} else {
		delete(r.there, user)
	}
	r.shifts = append(r.shifts, shift{now, user, there})
}

func (r *record) all() []shift {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.shifts[:len(r.shifts):len(r.shifts)]
}

// size returns how many users are in the set.
func (r *record) size() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.there)
}

// same reports whether two sets are equal.
func (r *record) same(other *record) bool {
	r.mu.Lock()
	mine := maps.Clone(r.there)
	r.mu.Unlock()
	other.mu.Lock()
	defer other.mu.Unlock()
	return maps.Equal(mine, other.there)
}
