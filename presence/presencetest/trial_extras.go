package presencetest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// wantPeak checks a topic's record, and returns it.
func (tr *trial) wantPeak(topic presence.Topic, total int, at time.Time) backend.Peak {
	tr.Helper()
	p := tr.counts(topic).Peak
	if p.Total != total || !about(p.At, at) {
		tr.Errorf("%s: the record is %d at %v, want %d at %v (rule 9)", topic, p.Total, p.At, total, at)
	}
	return p
}

// about compares times of a case.
func about(a, b time.Time) bool { return a.Sub(b).Abs() < slack }

// wantBots checks a topic's bots, as in "Bingbot:2 Googlebot:1".
func (tr *trial) wantBots(topic presence.Topic, want string) {
	tr.Helper()
	if got := botWords(tr.counts(topic).Bots); got != want {
		tr.Errorf("%s: bots are %q, want %q (rule 8)", topic, got, want)
	}
}

func botWords(bots map[string]int) string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(bots)) {
		words = append(words, fmt.Sprintf("%s:%d", name, bots[name]))
	}
	return strings.Join(words, " ")
}

// page returns one page of recent users.
func (tr *trial) page(topic presence.Topic, q backend.RecentQuery) backend.RecentPage {
	tr.Helper()
	p, err := tr.store.Recent(tr.ctx, topic, q)
	if err != nil {
		tr.Fatalf("%s: recent %+v: got error %v, want none", topic, q, err)
	}
	return p
}

// names returns all recent users of a topic. It reads them page by page.
func (tr *trial) names(topic presence.Topic, within time.Duration) []backend.RecentUser {
	tr.Helper()
	p, err := readRecent(tr.ctx, tr.store, topic, backend.RecentQuery{Within: within, Limit: 3})
	if err != nil {
		tr.Fatalf("%s: recent: %v", topic, err)
	}
	return p.Users
}

// wantNames checks who was active lately, the latest first, separated by spaces. A user
// who is online has a "+".
func (tr *trial) wantNames(topic presence.Topic, within time.Duration, want string) {
	tr.Helper()
	if got := nameWords(tr.names(topic, within)); got != want {
		tr.Errorf("%s: recent within %v are %q, want %q (rule 9)", topic, within, got, want)
	}
}

func nameWords(users []backend.RecentUser) string {
	var words []string
	for _, u := range users {
		word := string(u.ID)
		if u.Online {
			word = "+" + word
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

// wantActive checks when a recent user was last active.
func (tr *trial) wantActive(topic presence.Topic, id presence.UserID, want time.Time) {
	tr.Helper()
	for _, u := range tr.names(topic, backend.MaxWithin) {
		if u.ID == id {
			if !about(u.Active, want) {
				tr.Errorf("%s: %q was active at %v, want %v (%v late; rule 9)", topic, id, u.Active, want, u.Active.Sub(want))
			}
			return
		}
	}
	tr.Errorf("%s: %q is not among the recent users", topic, id)
}

// startMinute lets time pass to the beginning of a minute, and returns that. A case then
// has most of the minute for its calls.
func (tr *trial) startMinute() time.Time {
	tr.Helper()
	now := tr.now()
	minute := now.Truncate(time.Minute).Add(time.Minute)
	tr.advance(minute.Sub(now) + time.Second)
	return minute
}
