package redisstore

import (
	"context"
	"crypto/rand"
	"errors"
	mathrand "math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rollcall-go/rollcall/internal/wait"
	"github.com/rollcall-go/rollcall/presence/backend"
)

const (
	hearEvery = time.Second
	metaEvery = 30 * time.Second // and Secret reads the same hash
)

// A bus carries notices between nodes: on a channel, and lasting ones also in a log.
type bus struct {
	*fleet
	watcher   *watcher
	listeners sync.Map      // of *listener, mostly one
	cut       atomic.Uint64 // notices dropped before their time
}

// Listen implements [backend.Store]. At first it costs three round trips, then one a second, or one in ten
// seconds while nobody uses the node, and one for each lasting notice. It returns once it has begun to read
// the log. The notices of the last minutes may be many;
// they are read after that, a few hundred in a round trip.
func (s *bus) Listen(ctx context.Context, fn func(backend.Notice)) (func(), error) {
	l := &listener{store: s, fn: fn, kick: wait.NewWakeup(), heard: "0"}
	l.sent.Store(new(string))
	stop, err := s.watcher.subscribe(ctx, "listen", &tap{store: s.watcher, base: s.live(), fn: l.live})
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	_, err = l.pageLocked(ctx)
	l.mu.Unlock()
	if err != nil {
		l.stop()
		stop()
		return nil, err
	}
	s.listeners.Store(l, nil)
	life, end := context.WithCancel(context.Background())
	var reading sync.WaitGroup
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
	asked time.Time  // when the keyspace's hash was last read

	// sent is the id of the latest notice in the log that this store published, or empty. Until the notice is
	// heard, only its publisher can find out that a failover has lost it.
	sent atomic.Pointer[string]
}

func (l *listener) run(life context.Context) {
	pace := l.store.pace
	for {
		pause := pace.or(hearEvery, restHear)
		if l.hear(life) != nil {
			pause = hearEvery
		}
		select {
		case <-life.Done():
			return
		case <-l.kick:
		case <-pace.woken:
		case <-time.After(pause*3/4 + mathrand.N(pause/2)):
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
		if more, err = l.pageLocked(ctx); err != nil {
			return err
		}
	}
	l.store.watcher.tend()
	return nil
}

// pageLocked delivers the next notices of the log, and reports whether there may be more. The caller holds
// mu.
func (l *listener) pageLocked(ctx context.Context) (more bool, err error) {
	sent := l.sent.Load()
	h, err := l.ask(ctx, *sent)
	if err != nil {
		return false, err
	}
	if h.missed > 0 {
		l.sent.CompareAndSwap(sent, new(string))
		l.tell(backend.Notice{Missed: h.missed})
	}
	wiped := l.epoch != h.epoch
	if wiped || h.missed > 0 && len(h.notices) == 0 { // the log no longer has the latest notice that was heard
		l.heard = "0"
	}
	again := wiped && l.epoch != "" && !l.asked.IsZero()
	if again { // the keyspace may be new
		l.asked = time.Time{}
	}
	l.epoch, l.read = h.epoch, h.now
	return again || len(h.notices) >= maxNoticePage, l.deliver(ctx, h.notices)
}

// ask reads the log, and the keyspace's hash after metaEvery or if that may be new, in one round trip.
func (l *listener) ask(ctx context.Context, sent string) (hearing, error) {
	s := l.store
	if err := s.ready(ctx, s.writes); err != nil {
		return hearing{}, err
	}
	evals := []eval{{noticeHearScript, s.noticeLog(), []any{
		s.now(), l.heard, maxNoticePage, l.epoch, l.read, noticesKeep.Milliseconds(), rand.Text(), sent,
	}}}
	if time.Since(l.asked) > metaEvery {
		evals = append(evals, s.metaEval(nil))
	}
	h, err := call(ctx, s.writes, "listen", func(ctx context.Context) (h hearing, err error) {
		var answers []*redis.Cmd
		sent := time.Now()
		if answers, err = s.run(ctx, evals...); err != nil {
			return h, err
		}
		made := false
		if len(answers) > 1 && answers[1].Err() == nil {
			if _, made, err = s.readMeta(answers[1]); err != nil {
				return h, err
			}
		}
		if err := answers[0].Err(); err != nil {
			return h, err
		}
		h, err = readHearing(answers[0])
		if err == nil && s.clock == nil {
			s.servers.hears(h.now, sent)
		}
		h.made = made
		return h, err
	})
	if h.made {
		_ = s.isNew(ctx) // if this fails, a sweep finds out
	}
	if err == nil && len(evals) > 1 {
		l.asked = time.Now()
	}
	return h, err
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
