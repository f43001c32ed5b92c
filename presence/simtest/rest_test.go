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
	w.unheard()
	w.resolve()
	for _, u := range w.persons { // whoever does not know what became of a status sets it again
		for u.kind == moody && w.truthOf(u, presence.Site) == unknown && !w.failed() {
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
	w.program.catchesUp()
	w.program.settle(when)
	w.settle(when)
}

// unheard closes the pages whose user's sign-out was refused at a process that has ended since, or that
// is forgotten: nobody else knows of it.
func (w *world) unheard() {
	run, forgotten := w.processes(), make(map[*person]bool)
	for _, u := range w.persons {
		if forgotten[u] = w.forgot(u, 0); forgotten[u] && u.kind == visits && u.viewed.IsZero() { // the view may come back
			u.viewed, u.sure = time.Now(), false
			u.departs(1)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.leaving {
		if p.refusedInVain(run) || forgotten[p.person] {
			p.close()
			if !p.person.here {
				p.person.gone = time.Now() // not before
			}
		}
	}
}

// refusedInVain reports whether the user's sign-out was refused at a process that would have repeated it, and that is
// not among those that run. The world's mutex is held.
func (p *page) refusedInVain(run []*process) bool {
	return p.refused != nil && !slices.Contains(run, p.refused)
}

// stays reports whether a page of a user who signed out stays open for that reason.
func (w *world) stays(u *person) bool {
	run := w.processes()
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.ContainsFunc(w.leaving, func(p *page) bool { return p.person == u && !p.ended() && p.refusedInVain(run) })
}

// truthOf is the user's truth in a topic.
func (w *world) truthOf(u *person, topic presence.Topic) string {
	if !u.in(topic) {
		return ""
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return u.truth()
}

// wrong says what is not as it should be yet.
func (w *world) wrong() string {
	for _, p := range w.leaving {
		if !p.ended() {
			return fmt.Sprintf("%s is open, whose user signed out", p.name)
		}
	}
	for _, p := range w.everyPage() {
		if !p.connected() {
			return fmt.Sprintf("%s has no connection", p.name)
		}
	}
	for _, topic := range w.game.topics() {
		if wrong := w.wrongIn(topic); wrong != "" {
			return fmt.Sprintf("%s: %s", topic, wrong)
		}
	}
	if wrong := w.wrongPeople(); wrong != "" {
		return wrong
	}
	if wrong := w.program.wrong(); wrong != "" {
		return wrong
	}
	if wrong := w.wrongInbox(); wrong != "" {
		return wrong
	}
	return w.stillTyping()
}

// wrongIn says what is not as it should be yet in a topic.
func (w *world) wrongIn(topic presence.Topic) string {
	truth := make(map[string]string)
	for _, u := range w.persons {
		truth[u.id] = w.truthOf(u, topic)
	}
	for _, p := range w.everyPage() {
		if d := p.differs(topic, truth); d != "" {
			return fmt.Sprintf("%s shows what is not true: %s", p.name, d)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	for _, p := range w.processes() {
		view, err := p.tracker.View(ctx, topic)
		if err != nil {
			return fmt.Sprintf("node %s: %v", p.tracker.Config().Node, err)
		}
		if d := differs(statuses(view.Newest(100)), truth); d != "" {
			return fmt.Sprintf("node %s: %s", p.tracker.Config().Node, d)
		}
	}
	snap, err := w.server.Snapshot(ctx, topic)
	if err != nil {
		return err.Error()
	}
	if d := differs(statuses(snap.Members), truth); d != "" {
		return "the store: " + d
	}
	return ""
}

func statuses(members []presence.Member) map[string]string {
	shown := make(map[string]string, len(members))
	for _, m := range members {
		shown[string(m.ID)] = string(m.Status)
	}
	return shown
}

// differs says how what the page shows of a topic is not the truth; "" where it need not show it.
func (p *page) differs(topic presence.Topic, truth map[string]string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !slices.Contains(p.topics, topic) {
		return ""
	}
	return p.picture(topic).differs(truth)
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
	w.lost, w.troubles = false, nil
	w.mu.Unlock()
	for _, p := range append(w.everyPage(), w.leaving...) {
		p.mu.Lock()
		for _, s := range p.pictures {
			s.settle(when)
		}
		p.mu.Unlock()
	}
}

// settle holds what the picture saw against how often users left.
func (s *picture) settle(when string) {
	for _, u := range s.p.w.persons {
		n, most := s.left[u.id], u.departures[s.topic]
		if most > 0 {
			most += s.back[u.id] // a node that is behind brings back who has left
		}
		if n > most {
			s.fault("saw %s leave %d times, who left %d times at most, %s", u.id, n, most, when)
		}
		s.left[u.id] = min(n, u.departures[s.topic]) // what was brought back is over
	}
	clear(s.back)
}

// A parting is a user and a topic where the user goes or comes.
type parting struct {
	who   string
	topic presence.Topic
}

// depart lets all but one go while nothing fails: every page sees each of them leave, once.
func (w *world) depart() {
	var gone []parting
	for _, u := range w.persons[1:] {
		if truth := w.truthOf(u, presence.Site); !u.here || truth == "" || truth == unknown {
			continue
		}
		for _, topic := range w.game.topics() {
			if u.in(topic) {
				gone = append(gone, parting{u.id, topic})
			}
		}
	}
	saw := func(p *page, d parting) int {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.picture(d.topic).left[d.who]
	}
	before := make(map[*page]map[parting]int)
	for _, p := range w.everyPage() {
		before[p] = make(map[parting]int)
		for _, d := range gone {
			before[p][d] = saw(p, d)
		}
	}
	for _, u := range w.persons[1:] {
		if slices.Contains(gone, parting{u.id, presence.Site}) {
			u.leave()
		}
	}
	w.note("%d leaves are to come", len(gone))
	w.rest("at the end")
	for _, p := range w.everyPage() {
		for _, d := range gone {
			n := saw(p, d) - before[p][d]
			if outside := p.window > 0 && p.window < len(w.persons) && n == 0; n != 1 && p.shows(d.topic) && !outside {
				w.fault("%s saw %s leave %s %d times, who left once", p.name, d.who, d.topic, n)
			}
		}
	}
}
