package main

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

// A centrifugoPage is a list that follows the channel.
type centrifugoPage struct {
	site centrifugoSite
	show func(change)

	mu      sync.Mutex
	clients map[string]string    // the users of connections
	users   map[string]time.Time // who is shown: zero, or since when no connection is there
}

func (f *centrifugoFleet) watch(ctx context.Context, addr string, show func(change)) (tab, error) {
	t := &centrifugoTab{closer: newCloser()}
	life, cancel := context.WithCancel(context.Background())
	t.cancel = cancel
	p := &centrifugoPage{site: f.site, show: show, clients: map[string]string{}, users: map[string]time.Time{}}
	ready := make(chan struct{})
	var once sync.Once
	go func() {
		defer t.end()
		for wait := 0; life.Err() == nil; wait++ {
			centrifugoConnect(life, addr, watcherName, true, func(r centrifugoReply, say func(string) error) {
				if r.ID == centrifugoSubscribe {
					wait = 0
				}
				p.reply(life, r, say)
				if r.ID == centrifugoAsk {
					once.Do(func() { close(ready) })
				}
			})
			// centrifuge-js waits for up to 0.5 s, doubled each time, and at most 20 s.
			pause(life, 500*time.Millisecond+rand.N(min(500*time.Millisecond<<min(wait, 6), 20*time.Second)))
		}
	}()
	if f.site.grace > 0 {
		go func() {
			for pause(life, 250*time.Millisecond) {
				p.expire()
			}
		}()
	}
	return t, t.await(ctx, ready, nil)
}

func (p *centrifugoPage) reply(ctx context.Context, r centrifugoReply, say func(string) error) {
	switch {
	case r.ID == centrifugoSubscribe:
		say(centrifugoAsks)
		if p.site.every > 0 {
			go func() {
				for pause(ctx, p.site.every) && say(centrifugoAsks) == nil {
				}
			}()
		}
	case r.ID == centrifugoAsk && r.Presence != nil:
		clients := map[string]string{}
		for client, info := range r.Presence.Presence {
			clients[client] = info.User
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.clients = clients
		p.display()
	case r.Push == nil:
	case r.Push.Join != nil:
		p.mu.Lock()
		defer p.mu.Unlock()
		p.clients[r.Push.Join.Info.Client] = r.Push.Join.Info.User
		p.display()
	case r.Push.Leave != nil:
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.clients, r.Push.Leave.Info.Client)
		p.display()
	}
}

// display shows the users of all connections. The caller holds mu.
func (p *centrifugoPage) display() {
	var c change
	there := map[string]bool{}
	for _, user := range p.clients {
		there[user] = true
		if since, shown := p.users[user]; !shown || !since.IsZero() {
			p.users[user] = time.Time{}
			if !shown {
				c.Joins = append(c.Joins, user)
			}
		}
	}
	for user, since := range p.users {
		switch {
		case there[user] || !since.IsZero():
		case p.site.grace > 0:
			p.users[user] = time.Now()
		default:
			delete(p.users, user)
			c.Leaves = append(c.Leaves, user)
		}
	}
	p.show(c)
}

// expire shows the leaves of those who were away for the grace.
func (p *centrifugoPage) expire() {
	p.mu.Lock()
	defer p.mu.Unlock()
	var c change
	for user, since := range p.users {
		if !since.IsZero() && time.Since(since) > p.site.grace {
			delete(p.users, user)
			c.Leaves = append(c.Leaves, user)
		}
	}
	p.show(c)
}
