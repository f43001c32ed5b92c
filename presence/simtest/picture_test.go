package simtest_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// A picture is the roster of one topic that a page's events make. It notes each event that does
// not follow from what the page had. The page's mutex guards it.
type picture struct {
	p      *page
	topic  presence.Topic
	fresh  bool // nothing came yet since the page connected
	old    bool // nor since it shows the topic again: it may have what was true long ago
	roster map[string]string
	part   bool // the roster lacks users whom a state left out
	total  int
	cursor string
	left   map[string]int       // how often it saw each user leave
	back   map[string]int       // how often a state elsewhere held a user again
	went   map[string]string    // by user who left and is not in sight again: since when the user had been there
	parted map[string]time.Time // when it saw each of them leave last
	typing map[string]time.Time // until when users are
	gained map[string]bool      // it was told that the user came at that moment: see justCame
}

func newPicture(p *page, topic presence.Topic) *picture {
	return &picture{
		p: p, topic: topic, fresh: true, roster: make(map[string]string),
		left: make(map[string]int), back: make(map[string]int), went: make(map[string]string), parted: make(map[string]time.Time),
		typing: make(map[string]time.Time), gained: make(map[string]bool),
	}
}

// payload is any event's data.
type payload struct {
	Topic     presence.Topic
	Cursor    string
	Prev      string
	Total     int
	Truncated bool
	Users     map[string]profile
	Joins     map[string]profile
	Leaves    map[string]departure
	Out       []string
	Signals   []heard
}

type departure struct {
	LastSeen string `json:"last_seen"`
}

type profile struct {
	Status string
	Since  string
}

// cameBefore reports whether the user has been there since before a moment. After a loss of data one node may say
// since when the user was there, and another one since when the lease was made again.
func (u profile) cameBefore(at time.Time) bool {
	since, err := time.Parse(time.RFC3339Nano, u.Since)
	return err == nil && since.Before(at)
}

func (u profile) String() string { return u.Status + " since " + u.Since }

func (s *picture) String() string {
	if s.topic == presence.Site {
		return s.p.name
	}
	return fmt.Sprintf("%s (%s)", s.p.name, s.topic)
}

func (s *picture) fault(format string, args ...any) {
	s.p.w.fault("%s "+format, append([]any{s}, args...)...)
}

func (s *picture) note(format string, args ...any) {
	s.p.w.note("%s "+format, append([]any{s}, args...)...)
}

func (s *picture) state(d payload) {
	s.note("gets a state of %d at %s", len(d.Users), d.Cursor)
	limit := s.p.limit
	if s.topic == presence.PeopleTopic {
		limit = len(kinds)
	}
	if len(d.Users) != min(d.Total, limit) || d.Truncated != (len(d.Users) < d.Total) {
		s.fault("gets a state of %d users with total %d, truncated %v, and asked for %d", len(d.Users), d.Total, d.Truncated, limit)
	}
	moved, knew := s.fresh, !s.part
	s.part, s.total = d.Truncated, d.Total
	for user := range s.roster {
		switch _, there := d.Users[user]; {
		case there:
		case s.part:
			delete(s.went, user)
		case moved:
			s.counts(user)
			s.drops(user)
		default:
			s.leaves(user, "a state", departure{})
		}
	}
	now := make(map[string]string)
	for user, u := range d.Users {
		s.told(user, "a state")
		now[user] = u.String()
		since, went := s.went[user] // a page that did not show the user knows no since
		older := since == "" || since == u.Since || u.cameBefore(s.parted[user])
		if _, there := s.roster[user]; !there && moved && (knew || went && older) {
			s.back[user]++
			s.returns(user, u)
		} else if !moved {
			s.revives(user)
		}
	}
	if moved && s.part {
		for user := range s.went { // the node may have the user again, and show others
			if now[user] == "" {
				s.back[user]++
			}
		}
	}
	s.roster, s.cursor, s.fresh, s.old = now, d.Cursor, false, false
	clear(s.gained)
}

func (s *picture) diff(d payload) {
	if d.Prev != s.cursor {
		s.fault("stands at %s, and gets a diff that goes on from %s", s.cursor, d.Prev)
	}
	for user, u := range d.Joins {
		s.told(user, "a diff")
		s.revives(user)
		if s.roster[user] == "" && !s.part {
			s.joins(user, s.windowed() && d.Total > s.p.window)
		}
		if s.roster[user] == u.String() && !s.gained[user] {
			s.fault("gets a join of %s, who was there unchanged", user)
		}
		if _, both := d.Leaves[user]; both {
			s.fault("gets %s twice in one diff", user)
		}
		s.roster[user], s.gained[user] = u.String(), s.justCame(u)
	}
	for user, left := range d.Leaves {
		if s.roster[user] == "" && (!s.part || s.windowed()) {
			s.fault("gets a leave of %s, who was not there", user)
		}
		s.leaves(user, "a diff", left)
		delete(s.roster, user)
	}
	for _, user := range d.Out {
		if s.roster[user] == "" {
			s.fault("is told that %s falls out of the window, who was not there", user)
		}
		delete(s.roster, user)
		delete(s.went, user)
	}
	if s.windowed() && len(s.roster) != min(d.Total, s.p.window) {
		s.fault("has %d users of %d in a window of %d", len(s.roster), d.Total, s.p.window)
	}
	s.part = s.part || s.windowed() && d.Total > s.p.window
	s.total = d.Total
	if d.Total < len(s.roster) || d.Total > len(s.roster) && !s.part {
		s.fault("has %d users, and gets total %d", len(s.roster), d.Total)
	}
	s.cursor, s.fresh, s.old = d.Cursor, false, false
	s.note("gets a diff to %s: joins %v, leaves %v", d.Cursor, keys(d.Joins), keys(d.Leaves))
}

// justCame reports whether a page that watches people is told that a user comes just now: it may have
// gained sight of the user by a relation. It is told once more where a node says that the user changed in
// the same millisecond, whenever it does.
func (s *picture) justCame(u profile) bool {
	since, err := time.Parse(time.RFC3339Nano, u.Since)
	return err == nil && s.topic == presence.PeopleTopic && time.Since(since) < onTheWay
}

// windowed reports whether the picture is of a window.
func (s *picture) windowed() bool { return s.p.window > 0 && s.topic != presence.PeopleTopic }

// count takes an event that changes the total alone.
func (s *picture) count(d payload) {
	if !s.windowed() || d.Total <= s.p.window {
		s.fault("gets a count: %+v", d)
	}
	s.cursor, s.total, s.part, s.fresh, s.old = d.Cursor, d.Total, true, false, false
}

// heartbeat is for when nothing was missed. A window that lacks users has their number before it has the
// diff.
func (s *picture) heartbeat(d payload) {
	if s.windowed() && max(s.total, d.Total) > s.p.window {
		s.total, s.part = d.Total, true
	}
	if d.Cursor != s.cursor || d.Total != s.total {
		s.fault("stands at %s with total %d, and gets a heartbeat at %s with total %d", s.cursor, s.total, d.Cursor, d.Total)
	}
}

func (s *picture) leaves(user, by string, how departure) {
	s.counts(user)
	s.parted[user] = time.Now()
	_, s.went[user], _ = strings.Cut(s.roster[user], " since ")
	s.drops(user)
	if by == "a diff" && s.topic == presence.PeopleTopic {
		s.parts(user, how)
	}
	s.note("sees %s leave, by %s", user, by)
}

// revives notes that the page is told of a user. If an exception brings the user back, the user leaves once more.
func (s *picture) revives(user string) {
	if u := s.p.w.person(user); s.roster[user] == "" && u != nil && u.absent() {
		s.back[user]++
	}
}

// counts counts that the page no longer shows a user. It does not count what an exception allows: of users who are there, and
// where the page moves also of others, as each of two nodes may know of another moment.
func (s *picture) counts(user string) {
	if u := s.p.w.person(user); u == nil || u.absent() && !s.fresh || !s.allows("leaves", u, 0) {
		s.left[user]++
	}
}

// statuses returns what the picture shows.
func (s *picture) statuses() map[string]string {
	shown := make(map[string]string, len(s.roster))
	for user, profile := range s.roster {
		shown[user], _, _ = strings.Cut(profile, " ")
	}
	return shown
}

// differs says how what the picture shows is not the truth.
func (s *picture) differs(truth map[string]string) string {
	shown := s.statuses()
	if s.windowed() && len(shown) != min(s.total, s.p.window) {
		return fmt.Sprintf("%d of %d users are in a window of %d", len(shown), s.total, s.p.window)
	}
	if !s.part {
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
	if s.total < least || s.total > most {
		return fmt.Sprintf("the total is %d, want %d to %d", s.total, least, most)
	}
	return differs(shown, known)
}
