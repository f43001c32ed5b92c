package presencetest

import (
	"fmt"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// A move is one step of a random game. It is drawn without knowledge of the game.
type move struct {
	kind  moveKind
	topic presence.Topic
	ops   []backend.Op
	twice bool // the batch comes again, as after a lost answer (rule 3)
	by    time.Duration
}

type moveKind int

const (
	applies moveKind = iota // a batch
	passes                  // time passes, and Age is called as by a cron
	sweeps
	ages
	trims
)

// The durations of a game. Leases last an odd number of milliseconds, time passes in
// multiples of twelve, and the period is twice an odd number less one. So no lease, memory or period
// ends at the very moment of a call, for which the rules say nothing.
const (
	gamePeriod = 30_001 * time.Millisecond
	gameKeep   = 60_001 * time.Millisecond
	gameView   = 20_001 * time.Millisecond // of all page views
	shortest   = 5001 * time.Millisecond   // of the leases, and of all heartbeats: for more than a lease's length is left open
	longest    = 20_004 * time.Millisecond // that passes at once

	// gameWindow is how long a page view counts at most (rule 8): two periods, and twice
	// what passes between two calls of Age.
	gameWindow = 2*gamePeriod + 2*longest
)

// What a store is to keep of the topics. No name is evicted: which one is depends on when a
// store sweeps.
var gameKeeps = [...]presence.Keep{
	{Names: 10, ForgetSignedOut: true, Active: true, Peak: true},
	{Names: 10, Peak: true, PeakGuests: true},
}

var (
	gameTopics  = [...]presence.Topic{"site", "thread:1"}
	gameUsers   = [...]presence.UserID{"u", "v", "__proto__"}
	gameHolders = [...]presence.Holder{"a.1", "a.2", "b.1"}
	gameLeases  = [...]time.Duration{10_001 * time.Millisecond, shortest, 15_001 * time.Millisecond} // of the holders

	gameStatuses = [...]presence.Status{"", presence.Away, presence.Invisible, presence.Online, "online-", "invisible-", ""}
)

// A dealer draws moves. Its words have later and later generations and revisions, but for some that come late. Of one holder no page joined
// before an earlier one.
type dealer struct {
	pick   func(n int) int // returns a number from 0 to n-1; 0 is the simplest
	now    time.Duration   // since the game began
	said   word            // the latest of all
	joined map[presence.Holder]time.Duration
}

func newDealer(pick func(n int) int) *dealer {
	return &dealer{pick: pick, joined: make(map[presence.Holder]time.Duration)}
}

func (d *dealer) move() move {
	pick := d.pick
	m := move{topic: gameTopics[pick(len(gameTopics))]}
	switch n := pick(20); {
	case n < 12:
		for range 1 + pick(4) {
			m.ops = append(m.ops, d.op())
		}
		for i, op := range m.ops {
			if op.Kind == backend.OpUpdate && len(m.ops) > 1 {
				m.ops[i].Ago = 0 // of several choices in a step the rules do not say whose moment counts
			}
		}
		m.twice = pick(4) == 3
	case n < 16:
		m.kind = passes
		m.by = [...]time.Duration{996 * time.Millisecond, 12 * time.Millisecond, 3 * time.Second, 8004 * time.Millisecond, longest}[pick(5)]
		d.now += m.by
	case n < 18:
		m.kind = sweeps
	case n < 19:
		m.kind = ages
	default:
		m.kind = trims
	}
	return m
}

func (d *dealer) op() backend.Op {
	pick := d.pick
	id := gameUsers[pick(len(gameUsers))]
	n := pick(len(gameHolders))
	holder, lease := gameHolders[n], gameLeases[n]
	moment := func() time.Duration {
		return [...]time.Duration{0, 2002 * time.Millisecond, 5003 * time.Millisecond, 25_004 * time.Millisecond}[pick(4)]
	}
	ago := func(op backend.Op) backend.Op {
		op.Ago = moment()
		return op
	}
	word := func(op backend.Op) backend.Op {
		if d.said.rev++; pick(8) == 7 {
			d.said = word{d.said.gen + 1, 0}
		}
		joined := max(d.now-moment(), d.joined[holder])
		d.joined[holder] = joined
		op.Gen = max(0, d.said.gen-int32(pick(8)/7))
		op.Rev, op.Joined = max(0, d.said.rev-int64([...]int{0, 0, 2, 9}[pick(4)])), d.now-joined
		return op
	}
	switch pick(16) {
	case 0, 1:
		op := ago(word(lasting(joinAs(randomUser(id, pick), holder), lease)))
		op.Idle, op.Pages = pick(3) == 2, pick(3)
		return op
	case 2, 3:
		op := ago(seenAs(randomUser(id, pick)))
		return lasting(op, max(gameView-op.Ago, 1001*time.Millisecond))
	case 4:
		return lasting(beat(id, holder), shortest)
	case 5, 6:
		op := ago(word(release(id, holder)))
		op.For = max(0, shortest-op.Ago) * time.Duration(1-pick(2)) // a page that closed later holds longer
		op.Joined, op.Idle = 0, pick(3) == 2
		return op
	case 7:
		return ago(signOut(id))
	case 8:
		op := ago(signOut(id))
		op.User = randomUser(id, pick)
		return op
	case 9:
		return ago(update(randomUser(id, pick)))
	case 10:
		return ago(signOff(id))
	case 11:
		return bot(fmt.Sprint(pick(4)), [...]string{"A", "B", ""}[pick(3)])
	case 12:
		if pick(4) == 3 {
			return resetPeak
		}
		return peak(randomPeak(pick))
	case 13, 14:
		op := ago(word(lasting(keep(id, holder), gameLeases[pick(len(gameLeases))])))
		op.Idle, op.Pages = pick(3) > 0, pick(3)
		return op
	}
	if id := fmt.Sprint(pick(10)); pick(3) == 2 {
		return forget(id)
	} else {
		return guest(id)
	}
}

// randomPeak draws a record that a node remembers, of long before the game.
func randomPeak(pick func(n int) int) backend.Peak {
	long := time.Unix(900_000_000, 0)
	p := backend.Peak{Total: pick(5), At: long.Add(time.Duration(pick(3)) * time.Minute)}
	if since := pick(4); since > 1 {
		p.Since = long.Add(-time.Duration(since) * time.Hour)
	}
	return p
}

func randomUser(id presence.UserID, pick func(n int) int) presence.User {
	u := presence.User{
		ID:     id,
		Name:   [...]string{"", "A", "B"}[pick(3)],
		Status: gameStatuses[pick(len(gameStatuses))],
	}
	if u.Status != "" {
		u.Rev = [...]int64{0, 0, 1, 2, 1_795_947_320_000_001, 1_795_947_320_000_002}[pick(6)]
	}
	return u
}

func (m move) String() string {
	switch m.kind {
	case applies:
		text := fmt.Sprintf("%s: %s", m.topic, describe([][]backend.Op{m.ops}))
		if m.twice {
			text += " and again"
		}
		return text
	case passes:
		return fmt.Sprintf("%v pass", m.by)
	case sweeps:
		return "sweep"
	case ages:
		return "age"
	}
	return "trim"
}
