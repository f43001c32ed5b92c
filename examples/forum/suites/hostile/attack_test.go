package hostile_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rollcall-go/rollcall/examples/forum/internal/forumtest"
)

// An attack is one way to harm a site from outside. Its steps are repeated by some
// workers at once; each step is bounded in time and count.
type attack struct {
	name    string
	workers int
	step    func(a *attacker, n int) // the nth of all workers
}

// attacks are all from which a site must protect its ordinary visitors.
func attacks() []attack {
	return slices.Concat(forgedAttacks, floodAttacks, socketAttacks, longAttacks, slowAttacks)
}

// An attacker is one worker. All workers with the same number have the same
// address.
type attacker struct {
	forumtest.BareClient
	ctx     context.Context
	account string // a user's name
	guest   string // the cookie of a guest
	pace    *pacer
	readers []*calmReader
	tally   *tally

	own    string // token of a stream of its own; empty: none yet
	target int    // what it tried last
}

// wait returns once the next n actions may be made, and false once the attack is
// over.
func (a *attacker) wait(n int) bool {
	return a.pace.wait(a.ctx, n)
}

// try makes one request and counts its answer.
func (a *attacker) try(method, target, cookie, body string) (status int, text string) {
	if !a.wait(1) {
		return 0, ""
	}
	status, _, text, err := a.Do(method, target, cookie, body)
	a.tally.add(status, err)
	return status, text
}

// throw sends bytes over a socket of their own and counts the answers.
func (a *attacker) throw(request string, answers int) {
	statuses, err := a.Raw(request, answers)
	for _, status := range statuses {
		a.tally.add(status, nil)
	}
	if err != nil {
		a.tally.add(0, err)
	}
}

// cookie is that of a new guest, of the same guest, of a user or none at all, in
// turn.
func (a *attacker) cookie(n int) string {
	switch n % 4 {
	case 0:
		return forumtest.GuestCookie()
	case 1:
		return a.guest
	case 2:
		return forumtest.UserCookie(a.account)
	}
	return ""
}

// attack repeats the steps of an attack until ctx ends.
func (h *hostile) attack(ctx context.Context, which attack, pace *pacer) *tally {
	t := &tally{statuses: make(map[int]int)}
	var workers sync.WaitGroup
	var mu sync.Mutex
	steps := 0
	for i := range which.workers {
		a := &attacker{
			BareClient: forumtest.BareClient{Addr: h.node.Addr, From: fmt.Sprint("198.51.100.", 1+i%attackerAddresses), Wait: 5 * time.Second},
			ctx:        ctx, account: fmt.Sprint("mallory-", i%attackerAddresses), guest: forumtest.GuestCookie(),
			pace: pace, readers: h.readers, tally: t,
		}
		workers.Go(func() {
			defer a.Close()
			for ctx.Err() == nil {
				mu.Lock()
				n := steps
				steps++
				mu.Unlock()
				which.step(a, n)
			}
		})
	}
	workers.Wait()
	return t
}

// attackerAddresses is how many addresses, and accounts, the attackers have.
const attackerAddresses = 8

// A tally counts the answers to an attack.
type tally struct {
	mu       sync.Mutex
	statuses map[int]int
	cut      int // connections that ended, or timed out, without an answer
	dialing  int // connections that the forum did not take
	sends    int // messages over WebSockets, and requests that have no end
}

func (t *tally) add(status int, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var op *net.OpError
	switch {
	case errors.As(err, &op) && op.Op == "dial":
		t.dialing++
	case status == 0:
		t.cut++
	default:
		t.statuses[status]++
	}
}

func (t *tally) sent() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sends++
}

func (t *tally) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var parts []string
	for _, status := range slices.Sorted(maps.Keys(t.statuses)) {
		parts = append(parts, fmt.Sprintf("%d × %d", t.statuses[status], status))
	}
	for _, other := range []struct {
		n    int
		what string
	}{{t.sends, "sent"}, {t.cut, "cut"}, {t.dialing, "not taken"}} {
		if other.n > 0 {
			parts = append(parts, fmt.Sprint(other.n, " ", other.what))
		}
	}
	return strings.Join(parts, ", ")
}

// broken is how often the forum answered that it had failed.
func (t *tally) broken() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.statuses[500]
}

// A pacer bounds how many actions a second all attackers make together: they share
// the machine with the forum that they attack.
type pacer struct {
	every time.Duration
	mu    sync.Mutex
	next  time.Time
}

// wait returns once the next n actions may be made, and false once ctx has ended.
func (p *pacer) wait(ctx context.Context, n int) bool {
	p.mu.Lock()
	at := p.next
	if now := time.Now(); at.Before(now) {
		at = now
	}
	p.next = at.Add(time.Duration(n) * p.every)
	p.mu.Unlock()
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return ctx.Err() == nil
	}
}

// rest waits for a while, and returns false once the attack is over.
func (a *attacker) rest(d time.Duration) bool {
	select {
	case <-a.ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// reader is any of the ordinary readers.
func (a *attacker) reader() *calmReader { return a.readers[rand.IntN(len(a.readers))] }
