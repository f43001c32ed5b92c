package simtest_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// everyPage returns the pages that are open, or should be.
func (w *world) everyPage() []*page {
	all := slices.Clone(w.watchers)
	for _, u := range w.persons {
		all = append(all, u.pages...)
	}
	return all
}

// rest waits until every page, every node and the store have the truth, and holds what every
// page saw on the way against what may be seen.
func (w *world) rest(when string) {
	w.waiting.Wait()
	w.mu.Lock()
	w.noteLocked("nothing fails any more")
	w.forgetLocked()
	w.mu.Unlock()
	for _, u := range w.persons { // whoever does not know what became of a status sets it again
		for u.kind == moody && w.truthOf(u) == unknown && !w.failed() {
			u.choose(0, "busy")
			w.waiting.Wait()
			time.Sleep(100 * time.Millisecond)
		}
	}
	quiet := time.Now()
	for {
		wrong := w.wrong()
		if wrong == "" {
			break
		}
		if time.Since(quiet) > w.game.restTime() {
			w.fault("%s, %v after the last failure: %s", when, w.game.restTime(), wrong)
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	w.note("at rest after %v", time.Since(quiet))
	if !w.failed() {
		time.Sleep(w.game.restTime()) // what is provisional is decided
		if wrong := w.wrong(); wrong != "" {
			w.fault("%s, %v after all was right: %s", when, w.game.restTime(), wrong)
		}
	}
	w.settle(when)
}

func (w *world) truthOf(u *person) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return u.truth()
}

// wrong says what is not as it should be yet.
func (w *world) wrong() string {
	truth := make(map[string]string)
	for _, u := range w.persons {
		truth[u.id] = w.truthOf(u)
	}
	for _, p := range w.leaving {
		if !p.ended() {
			return fmt.Sprintf("%s is open, whose user signed out", p.name)
		}
	}
	for _, p := range w.everyPage() {
		if !p.connected() {
			return fmt.Sprintf("%s has no connection", p.name)
		}
		if d := p.differs(truth); d != "" {
			return fmt.Sprintf("%s shows what is not true: %s", p.name, d)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	for _, p := range w.processes() {
		view, err := p.tracker.View(ctx, presence.Site)
		if err != nil {
			return fmt.Sprintf("node %s: %v", p.tracker.Config().Node, err)
		}
		shown := make(map[string]string)
		for _, m := range view.Newest(100) {
			shown[string(m.ID)] = string(m.Status)
		}
		if d := differs(shown, truth); d != "" {
			return fmt.Sprintf("node %s: %s", p.tracker.Config().Node, d)
		}
	}
	snap, err := w.server.Snapshot(ctx, presence.Site)
	if err != nil {
		return err.Error()
	}
	stored := make(map[string]string)
	for _, m := range snap.Members {
		stored[string(m.ID)] = string(m.Status)
	}
	if d := differs(stored, truth); d != "" {
		return "the store: " + d
	}
	return ""
}

// differs says how what the page shows is not the truth.
func (p *page) differs(truth map[string]string) string {
	shown := p.statuses()
	p.mu.Lock()
	part, total := p.part, p.total
	p.mu.Unlock()
	if !part {
		return differs(shown, truth)
	}
	known, least, most := make(map[string]string), 0, 0
	for user, status := range truth {
		if shown[user] != "" {
			known[user] = status
		}
		switch status {
		case unknown:
			most++
		case "":
		default:
			least, most = least+1, most+1
		}
	}
	if total < least || total > most {
		return fmt.Sprintf("the total is %d, want %d to %d", total, least, most)
	}
	return differs(shown, known)
}

// statuses returns what the page shows.
func (p *page) statuses() map[string]string {
	p.mu.Lock()
	defer p.mu.Unlock()
	shown := make(map[string]string, len(p.roster))
	for user, profile := range p.roster {
		shown[user], _, _ = strings.Cut(profile, " ")
	}
	return shown
}

// differs says how what is shown is not the truth.
func differs(shown, truth map[string]string) string {
	var wrong []string
	for _, user := range keys(truth) {
		if want := truth[user]; want != unknown && shown[user] != want {
			wrong = append(wrong, fmt.Sprintf("%s is %q, want %q", user, shown[user], want))
		}
	}
	for _, user := range keys(shown) {
		if _, known := truth[user]; !known {
			wrong = append(wrong, "nobody knows "+user)
		}
	}
	return strings.Join(wrong, ", ")
}

// settle holds how often each page saw users leave against how often they left, and begins
// anew.
func (w *world) settle(when string) {
	w.mu.Lock()
	lost := w.lost
	w.lost = false
	w.mu.Unlock()
	// Others sweep the users of a node that is cut off. Each page that comes to that node, and
	// each that goes from it, may be seen to leave once more.
	more := 0
	if w.cut {
		more = 4
	}
	w.cut = false
	for _, u := range w.persons {
		u.departures += more
	}
	for _, p := range append(w.everyPage(), w.leaving...) {
		p.mu.Lock()
		for _, u := range w.persons {
			n, most := p.left[u.id], u.departures
			if most > 0 {
				most += p.back[u.id] // a node that is behind brings back who has left
			}
			if !lost {
				n += p.missed[u.id]
			}
			if n > most {
				w.fault("%s, %s saw %s leave %d times, who left %d times at most", when, p.name, u.id, n, most)
			}
			p.left[u.id] = min(p.left[u.id], n)
		}
		clear(p.missed)
		clear(p.back)
		p.mu.Unlock()
	}
}

// depart lets all but one go while nothing fails: every page sees each of them leave, once.
func (w *world) depart() {
	var gone []*person
	before := make(map[*page]map[string]int)
	for _, p := range w.everyPage() {
		p.mu.Lock()
		counts := make(map[string]int)
		for user, n := range p.left {
			counts[user] = n
		}
		before[p] = counts
		p.mu.Unlock()
	}
	for _, u := range w.persons[1:] {
		if truth := w.truthOf(u); u.here && truth != "" && truth != unknown {
			gone = append(gone, u)
			u.leave()
		}
	}
	w.note("%d users leave", len(gone))
	w.rest("at the end")
	for _, p := range w.everyPage() {
		p.mu.Lock()
		for _, u := range gone {
			if n := p.left[u.id] - before[p][u.id]; n != 1 {
				w.fault("%s saw %s leave %d times, who left once", p.name, u.id, n)
			}
		}
		p.mu.Unlock()
	}
}
