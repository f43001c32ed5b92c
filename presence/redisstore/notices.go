package redisstore

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// Notices stand in a log, and what is published only says that there is one:
// messages reach who listens in that moment, and nobody who signed out may stay
// because a node's connection just broke. A node reads the log when it is told,
// and now and then.
const (
	noticesKept = 1000
	noticesKeep = 10 * time.Minute // a node that was away for longer may have missed some
	noticesPage = 100
	hearEvery   = time.Second
	// noticeLate is when a notice is no longer of this moment: what came since is
	// not meant.
	noticeLate = time.Second
)

// notices is the name of the channel, and with the log's in one slot.
func (s *Store) notices() string { return s.cfg.Prefix + ":{notices}" }

func (s *Store) noticeLog() []string { return []string{s.notices() + ":log"} }

// Notify implements [presence.Store].
func (s *Store) Notify(ctx context.Context, n presence.Notice) error {
	text, err := json.Marshal(n)
	if err != nil {
		return wrap("notify", err)
	}
	if n.StatusOf != "" {
		if err := s.keepStatus(ctx, n); err != nil {
			return err
		}
	}
	s.sharded(ctx)
	_, err = s.runOne(ctx, s.writes, "notify", eval{tellScript, s.noticeLog(),
		[]any{s.publish(), s.notices(), text, noticesKept, noticesKeep.Milliseconds()}})
	return err
}

// Listen implements [presence.Store]. It costs two round trips at first, or one more
// for every hundred notices of the last minutes, then one a second, and one a
// notice.
func (s *Store) Listen(ctx context.Context, fn func(presence.Notice)) (func(), error) {
	l := &listener{store: s, fn: fn, kick: make(chan struct{}, 1), heard: "0"}
	stop, err := s.subscribe(ctx, "listen", s.notices(), func(string) { wake(l.kick) })
	if err != nil {
		return nil, err
	}
	for more := true; more; {
		if more, err = l.read(ctx); err != nil {
			stop()
			return nil, err
		}
	}
	life, end := context.WithCancel(context.Background())
	var reading sync.WaitGroup
	reading.Go(func() { l.run(life) })
	return func() {
		stop()
		end()
		reading.Wait()
	}, nil
}

// A listener hears each notice once, in order, also those that came while the
// server was out of reach.
type listener struct {
	store *Store
	fn    func(presence.Notice)
	kick  chan struct{}
	heard string // the id of the latest one
}

func (l *listener) run(life context.Context) {
	for {
		if more, err := l.read(life); err == nil && more {
			continue
		}
		select {
		case <-life.Done():
			return
		case <-l.kick:
		case <-time.After(hearEvery*3/4 + rand.N(hearEvery/2)):
		}
	}
}

// read delivers what was not heard, and reports whether there may be more.
func (l *listener) read(ctx context.Context) (more bool, err error) {
	answer, err := l.store.runOne(ctx, l.store.writes, "listen", eval{hearScript, l.store.noticeLog(), []any{l.heard, noticesPage}})
	if err != nil {
		return false, err
	}
	entries, err := answer.StringSlice()
	if err != nil {
		return false, wrap("listen", err)
	}
	more = len(entries) >= 3*noticesPage
	for ; len(entries) >= 3; entries = entries[3:] {
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		l.heard = entries[0]
		var n presence.Notice
		if json.Unmarshal([]byte(entries[2]), &n) != nil {
			continue
		}
		ms, _ := strconv.ParseInt(entries[1], 10, 64)
		if late := time.Duration(ms) * time.Millisecond; n.Ago > 0 || late > noticeLate {
			n.Ago += late
		}
		l.fn(n)
	}
	return more, nil
}
