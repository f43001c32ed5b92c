package simtest_test

import (
	"context"
	"slices"
	"time"

	"github.com/gobwas/ws"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed"
	"github.com/rollcall-go/rollcall/presence/track"
)

// Thread is the second topic of games with threads. Users enter it on one of their pages, and
// leave it.
const thread presence.Topic = "thread:1"

// topics returns those of the game.
func (g game) topics() []presence.Topic {
	if g.has(threads) {
		return []presence.Topic{presence.Site, thread}
	}
	return []presence.Topic{presence.Site}
}

// follows returns the topics that the page is to show.
func (p *page) follows() []presence.Topic {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.topics)
}

func (p *page) shows(topic presence.Topic) bool { return slices.Contains(p.follows(), topic) }

// show makes the page show the thread, or no longer.
func (p *page) show(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.topics = []presence.Topic{presence.Site}
	if on {
		p.topics = append(p.topics, thread)
	}
	select {
	case p.changed <- struct{}{}:
	default:
	}
}

// A talker can change its topics without a new connection.
type talker interface {
	subscribe(ctx context.Context, topic presence.Topic, from presence.Cursor) error
	unsubscribe(topic presence.Topic)
}

// tuneLocked updates the topics that the page asks for to those that it is to show, and reports
// whether they have changed.
func (p *page) tuneLocked() bool {
	on := slices.Contains(p.topics, thread)
	if on == p.tuned {
		return false
	}
	if p.tuned = on; on {
		s := p.picture(thread)
		s.fresh, s.old = true, true
		p.id = presence.JoinCursors(p.id, presence.Cursor(s.cursor))
	}
	return true
}

// asks returns the topics of the page's next connection.
func (p *page) asks() []presence.Topic {
	p.mu.Lock()
	defer p.mu.Unlock()
	topics := []presence.Topic{presence.Site}
	if p.tuned {
		topics = append(topics, thread)
	}
	if p.watchesPeople() {
		topics = append(topics, presence.PeopleTopic)
	}
	if p.hasInbox() {
		topics = append(topics, feed.InboxTopic)
	}
	return topics
}

// retune changes the topics of the page's stream. It returns false if the page must connect
// again.
func (p *page) retune(ctx context.Context, conn stream) bool {
	p.mu.Lock()
	t, ok := conn.(talker)
	if !ok {
		p.mu.Unlock()
		return false
	}
	changed, on, from := p.tuneLocked(), p.tuned, presence.Cursor(p.picture(thread).cursor)
	p.mu.Unlock()
	switch {
	case !changed:
		return true
	case !on:
		t.unsubscribe(thread)
		return true
	}
	return t.subscribe(ctx, thread, from) == nil
}

// A connection is a track.Connection as a talker.
type connection struct{ *track.Connection }

func (c connection) subscribe(ctx context.Context, topic presence.Topic, from presence.Cursor) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	return c.Subscribe(ctx, topic, from)
}

func (c connection) unsubscribe(topic presence.Topic) { c.Unsubscribe(topic) }

// subscribe asks for a state where events of an earlier subscription may still be on their way.
func (s *socket) subscribe(_ context.Context, topic presence.Topic, from presence.Cursor) error {
	if time.Since(s.unsubscribed) < time.Second {
		from = ""
	}
	s.say("subscribe", topic, from)
	return nil
}

func (s *socket) unsubscribe(topic presence.Topic) {
	s.unsubscribed = time.Now()
	s.say("unsubscribe", topic, "")
}

func (s *socket) say(word string, topic presence.Topic, from presence.Cursor) {
	s.send(ws.OpText, []byte(`{"type":"`+word+`","topic":"`+string(topic)+`","cursor":"`+string(from)+`"}`))
}

// enter makes the user's first page show the thread.
func (u *person) enter() {
	if len(u.pages) > 0 && u.w.game.has(threads) {
		u.pages[0].show(true)
	}
}

// exit makes the user's first page show it no longer.
func (u *person) exit() {
	if len(u.pages) > 0 && u.in(thread) {
		u.pages[0].show(false)
		u.exits()
	}
}

// exits is for when a page has ended that may have been the last in the thread.
func (u *person) exits() {
	if !u.in(thread) {
		u.departures[thread]++
	}
}

// in reports whether one of the user's pages shows a topic.
func (u *person) in(topic presence.Topic) bool {
	return topic == presence.Site || slices.ContainsFunc(u.pages, func(p *page) bool { return p.shows(topic) })
}

// departs is for when others may see the user leave once more, in every topic.
func (u *person) departs(times int) {
	for _, topic := range append(u.w.game.topics(), presence.PeopleTopic) {
		u.departures[topic] += times
	}
}
