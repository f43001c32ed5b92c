package simtest_test

import (
	"fmt"

	"github.com/rollcall-go/rollcall/presence"
)

// watchesPeople reports whether the page watches all users, wherever they are.
func (p *page) watchesPeople() bool { return p.person != nil && p.w.game.has(people) }

// everybody returns all users.
func everybody() (ids []presence.UserID) {
	for i := range kinds {
		ids = append(ids, presence.UserID(fmt.Sprint("u", i)))
	}
	return ids
}

// wrongPeople says what pages show of people that is not as it should be yet.
func (w *world) wrongPeople() string {
	truth := make(map[string]string)
	for _, u := range w.persons {
		truth[u.id] = w.truthOf(u, presence.Site)
	}
	for _, p := range w.everyPage() {
		if !p.watchesPeople() {
			continue
		}
		p.mu.Lock()
		d := p.picture(presence.PeopleTopic).differs(truth)
		p.mu.Unlock()
		if d != "" {
			return fmt.Sprintf("%s watches people, and shows what is not true: %s", p.name, d)
		}
	}
	return ""
}
