package simtest_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/presencetest"
)

// With settings the site has a Directory, which each node reaches by a way of its own. At rest
// all must show what it has.

var directoryFailures = map[string]presencetest.DirectoryFault{
	"directory slow": {Delay: 150 * time.Millisecond},
	"directory late": {Late: 400 * time.Millisecond}, // it acknowledges late, and an answer may be older than one before
	"directory out":  {Err: errors.New("the directory is out")},
	"directory deaf": {Hang: true},
}

// settingsActs returns what users and the site do with the Directory, and how it fails.
func (g game) settingsActs(rnd *rand.Rand, length time.Duration) (acts []act) {
	for range 2 + rnd.IntN(8) {
		at, who := upTo(rnd, length), 2
		for range 1 + rnd.IntN(3) { // at several nodes at once
			do := []string{"settings", "settings", "contacts"}[rnd.IntN(3)]
			with := []string{"online", "away", "busy", "invisible", "nobody"}[rnd.IntN(5)]
			acts = append(acts, act{at: at + upTo(rnd, 500*time.Millisecond), do: do, who: who, node: rnd.IntN(g.nodes), with: with})
		}
		if rnd.IntN(2) == 0 {
			continue
		}
		fault := []string{"directory slow", "directory late", "directory late", "directory out", "directory deaf"}[rnd.IntN(5)]
		acts = append(acts, act{at: max(0, at-upTo(rnd, 300*time.Millisecond)), do: fault, who: rnd.IntN(g.nodes), d: 100*time.Millisecond + upTo(rnd, 3*time.Second)})
	}
	return acts
}

// changes returns the change of settings that an act makes.
func changes(with string) func(*presence.Settings) error {
	return func(s *presence.Settings) error {
		switch with {
		case "nobody", "contacts":
			s.Online = presence.Audience(with)
		default:
			s.Status, s.Online = presence.Status(with), presence.Everyone
		}
		return nil
	}
}

// set sets a status at a node. With settings it also shows the user to everybody.
func (w *world) set(ctx context.Context, p *process, user, status string) error {
	if w.game.has(settings) {
		return p.tracker.People().ChangeSettings(ctx, presence.UserID(user), changes(status))
	}
	return p.tracker.SetStatus(ctx, presence.UserID(user), presence.Status(status))
}

// doSettings does an act of settingsActs that is no failure.
func (w *world) doSettings(u *person, a act) {
	p := w.at(a.node)
	if p == nil || !w.game.has(settings) { // the feature was left out of the game
		return
	}
	u.departs(1)
	w.mu.Lock()
	u.status, u.set, u.hidden = unknown, w.starts.Load(), time.Time{}
	w.statuses[u.id]++ // what is being chosen may come before this or after it
	u.changing++
	w.mu.Unlock()
	w.later(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 8*time.Second)
		defer cancel()
		var err error
		if a.do == "settings" {
			err = p.tracker.People().ChangeSettings(ctx, presence.UserID(u.id), changes(a.with))
		} else { // by the site's own program, which repeats what fails
			w.directory.Befriend(presence.UserID(u.id), "u0")
			for err = errAway; err != nil && ctx.Err() == nil; {
				if err = p.tracker.People().RelationsChanged(ctx, presence.UserID(u.id)); err != nil {
					time.Sleep(100 * time.Millisecond)
				}
			}
		}
		w.note("%s changes %s: %v", u.id, a.with, err)
		w.mu.Lock()
		defer w.mu.Unlock()
		u.unsure = u.unsure || err != nil
		u.status, u.hidden = unknown, time.Time{}
		w.statuses[u.id]++
		u.changing--
	})
}

// directoryFails breaks a node's way to the Directory for a while. A join may wait so long.
func (w *world) directoryFails(a act) {
	p := w.at(a.who % w.game.nodes)
	if p == nil {
		return
	}
	p.directory.Break(directoryFailures[a.do])
	w.fails(a.do, func() {
		time.Sleep(a.d)
		p.directory.Heal()
	})
}

// resolve learns from the Directory what users chose who chose at several nodes at once. It does
// not where nobody may have been told: a change failed, or its node has ended since. Then the user
// chooses again.
func (w *world) resolve() {
	if !w.game.has(settings) {
		return
	}
	for _, u := range w.persons {
		all, err := w.directory.Settings(context.Background(), presence.UserID(u.id))
		if err != nil {
			panic(err)
		}
		s := all[0].At(time.Now())
		if s.Online != presence.Everyone {
			s.Status = presence.Invisible
		}
		w.resolved(u, string(s.Status))
	}
}

func (w *world) resolved(u *person, has string) {
	w.mu.Lock()
	was, sure := u.status, u.kind != moody || !u.unsure && u.set == w.starts.Load()
	u.unsure = false
	if u.status = has; !sure {
		u.status = unknown
		u.departs(1)
	}
	w.mu.Unlock()
	if sure && was != unknown && was != has {
		w.fault("the Directory has that %s is %s, who was told of %s", u.id, has, was)
	}
}

// tellsLastSeen reports whether everybody may know when a user was last seen. It is false for a user who showed herself
// to nobody and then turned invisible: a wider choice counts once she is visible again.
func (w *world) tellsLastSeen(u *person) bool {
	all, err := w.directory.Settings(context.Background(), presence.UserID(u.id))
	if err != nil {
		panic(err)
	}
	return all[0].At(time.Now()).Seen == presence.Everyone
}
