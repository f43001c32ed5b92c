package simtest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed"
	"github.com/rollcall-go/rollcall/presence/feed/feedtest"
)

// With an inbox all pages of users follow theirs. The site's program puts messages in, users mark
// them, and the database fails. At rest each page shows what the database has.

var databaseFailures = []string{"database out", "database slow", "database mute"}

// inboxActs returns what happens to inboxes.
func (g game) inboxActs(rnd *rand.Rand, length time.Duration) (acts []act) {
	for range 6 + rnd.IntN(20) {
		a := act{at: upTo(rnd, length), do: "put", who: rnd.IntN(len(kinds)), node: rnd.IntN(g.nodes)}
		switch rnd.IntN(3) {
		case 0:
			a.with = "group"
		case 1:
			a.do, a.with, a.d = "mark", []string{"read", "unread", "seen"}[rnd.IntN(3)], time.Duration(1+rnd.IntN(6))
		}
		acts = append(acts, a)
	}
	for range rnd.IntN(4) {
		acts = append(acts, act{at: upTo(rnd, length), do: databaseFailures[rnd.IntN(3)], who: rnd.IntN(g.nodes), d: 100*time.Millisecond + upTo(rnd, 8*time.Second)})
	}
	return acts
}

// newFeeds adds the inbox to a process.
func (w *world) newFeeds(p *process) {
	cfg := feed.Config{}
	if !w.game.slow {
		cfg.Check = 5 * time.Second
	}
	var err error
	p.database = feedtest.NewFaultyStore(w.database)
	if p.feeds, err = feed.New(p.database, p.tracker, cfg); err != nil {
		panic(err)
	}
}

// relays moves messages once a second until ctx ends.
func (p *process) relays(ctx context.Context) {
	for ctx.Err() == nil {
		time.Sleep(time.Second)
		_, _ = p.feeds.Relay(ctx)
	}
}

func (p *process) closeFeeds(ctx context.Context) {
	if p.feeds != nil {
		_ = p.feeds.Close(ctx)
	}
}

func inboxOf(user string) feed.Name { return feed.Name("inbox:" + user) }

// doInbox does an act of inboxActs that is no failure. Whoever puts a message repeats it, with
// the same id, until it is taken.
func (w *world) doInbox(u *person, a act) {
	if w.database == nil { // the feature was left out
		return
	}
	m := feed.Message{To: []presence.UserID{presence.UserID(u.id)}, ID: fmt.Sprintf("m%d", a.at), From: "site", Text: fmt.Sprint("{actors} wrote ", a.at), About: "thread:1"}
	mark := feed.Mark{As: feed.Read, UpTo: int64(a.d)}
	switch a.with {
	case "group":
		m.Group = "replies"
	case "unread":
		mark = feed.Mark{As: feed.Unread, Pos: []int64{int64(a.d)}}
	case "seen":
		mark = feed.Mark{Seen: true}
	}
	w.later(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		for node := a.node; ctx.Err() == nil; node++ {
			p, err := w.at(node), errDead
			if p != nil && a.do == "mark" {
				_, err = p.feeds.Mark(ctx, inboxOf(u.id), mark)
			} else if p != nil {
				err = p.feeds.Send(ctx, m)
			}
			w.note("%s %s for %s: %v", a.do, a.with, u.id, err)
			if err == nil && a.do == "put" && a.with == "" {
				w.mu.Lock()
				w.messages[u.id] = append(w.messages[u.id], m.ID)
				w.mu.Unlock()
			}
			if err == nil || a.do == "mark" {
				return
			}
			time.Sleep(100 * time.Millisecond)
		}
	})
}

// databaseFails breaks the database, or one node's way to it, for a while.
func (w *world) databaseFails(a act) {
	if w.database == nil {
		return
	}
	if a.do == "database out" {
		w.databaseOut.Add(1)
		w.database.Out(true)
		w.later(func() {
			time.Sleep(a.d)
			if w.databaseOut.Add(-1) == 0 {
				w.database.Out(false)
			}
		})
		return
	}
	if p := w.at(a.who % w.game.nodes); p != nil {
		fault := feedtest.Fault{Delay: 300 * time.Millisecond}
		if a.do == "database mute" { // its answers are lost
			fault = feedtest.Fault{Lost: errAway}
		}
		p.database.Break(fault)
		w.later(func() {
			time.Sleep(a.d)
			select {
			case <-p.dead:
			default:
				p.database.Heal()
			}
		})
	}
}

// A box is an inbox as a page shows it. The page's mutex guards it.
type box struct {
	cursor string
	items  map[string]string // by id
	unread int
	unseen int
	stale  bool
}

// hasInbox reports whether the page follows its.
func (p *page) hasInbox() bool { return p.person != nil && p.w.game.has(inbox) }

// mail takes an event of the inbox.
func (p *page) mail(e presence.Event) {
	var d struct {
		Cursor, Prev   string
		Unread, Unseen *int
		Items          []struct {
			ID, Text, State string
			Pos             int64
			N               int
		}
		More, Stale bool
	}
	if err := json.Unmarshal(e.Data, &d); err != nil {
		p.w.fault("%s gets %s: %v", p.name, e.Data, err)
		return
	}
	p.w.note("%s gets a %s of its inbox from %s to %s: %d items", p.name, e.Type, d.Prev, d.Cursor, len(d.Items))
	b := &p.box
	b.stale = d.Stale
	switch {
	case e.Type == presence.EventState:
		b.items = make(map[string]string)
	case e.Type == presence.EventDiff && d.Prev != b.cursor:
		p.w.fault("%s has its inbox at %s, and gets a diff that goes on from %s", p.name, b.cursor, d.Prev)
	case e.Type == presence.EventHeartbeat:
		if d.Unread != nil && (d.Cursor != b.cursor || *d.Unread != b.unread) {
			p.w.fault("%s has its inbox at %s, and gets a heartbeat at %s", p.name, b.cursor, d.Cursor)
		}
		return
	}
	if d.Unread == nil || d.More {
		p.w.fault("%s gets %s of its inbox, and that is not all", p.name, e.Data)
		return
	}
	b.cursor, b.unread, b.unseen = d.Cursor, *d.Unread, *d.Unseen
	for _, i := range d.Items {
		b.items[i.ID] = fmt.Sprint(i.Pos, " ", i.State, " ", i.N, " ", i.Text)
	}
}

// wrongInbox says which inbox is not as it should be yet.
func (w *world) wrongInbox() string {
	if w.database == nil {
		return ""
	}
	texts := w.processes()
	for _, u := range w.persons {
		head, items, _, err := w.database.Page(context.Background(), inboxOf(u.id), 0, feed.PageItems)
		if err != nil || len(texts) == 0 {
			return fmt.Sprintf("nobody can read the inbox of %s: %v", u.id, err)
		}
		want, there := make(map[string]string), make(map[string]bool)
		for _, i := range items {
			want[i.ID] = fmt.Sprint(i.Pos, " ", i.State, " ", i.Count, " ", texts[0].feeds.Text(i))
			there[i.ID] = true
		}
		w.mu.Lock()
		sent := slices.Clone(w.messages[u.id])
		w.mu.Unlock()
		for _, id := range sent {
			if !there[id] {
				return fmt.Sprintf("the inbox of %s lacks %s", u.id, id)
			}
		}
		for _, p := range u.pages {
			if wrong := p.wrongInbox(head, want); wrong != "" {
				return wrong
			}
		}
	}
	return ""
}

// wrongInbox says how the page's inbox differs from the head and the items of the database.
func (p *page) wrongInbox(head feed.Head, want map[string]string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := p.box
	if maps.Equal(b.items, want) && b.unread == head.Unread && b.unseen == head.Unseen && !b.stale {
		return ""
	}
	return fmt.Sprintf("%s shows the inbox %v, with %d unread, %d unseen, stale %v; want %v, %d and %d", p.name, b.items, b.unread, b.unseen, b.stale, want, head.Unread, head.Unseen)
}
