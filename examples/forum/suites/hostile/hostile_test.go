package hostile_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rollcall-go/rollcall/examples/forum/internal/forumtest"
	"github.com/rollcall-go/rollcall/internal/need"
	"github.com/rollcall-go/rollcall/internal/redistest"
)

// TestHostileClients attacks a forum on Redis in every way that a client and a
// neighbour on the same Redis have, while 200 ordinary visitors read and one user
// after the other joins and leaves. The ordinary visitors must notice nothing.
//
// The attacks take 12 seconds; HOSTILE_TIME (such as 2m) sets another length. From
// a minute on, delays and the work of Redis are judged too, which a machine that has
// much else to do would spoil. HOSTILE_RATE is how many actions a second the
// attackers make together (1000, or 400 under the race detector, where each costs
// more), and HOSTILE_ONLY picks the attacks whose names begin with it.
func TestHostileClients(t *testing.T) {
	t.Parallel()
	length, err := time.ParseDuration(os.Getenv("HOSTILE_TIME"))
	if err != nil {
		length = 12 * time.Second
	}
	h := newHostile(t)
	quiet := h.measure("without an attack", min(max(length/4, 3*time.Second), 20*time.Second), nil)
	before := h.memory()
	which := attacks()
	if only := os.Getenv("HOSTILE_ONLY"); only != "" {
		which = nil
		for _, a := range attacks() {
			if strings.HasPrefix(a.name, only) {
				which = append(which, a)
			}
		}
	}
	each := length * 6 / 10 / time.Duration(len(which))
	inTurn := h.measure("one attack after the other", 0, func() {
		for _, a := range which {
			h.launch(each, a)
		}
	})
	together := h.measure("all attacks together", 0, func() { h.launch(length*4/10, which...) })

	h.calm()
	h.settles(before, length >= time.Minute)
	for _, m := range []measured{inTurn, together} {
		h.judge(length >= time.Minute, quiet, m)
	}
	h.poison(length >= time.Minute)
	h.end()
}

// The forum's times. A heartbeat is a third of the TTL.
const (
	hostileTTL   = 6 * time.Second
	hostileGrace = time.Second
	hostileSweep = 200 * time.Millisecond
)

const (
	calmReaders = 200
	mostLogged  = 200 // lines of the forum's log for the whole run
	mostMemory  = 20 << 20
)

// A hostile is a forum under attack, with its readers, writer and visitor.
type hostile struct {
	t       *testing.T
	redis   *redistest.Server
	db      *redis.Client
	node    *forumtest.Node
	pace    time.Duration // between two actions of all attackers
	library *forumtest.Library
	readers []*calmReader
	writer  *calmWriter
	visitor forumtest.BareClient
	closing chan struct{}
	running sync.WaitGroup
}

// newHostile starts a forum, and its ordinary readers: guests and users, four at an
// address.
func newHostile(t *testing.T) *hostile {
	rate, err := strconv.Atoi(os.Getenv("HOSTILE_RATE"))
	if err != nil {
		rate = 1000
		if forumtest.Raced {
			rate = 400
		}
	}
	h := &hostile{t: t, redis: redistest.Start(t), library: forumtest.NewLibrary(), closing: make(chan struct{}), pace: time.Second / time.Duration(rate)}
	h.db = h.redis.Client()
	h.node = h.startNode("n")
	t.Cleanup(func() {
		select {
		case <-h.closing:
		default:
			close(h.closing)
		}
		h.node.Kill()
		h.running.Wait()
	})
	address := func(i int) string { return fmt.Sprint("203.0.113.", 1+i/4) }
	for i := range calmReaders {
		name := ""
		if i%2 == 0 {
			name = fmt.Sprint("reader-", i)
		}
		r, err := openReader(&forumtest.BareClient{Addr: h.node.Addr, From: address(i), Wait: forumtest.Patience}, name, h.library, h.closing)
		if err != nil {
			t.Fatal(err)
		}
		h.running.Go(r.run)
		h.readers = append(h.readers, r)
	}
	h.writer = &calmWriter{client: forumtest.BareClient{Addr: h.node.Addr, From: address(calmReaders), Wait: forumtest.Patience}, pause: 100 * time.Millisecond}
	h.visitor = forumtest.BareClient{Addr: h.node.Addr, From: address(calmReaders + 4), Wait: forumtest.Patience}
	for range writerStays {
		h.writer.step()
	}
	if took, wrong := h.converged(h.node, forumtest.Patience); wrong != "" {
		t.Fatalf("at the start, after %v: %s", took, wrong)
	}
	return h
}

// startNode starts a forum on the Redis.
func (h *hostile) startNode(name string) *forumtest.Node {
	n := &forumtest.Node{T: h.t, Addr: need.FreeAddr(h.t), Args: []string{"-redis", h.redis.URL(), "-node", name,
		"-ttl", hostileTTL.String(), "-grace", hostileGrace.String(), "-sweep", hostileSweep.String()}}
	n.Run()
	return n
}

// measured is what a phase of the run showed.
type measured struct {
	phase     string
	half, p99 time.Duration
	missing   int     // joins and leaves that readers did not see
	joins     int     // that the writer made
	redis     float64 // seconds of CPU a second
	forum     float64
}

// measure lets the writer write and the visitor visit while do runs, or for a time.
func (h *hostile) measure(phase string, length time.Duration, do func()) measured {
	stop := make(chan struct{})
	var ordinary sync.WaitGroup
	ordinary.Go(func() { h.writer.run(stop) })
	ordinary.Go(func() { h.visit(stop) })
	began, from, redis, forum := time.Now(), h.writer.number(), h.redisCPU(), h.forumCPU()
	if do == nil {
		time.Sleep(length)
	} else {
		do()
	}
	seconds := time.Since(began).Seconds()
	m := measured{phase: phase, redis: (h.redisCPU() - redis) / seconds, forum: (h.forumCPU() - forum) / seconds}
	close(stop)
	ordinary.Wait()
	if took, wrong := h.converged(h.node, forumtest.Patience); wrong != "" {
		h.t.Errorf("%s: %v later %s", phase, took, wrong)
	}
	m.joins = h.writer.number() - from
	m.half, m.p99, m.missing = h.writer.latency(h.readers, from, from+m.joins)
	h.t.Logf("%s: %d joins reach %d readers in %v, 99 %% in %v; CPU a second: Redis %.3f s, forum %.3f s; memory %d MB",
		phase, m.joins, len(h.readers), m.half.Round(100*time.Microsecond), m.p99.Round(100*time.Microsecond), m.redis, m.forum, h.memory()>>20)
	h.judgeCalm(phase, m)
	return m
}

// visit looks at pages and rosters as an ordinary guest.
func (h *hostile) visit(stop chan struct{}) {
	for i := 0; ; i++ {
		select {
		case <-stop:
			return
		case <-time.After(500 * time.Millisecond):
		}
		path := []string{"/", "/presence/roster?topic=site", "/presence/users?topic=site&id=reader-0&id=absent", "/online"}[i%4]
		if status, _, _, err := h.visitor.Do(http.MethodGet, path, "", ""); err != nil || status != http.StatusOK {
			h.t.Errorf("an ordinary visitor asked for %s: got %d and error %v, want 200", path, status, err)
		}
	}
}

// launch runs attacks at once, for a time.
func (h *hostile) launch(length time.Duration, which ...attack) {
	ctx, cancel := context.WithTimeout(h.t.Context(), length)
	defer cancel()
	pace := &pacer{every: h.pace}
	var attacking sync.WaitGroup
	for _, a := range which {
		attacking.Go(func() {
			answers := h.attack(ctx, a, pace)
			h.t.Logf("  %s: %v", a.name, answers)
			if n := answers.broken(); n > 0 {
				h.t.Errorf("%s: got %d times the answer 500, want none", a.name, n)
			}
		})
	}
	attacking.Wait()
}

// judgeCalm holds a phase against what ordinary visitors are promised always.
func (h *hostile) judgeCalm(phase string, m measured) {
	if m.missing > 0 {
		h.t.Errorf("%s: %d joins or leaves never reached a reader, want none", phase, m.missing)
	}
	for _, fault := range calmFaults(h.readers) {
		h.t.Errorf("%s: %s", phase, fault)
	}
	for _, r := range h.readers {
		r.mu.Lock()
		if r.states != 1 {
			h.t.Errorf("%s: reader %q got %d states, want one, at the start", phase, r.name, r.states)
			r.states = 1
		}
		r.mu.Unlock()
	}
	for _, refused := range h.writer.refusals() {
		h.t.Errorf("%s: %s", phase, refused)
	}
}

// judge holds a phase under attack against the phase before.
func (h *hostile) judge(strict bool, quiet, m measured) {
	if !strict {
		return
	}
	// The attackers share the machine's processors with the forum, and Redis counts
	// its time in steps.
	const noise, idle = 50 * time.Millisecond, 0.05
	if most := 2*quiet.p99 + noise; m.p99 > most {
		h.t.Errorf("%s: 99 %% of joins reached the readers in %v, want at most %v", m.phase, m.p99, most)
	}
	if most := 1.5*quiet.redis + idle; m.redis > most {
		h.t.Errorf("%s: Redis worked for %.3f s a second, want at most %.3f s", m.phase, m.redis, most)
	}
}

// end stops the forum and reads its log.
func (h *hostile) end() {
	close(h.closing)
	h.node.Stop()
	h.running.Wait()
	log := h.node.Log.String()
	lines := strings.Count(log, "\n")
	h.t.Logf("the forum logged %d lines", lines)
	if h.t.Failed() {
		h.t.Log(log[:min(len(log), 8<<10)])
	}
	if lines > mostLogged {
		h.t.Errorf("the forum logged %d lines, want at most %d", lines, mostLogged)
	}
	if strings.Contains(log, "panic") || strings.Contains(log, "goroutine ") || h.t.Failed() {
		h.t.Errorf("the log: %.8000s", log)
	}
}
