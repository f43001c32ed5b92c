package main

import (
	"sync"
	"time"
)

// An agenda calls do for each of its things once in a period, for the first time a period after
// it was added: as pages beat. It never calls do for two things of one agenda at the same time.
type agenda[T any] struct {
	do func(T) (again bool)

	mu     sync.Mutex
	queues map[time.Duration][]dueThing[T] // by period; each with the earliest first
}

type dueThing[T any] struct {
	at    time.Time
	thing T
}

func newAgenda[T any](do func(T) (again bool)) *agenda[T] {
	a := &agenda[T]{do: do, queues: make(map[time.Duration][]dueThing[T])}
	go a.run()
	return a
}

func (a *agenda[T]) add(every time.Duration, thing T) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.queues[every] = append(a.queues[every], dueThing[T]{time.Now().Add(every), thing})
}

func (a *agenda[T]) run() {
	for ; ; time.Sleep(10 * time.Millisecond) {
		for _, every := range a.periods() {
			for {
				thing, ok := a.due(every)
				if !ok {
					break
				}
				if a.do(thing) {
					a.add(every, thing)
				}
			}
		}
	}
}

func (a *agenda[T]) periods() (all []time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for every := range a.queues {
		all = append(all, every)
	}
	return all
}

// due takes the first thing of a queue, if it is due.
func (a *agenda[T]) due(every time.Duration) (thing T, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	q := a.queues[every]
	if len(q) == 0 || time.Now().Before(q[0].at) {
		return thing, false
	}
	a.queues[every] = q[1:]
	return q[0].thing, true
}
