package presencetest

import (
	"fmt"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// compareExtras compares what a store keeps by rules 8 and 9 with the oracle, and
// returns the part of it as text that does not depend on a store's calendar (rule 8).
func (b *board) compareExtras(s square, stored *roster, counts backend.Counts) (view string, err error) {
	if err := s.compareBots(counts.Bots); err != nil {
		return "", err
	}
	if view, err = b.comparePeak(s, counts); err != nil {
		return "", err
	}
	names, err := b.compareNames(s, stored)
	if err != nil {
		return "", err
	}
	return view + names, b.compareRecent(s, counts)
}

// compareBots: rule 8, in a window as long as rule 8 says.
func (s square) compareBots(got map[string]int) error {
	total := 0
	for _, name := range []string{"A", "B"} {
		at := make(map[string]time.Duration)
		for id, bot := range s.bots {
			if bot.name == name {
				at[id] = bot.at
			}
		}
		least, most := within(at, s.now, gamePeriod), within(at, s.now, gameWindow)
		if got[name] < least || got[name] > most {
			return fmt.Errorf("bots named %s are %d, want %d to %d", name, got[name], least, most)
		}
		if got[name] > 0 {
			total++
		}
	}
	if total != len(got) {
		return fmt.Errorf("bots are %v, want those named A and B alone", got)
	}
	return nil
}

// comparePeak: rule 9. The number at the end of a step is the store's own, which was
// compared: how many guests it has is up to its calendar.
func (b *board) comparePeak(s square, counts backend.Counts) (string, error) {
	if s.stepped {
		online := counts.Total
		if s.keep.PeakGuests {
			online += counts.Guests
		}
		if online > s.peak.Total {
			s.peak.Total, s.peak.At = online, s.start.Add(s.now)
		}
	}
	got, want := counts.Peak, s.peak
	if got.Total != want.Total || !sameTime(got.At, want.At) || !sameTime(got.Since, want.Since) {
		return "", fmt.Errorf("the record is %+v, want %+v", got, want)
	}
	if s.keep.PeakGuests {
		return "", nil
	}
	return fmt.Sprintf(" record %d at %s since %s,", got.Total, b.moment(got.At), b.moment(got.Since)), nil
}

// moment returns a time as two stores agree on it: of the game, or of long before it.
func (b *board) moment(t time.Time) string {
	if t.Before(b.start) {
		return fmt.Sprint(t.Unix())
	}
	return t.Sub(b.start).Round(time.Millisecond).String()
}

// compareNames: rule 9, all users of a day.
func (b *board) compareNames(s square, stored *roster) (view string, err error) {
	got, err := readRecent(b.Context(), b.store, s.name, backend.RecentQuery{Within: backend.MaxWithin, Limit: 2})
	if err != nil {
		return "", fmt.Errorf("recent: %w", err)
	}
	want := s.lately()
	if len(got.Users) != len(want) || got.Total != len(want) {
		return "", fmt.Errorf("recent are %q, %d in all, want %+v", nameWords(got.Users), got.Total, want)
	}
	for i, u := range got.Users {
		w := want[i]
		m, online := stored.members[w.ID]
		if !online {
			w.Status = ""
		}
		if !u.SameProfile(w.User) || u.Online != online || u.Idle != m.Idle || !sameTime(u.Active, s.start.Add(w.active)) {
			return "", fmt.Errorf("recent number %d is %+v, want %+v, online: %v", i+1, u, w, online)
		}
		view += fmt.Sprintf(" %q as %q was active %v,", u.ID, u.Name, u.Active.Sub(b.start).Round(time.Millisecond))
	}
	return view, checkRemembered(b.Context(), b.store, s.name, got.Users)
}

// compareRecent: rule 9, the users of both periods. It may lack one who viewed a page before these, and whose view
// was written late.
func (b *board) compareRecent(s square, counts backend.Counts) error {
	got, err := readRecent(b.Context(), b.store, s.name, backend.RecentQuery{Limit: 2})
	if err != nil {
		return fmt.Errorf("recent of both periods: %w", err)
	}
	if got.Total != counts.Recent {
		return fmt.Errorf("recent of both periods are %d, want %d as in the counts", got.Total, counts.Recent)
	}
	there := make(map[presence.UserID]bool)
	for _, u := range got.Users {
		there[u.ID] = true
		w, named := s.names[u.ID]
		at, viewed := s.views[u.ID]
		if !named || !viewed || s.now-at >= gameWindow || !sameTime(u.Active, s.start.Add(w.active)) {
			return fmt.Errorf("recent of both periods is %+v, want one who viewed a page, as %+v", u, w)
		}
	}
	for id, at := range s.views {
		if u, named := s.names[id]; named && s.now-min(at, u.active) < gamePeriod && !there[id] {
			return fmt.Errorf("recent of both periods are %q, and lack %q", nameWords(got.Users), id)
		}
	}
	return nil
}
