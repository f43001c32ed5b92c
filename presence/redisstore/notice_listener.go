package redisstore

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rollcall-go/rollcall/internal/wait"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// leastMissed is what a node says at least that it missed.
const leastMissed = time.Second

// A bus carries notices between nodes: on a channel, and lasting ones also in a log.
type bus struct {
	*fleet
	watcher   *watcher
	listeners sync.Map      // of *listener, mostly one
	cut       atomic.Uint64 // notices dropped before their time
}

// Listen implements [backend.Store]. At first it costs three round trips, and then one for each lasting notice. It returns
// once it has begun to read the log. The notices of the last minutes may be many; they are read after that, a few hundred in
// a round trip.
func (s *bus) Listen(ctx context.Context, fn func(backend.Notice)) (func(), error) {
	l := &listener{store: s, fn: fn, kick: wait.NewWakeup(), heard: "0"}
	l.sent.Store(new(string))
	stop, err := s.watcher.subscribe(ctx, "listen", &tap{store: s.watcher, base: s.live(), fn: l.live})
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	more, _, err := l.pageLocked(ctx, nil)
	l.mu.Unlock()
	if err != nil {
		l.stop()
		stop()
		return nil, err
	}
	s.listeners.Store(l, nil)
	life, end := context.WithCancel(context.Background())
	var reading sync.WaitGroup
	if more {
		l.kick.Wake()
	}
	reading.Go(func() { l.run(life) })
	return func() {
		s.listeners.Delete(l)
		stop()
		end()
		l.stop()
		reading.Wait()
	}, nil
}

// Hear implements [backend.Store].
func (s *bus) Hear(ctx context.Context) error {
	var errs []error
	for l := range s.listeners.Range {
		errs = append(errs, l.(*listener).hear(ctx))
	}
	return errors.Join(errs...)
}

// Poll implements [backend.Store]. It waits for no listener that reads the log already, since the lease of a process must not lapse
// for that.
func (s *bus) Poll(ctx context.Context, p backend.Poll) (polled backend.Polled, err error) {
	asked := false
	for l := range s.listeners.Range {
		l := l.(*listener)
		if asked || !l.mu.TryLock() {
			l.kick.Wake()
			continue
		}
		asked = true
		more := false
		more, polled, err = l.pageLocked(ctx, &p)
		l.mu.Unlock()
		if more {
			l.kick.Wake()
		}
	}
	if !asked {
		var h hearing
		h, _, err = s.ask(ctx, &listener{heard: "0"}, &p)
		polled = h.polled
	}
	s.watcher.tend()
	return polled, err
}

// A listener delivers each lasting notice once, in order, including those that were published while the
// server was out of reach. It delivers other notices when their messages arrive.
type listener struct {
	store *bus
	kick  wait.Wakeup

	telling sync.Mutex // held during calls of fn
	fn      func(backend.Notice)
	stopped bool

	mu    sync.Mutex // held while the log is read
	heard string     // the id of the latest notice in the log that was delivered
	read  int64      // when the log was last read, by the server's clock, in ms
	epoch string     // the log's name at that time; empty: it was not read yet

	// sent is the id of the latest notice in the log that this store published, or empty. Until the notice is
	// heard, only its publisher can find out that a failover has lost it.
	sent atomic.Pointer[string]
}

// run reads the log when a message says that it has more. What a message was lost of comes with the next poll.
func (l *listener) run(life context.Context) {
	for {
		select {
		case <-life.Done():
			return
		case <-l.kick:
			_ = l.hear(life)
		}
	}
}

// live handles a message of the channel.
func (l *listener) live(message string) {
	version, text := splitVersion(message)
	if version == messageVersion && text == "" {
		l.kick.Wake()
		return
	}
	n, err := decodeNotice(text)
	switch {
	case version != messageVersion || err != nil:
		l.store.invalid.Add(1)
	case n.Lasting:
		l.kick.Wake()
	default:
		l.tell(n)
	}
}

func (l *listener) tell(n backend.Notice) {
	l.telling.Lock()
	defer l.telling.Unlock()
	if !l.stopped {
		l.fn(n)
	}
}

// stop ends the deliveries. After it has returned, no call of the function is under way.
func (l *listener) stop() {
	l.telling.Lock()
	defer l.telling.Unlock()
	l.stopped = true
}

// hear delivers the notices of the log that were not delivered yet.
func (l *listener) hear(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for more := true; more; {
		var err error
		if more, _, err = l.pageLocked(ctx, nil); err != nil {
			return err
		}
	}
	l.store.watcher.tend()
	return nil
}

// pageLocked delivers the next notices of the log, and reports whether there may be more. With p it polls.
func (l *listener) pageLocked(ctx context.Context, p *backend.Poll) (more bool, polled backend.Polled, err error) {
	h, sent, err := l.store.ask(ctx, l, p)
	if err != nil {
		return false, polled, err
	}
	if h.missed > 0 {
		l.sent.CompareAndSwap(sent, new(string))
		l.tell(backend.Notice{Missed: h.missed})
	}
	if l.epoch != h.epoch || h.missed > 0 && len(h.notices) == 0 { // the log no longer has the latest notice that was heard
		l.heard = "0"
	}
	l.epoch, l.read = h.epoch, h.now
	return len(h.notices) >= maxNoticePage, h.polled, l.deliver(ctx, h.notices)
}

// ask reads the log from where a listener is, and polls with p. sent is what the listener's store had published before.
func (s *bus) ask(ctx context.Context, l *listener, p *backend.Poll) (h hearing, sent *string, err error) {
	if err := s.ready(ctx, s.writes); err != nil {
		return h, nil, err
	}
	most, latest := 0, ""
	if sent = l.sent.Load(); sent != nil { // the listener listens
		most, latest = maxNoticePage, *sent
	}
	keys := append([]string{s.metaKey()}, s.noticeLog()...)
	args := []any{s.now(), l.heard, most, l.epoch, l.read, noticesKeep.Milliseconds(), strings.ToLower(rand.Text()), latest}
	if p != nil {
		era, number := cutMark(p.Mark)
		keys = append(append(keys, s.indexKeys("nodes", "terms", "changed", "unnoted")...), s.erasureKeys()[1])
		args = append(args, p.Process, max(p.Term.Milliseconds(), 0), max(p.Gen, 0), max(p.Before.Milliseconds(), 0), era, number, maxChanges)
	}
	e := eval{pollScript, keys, append(args, s.metaArgs(nil)...)}
	h, err = call(ctx, s.writes, "poll", func(ctx context.Context) (h hearing, err error) {
		began := time.Now()
		answers, err := s.run(ctx, e)
		if err != nil {
			return h, err
		}
		parts, err := answers[0].Slice()
		made := false
		if err == nil {
			_, made, err = s.readMeta(parts)
		}
		if err == nil {
			h, err = readHearing(parts)
			h.made = made
		}
		if err == nil && s.clock == nil {
			s.servers.hears(h.now, began)
		}
		if err == nil && p != nil {
			h.polled, err = readPolled(parts, *p, s.single())
		}
		return h, err
	})
	if h.made {
		_ = s.isNew(ctx) // if this fails, a sweep finds out
	}
	return h, sent, err
}

func (l *listener) deliver(ctx context.Context, notices []heardNotice) error {
	for _, entry := range notices {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		l.heard = entry.id
		n, err := decodeNotice(entry.text)
		if entry.version != messageVersion || err != nil {
			l.store.invalid.Add(1)
			continue
		}
		n.Ago += entry.late
		l.tell(n)
	}
	return nil
}
