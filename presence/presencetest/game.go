package presencetest

import (
	"fmt"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// A move is one step of a random game. It is drawn without knowledge of the game, and made
// legal when it is played.
type move struct {
	kind  moveKind
	topic presence.Topic
	ops   []backend.Op
	twice bool // the batch comes again, as after a lost answer (rule 12)
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
// multiples of four, and the period is twice an odd number less one. So no lease or period
// ends at the very moment of a call, for which the rules say nothing.
const (
	gamePeriod = 30_001 * time.Millisecond
	gameKeep   = 60_001 * time.Millisecond
	gameView   = 20_001 * time.Millisecond // of all page views: with others, a repeated batch has another effect
	longest    = 20 * time.Second          // that passes at once

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
	gameLeases  = [...]time.Duration{10_001 * time.Millisecond, 5001 * time.Millisecond, 15_001 * time.Millisecond} // of the holders

	gameStatuses = [...]presence.Status{"", presence.Away, presence.Invisible, presence.Online, "online-", "invisible-", ""}
)

// randomMove draws a move. pick returns a number from 0 to n-1; 0 is the simplest.
func randomMove(pick func(n int) int) move {
	m := move{topic: gameTopics[pick(len(gameTopics))]}
	switch n := pick(20); {
	case n < 12:
		for range 1 + pick(4) {
			m.ops = append(m.ops, randomOp(pick))
		}
		m.twice = pick(4) == 3
	case n < 16:
		m.kind = passes
		m.by = [...]time.Duration{time.Second, 4 * time.Millisecond, 3 * time.Second, 8 * time.Second, longest}[pick(5)]
	case n < 18:
		m.kind = sweeps
	case n < 19:
		m.kind = ages
	default:
		m.kind = trims
	}
	return m
}

func randomOp(pick func(n int) int) backend.Op {
	id := gameUsers[pick(len(gameUsers))]
	n := pick(len(gameHolders))
	holder, lease := gameHolders[n], gameLeases[n]
	renewed := min(lease, gameLeases[pick(len(gameLeases))]) // or less
	ago := func(op backend.Op) backend.Op {
		return past(op, [...]time.Duration{0, 2002, 5003}[pick(3)]*time.Millisecond)
	}
	switch pick(15) {
	case 0, 1:
		op := ago(lasting(joinAs(randomUser(id, pick), holder), lease))
		op.Idle, op.Pages = pick(3) == 2, pick(3)
		return op
	case 2:
		op := ago(seenAs(randomUser(id, pick)))
		return lasting(op, gameView-op.Ago)
	case 3:
		return lasting(beat(id, holder), renewed)
	case 4, 5:
		return lasting(release(id, holder), [...]time.Duration{5001, 0, 2001}[pick(3)]*time.Millisecond)
	case 6:
		return drop(id, [...]presence.Holder{holder, presence.HolderWeb}[pick(2)])
	case 7:
		return ago(signOut(id))
	case 8:
		return ago(update(randomUser(id, pick)))
	case 9:
		return ago(signOff(id))
	case 10:
		return bot(fmt.Sprint(pick(4)), [...]string{"A", "B", ""}[pick(3)])
	case 11:
		if pick(4) == 3 {
			return resetPeak
		}
		return peak(randomPeak(pick))
	case 12, 13:
		op := ago(lasting(keep(id, holder), renewed))
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
		u.Rev = [...]int64{0, 0, 1, 2, 1_795_947_320_000_001, 1_795_947_320_000_002, presence.RevOfSite}[pick(7)]
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
