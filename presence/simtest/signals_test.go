package simtest_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// longestTyping is the longest that users say they are typing for.
const longestTyping = 6 * time.Second

// signalActs returns what users say in the thread.
func (g game) signalActs(rnd *rand.Rand, length time.Duration) (acts []act) {
	for range 4 + rnd.IntN(12) {
		a := act{at: upTo(rnd, length), do: "type", who: rnd.IntN(len(kinds)), node: rnd.IntN(g.nodes), d: time.Second + upTo(rnd, longestTyping-time.Second)}
		if rnd.IntN(4) == 0 {
			a.d = -time.Second // no longer
		}
		acts = append(acts, a)
	}
	return acts
}

// types sends a typing signal of the user in the thread to a node; it stays active for d, and 0 ends it.
func (u *person) types(node int, d time.Duration) {
	p := u.w.at(node)
	if p == nil || !u.in(thread) {
		return
	}
	u.w.mu.Lock()
	u.saying++
	u.silent = time.Time{}
	u.says(d)
	u.w.mu.Unlock()
	u.w.later(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		err := p.tracker.Whisper(ctx, u.visitor(), thread, presence.Signal{Type: "typing", For: d})
		u.w.mu.Lock()
		u.says(d)
		if u.saying--; u.saying == 0 && d < 0 && err == nil {
			u.silent = time.Now()
		}
		u.w.mu.Unlock()
		u.w.note("%s types for %v: %v", u.id, d, err)
	})
}

// says lengthens what the user said, from now on: a page may hear of it before the node has answered.
// The world's mutex is held.
func (u *person) says(d time.Duration) {
	if until := time.Now().Add(d); until.After(u.typing) {
		u.typing = until
	}
}

// A heard is one signal of an event.
type heard struct {
	Type string
	From string
	For  float64
}

// signal takes the signals of an event. A page forgets them by itself: when their time is over,
// and when their user leaves.
func (s *picture) signal(signals []heard) {
	for _, h := range signals {
		d := time.Duration(h.For * float64(time.Second))
		s.note("hears that %s is %s for %v", h.From, h.Type, d)
		s.hears(h.From, d)
		if s.cursor != "" && !s.part && s.roster[h.From] == "" && d > 0 {
			if s.told(h.From, "a signal"); !s.windowed() { // a window shows changes of half a second together
				s.fault("hears of %s, whom it does not show", h.From)
			}
		}
		s.typing[h.From] = time.Now().Add(d)
	}
}

// hears is for when the page is told that a user is typing: for no longer than the user said. What
// was on its way meanwhile is that much too long; and what comes much later is not told. What a node
// heard late it tells late to pages that come since.
func (s *picture) hears(user string, d time.Duration) {
	u, w, slack := s.p.w.person(user), s.p.w, 2*time.Second
	if s.p.process.well() < catchesUp+longestTyping {
		slack = latestSignal
	}
	if u == nil {
		return
	}
	quiet := w.since()
	w.mu.Lock()
	rest, silent := time.Until(u.typing), time.Since(u.silent)
	if !u.silent.IsZero() && silent > slack && quiet > silent+time.Second {
		rest = -silent
	}
	w.mu.Unlock()
	if slack += s.p.waited; d > longestTyping || d > 0 && d > rest+slack {
		s.fault("hears that %s is typing for %v, who said so for %v", user, d, rest)
	}
}

// latestSignal is how late a signal may come of a node whose clock nobody knows yet: its clock may be off
// by two seconds, it may come a second late, and what stands is told anew twice a second, in tenths.
const latestSignal = 3600*time.Millisecond + onTheWay

// still says who is typing, as far as the picture shows.
func (s *picture) still() string {
	for user, until := range s.typing {
		if s.roster[user] != "" && time.Now().Before(until) {
			return fmt.Sprintf("%s is typing for %v", user, time.Until(until))
		}
	}
	return ""
}

// stillTyping says who is typing, of whom nobody has heard for long.
func (w *world) stillTyping() string {
	for _, p := range w.everyPage() {
		p.mu.Lock()
		still := p.picture(thread).still()
		p.mu.Unlock()
		if still != "" {
			return fmt.Sprintf("%s shows that %s", p.name, still)
		}
	}
	for _, p := range w.processes() {
		if stand := p.tracker.Standing(thread); len(stand) > 0 {
			return fmt.Sprintf("node %s has signals that stand: %v", p.tracker.Config().Node, stand)
		}
	}
	return ""
}
