package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed"
	"github.com/rollcall-go/rollcall/presence/sqlstore"
	"github.com/rollcall-go/rollcall/presence/track"
)

// watchers is how many users have a page open, each at the second node.
const watchers = 100

// A node is a process of the site, with connections of its own to the database and the bus.
type node struct {
	db      *sql.DB
	leave   func() // the bus
	tracker *track.Tracker
	keeper  *feed.Keeper
	feeds   *sqlstore.Feeds
	store   *counted
	readers sync.WaitGroup
	open    []*track.Connection
}

func (r *run) newNode(e *engine, database, name string, cfg feed.Config) (*node, error) {
	db, err := e.open(database)
	if err != nil {
		return nil, err
	}
	n := &node{db: db}
	store, leave := r.bus.store("inbox" + e.name + database)
	n.leave = leave
	in, err := newOurs(e, db)
	if err == nil {
		n.feeds = in.(*ours).store
		n.store = &counted{Store: n.feeds}
		n.tracker, err = track.New(store, track.Config{Node: name, Secret: []byte("sixteen bytes 01")})
	}
	if err == nil {
		n.keeper, err = feed.New(n.store, n.tracker, cfg)
	}
	if err != nil {
		leave()
		db.Close()
		return nil, err
	}
	return n, nil
}

func (n *node) close() {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for _, c := range n.open {
		c.Close()
	}
	n.readers.Wait()
	_ = n.tracker.Close(ctx)
	_ = n.keeper.Close(ctx)
	n.leave()
	n.db.Close()
}

// counted counts the queries that lines make.
type counted struct {
	feed.Store
	queries atomic.Int64
}

func (c *counted) Heads(ctx context.Context, names ...feed.Name) ([]feed.Head, error) {
	c.queries.Add(1)
	return c.Store.Heads(ctx, names...)
}

func (c *counted) Changes(ctx context.Context, since ...feed.Since) ([]feed.Change, error) {
	c.queries.Add(1)
	return c.Store.Changes(ctx, since...)
}

func (c *counted) Page(ctx context.Context, n feed.Name, before int64, limit int) (feed.Head, []feed.Item, bool, error) {
	c.queries.Add(1)
	return c.Store.Page(ctx, n, before, limit)
}

// watch opens a page of a user's inbox, and calls seen with the number of each message that
// comes after.
func (n *node) watch(ctx context.Context, user presence.UserID, seen func(int)) error {
	c, err := n.tracker.Connect(ctx, track.ConnectOptions{
		Visitor: presence.Visitor{User: presence.User{ID: user, Name: string(user)}}, Topics: []presence.Topic{feed.InboxTopic},
	})
	if err != nil {
		return err
	}
	n.open = append(n.open, c)
	first := make(chan struct{})
	n.readers.Go(func() {
		var events []presence.Event
		for state := false; ; {
			select {
			case <-c.Done():
				return
			case <-c.Ready():
			}
			events = c.Events(events[:0])
			for _, e := range events {
				numbers(e.Data, seen)
				if e.Type == presence.EventState && !state {
					state = true
					close(first)
				}
			}
		}
	})
	select {
	case <-first:
		return nil
	case <-time.After(10 * time.Second):
		return errors.New("no state came")
	}
}

// numbers calls seen with each number that stands between ~.
func numbers(data []byte, seen func(int)) {
	for rest := string(data); ; {
		_, after, ok := strings.Cut(rest, "~")
		if !ok {
			return
		}
		var number string
		number, rest, _ = strings.Cut(after, "~")
		if n, err := strconv.Atoi(number); err == nil {
			seen(n)
		}
	}
}

// A pair is two nodes on one database.
type pair struct{ sender, reader *node }

func (r *run) newPair(ctx context.Context, e *engine, database string) (*pair, func(), error) {
	db, err := e.create(ctx, database)
	if err != nil {
		return nil, nil, err
	}
	_, err = newOurs(e, db) // makes the tables
	db.Close()
	p := new(pair)
	if err == nil {
		p.sender, err = r.newNode(e, database, "sender", feed.Config{})
	}
	if err == nil {
		p.reader, err = r.newNode(e, database, "reader", feed.Config{})
	}
	return p, func() {
		for _, n := range []*node{p.sender, p.reader} {
			if n != nil {
				n.close()
			}
		}
		_ = e.drop(context.WithoutCancel(ctx), database)
	}, err
}

// reply sends a message in a transaction of the site's own, and may kick the relay.
func (n *node) reply(ctx context.Context, number int, to presence.UserID, kick bool) error {
	err := inTx(ctx, n.db, func(tx *sql.Tx) error { return n.feeds.SendTx(ctx, tx, message(number, to)) })
	if err == nil && kick {
		n.keeper.Kick()
	}
	return err
}

// jobs relays as a site's jobs do, once a second.
func (n *node) jobs(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Duration(900+rand.IntN(200)) * time.Millisecond):
			_, _ = n.keeper.Relay(ctx)
		}
	}
}

// live measures how long after its commit a message has come to a page of another node.
func live(ctx context.Context, r *run, e *engine) error {
	for _, kick := range []bool{true, false} {
		n, rate := int(float64(r.Rate)*r.For.Seconds()), r.Rate
		if !kick {
			n, rate = min(n, 50), 10
		}
		took, err := r.lived(ctx, e, n, rate, kick)
		if err != nil {
			return err
		}
		if kick {
			r.within(fmt.Sprintf("commit and Kick → read at another node by %s, %d/s: p50", r.bus.name, rate), e, took.quantile(0.5), 20*time.Millisecond)
			r.within("the same: p99", e, took.quantile(0.99), 100*time.Millisecond)
			t := r.table("In the transaction of the application, and after its commit, " + e.name)
			t.set(rollcallQueue, fmt.Sprintf("commit → worked at %d/s: p50", r.Rate), short(took.quantile(0.5)))
			t.set(rollcallQueue, "p99", short(took.quantile(0.99)))
		} else {
			r.within("the same without Kick: longest", e, took.quantile(1), 1200*time.Millisecond)
		}
	}
	return nil
}

func (r *run) lived(ctx context.Context, e *engine, n, rate int, kick bool) (durations, error) {
	p, done, err := r.newPair(ctx, e, fmt.Sprint("live", rate))
	defer func() {
		if done != nil {
			done()
		}
	}()
	if err != nil {
		return nil, err
	}
	all := newArrivals(n)
	for i := range watchers {
		if err := p.reader.watch(ctx, userID(i), all.worked); err != nil {
			return nil, err
		}
	}
	working, stop := context.WithCancel(ctx)
	var jobs sync.WaitGroup
	defer jobs.Wait()
	defer stop()
	jobs.Go(func() { p.sender.jobs(working) })
	jobs.Go(func() { p.reader.jobs(working) })
	if err := all.send(ctx, rate, func(i int) error { return p.sender.reply(ctx, i, userID(i%watchers), kick) }); err != nil {
		return nil, err
	}
	err = all.wait(ctx, time.Minute)
	return all.latencies(), err
}
