package main

import (
	"sync"
	"time"
)

// An agenda calls do for each page as often as the page beats, for the first time a period after
// it was added. It never calls do for two pages at the same time.
type agenda struct {
	do func(*page) (again bool)

	mu     sync.Mutex
	queues map[time.Duration][]duePage // by period; each with the earliest first
}

type duePage struct {
	at   time.Time
	page *page
}

func newAgenda(do func(*page) (again bool)) *agenda {
	a := &agenda{do: do, queues: make(map[time.Duration][]duePage)}
	go a.run()
	return a
}

func (a *agenda) add(every time.Duration, p *page) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.queues[every] = append(a.queues[every], duePage{time.Now().Add(every), p})
}

func (a *agenda) run() {
	for ; ; time.Sleep(10 * time.Millisecond) {
		for _, every := range a.periods() {
			for {
				p, ok := a.due(every)
				if !ok {
					break
				}
				if a.do(p) {
					a.add(every, p)
				}
			}
		}
	}
}

func (a *agenda) periods() (all []time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for every := range a.queues {
		all = append(all, every)
	}
	return all
}

// due takes the first page of a queue, if it is due.
func (a *agenda) due(every time.Duration) (p *page, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	q := a.queues[every]
	if len(q) == 0 || time.Now().Before(q[0].at) {
		return nil, false
	}
	a.queues[every] = q[1:]
	return q[0].page, true
}
