package redisstore

import (
	"context"
	"sync"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// No roster has an invisible user. But a node of an older version does not know the status
// "invisible-" (rule 21), and writes its user into the roster like any other. Whoever reads such a
// record drops it, and the topic hides the user: lua/hide.lua. Any other step in which the user
// has a part hides the user too: lua/topic.lua. The total of a topic counts such a user until then:
// it is the number of records, and reading all of them would cost each count as much as a roster.

// maxVeiled is how many users wait to be hidden. The next read finds the others again.
const maxVeiled = 1000

// A hider hides the users whom a roster has although they are invisible.
type hider struct {
	*fleet
	pubsub *pubsub

	mu      sync.Mutex
	waiting map[presence.Topic]map[presence.UserID]struct{}
	users   int
	running bool
}

// shown reads the record of a user in a roster. It returns false if others may not see the user.
func (s *hider) shown(topic presence.Topic, id, record string) (m presence.Member, ok bool, err error) {
	m, err = decodeRecord(id, record)
	if err != nil {
		return presence.Member{}, false, err
	}
	if !isVeiled(m) {
		return m, true, nil
	}
	s.hide(topic, m.ID)
	return presence.Member{}, false, nil
}

func isVeiled(m presence.Member) bool { return m.Status.Base() == presence.Invisible }

// veil makes of a diff what it would be if the node that caused it knew the status: who came is
// not told, and who turned invisible leaves. It returns the users whom the topic is to hide.
func veil(d *backend.Diff) (users []presence.UserID) {
	drop := func(members []presence.Member, leaves bool) []presence.Member {
		kept := members[:0]
		for _, m := range members {
			if !isVeiled(m) {
				kept = append(kept, m)
				continue
			}
			users = append(users, m.ID)
			if leaves {
				d.Leaves = append(d.Leaves, backend.Departure{ID: m.ID})
			}
		}
		return kept
	}
	d.Joins, d.Updates = drop(d.Joins, false), drop(d.Updates, true)
	return users
}

// hide moves users of a topic from the roster to the invisible ones, in the background. Each
// who is invisible there leaves, and nothing happens to others.
func (s *hider) hide(topic presence.Topic, users ...presence.UserID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, user := range users {
		if s.waiting[topic] == nil {
			if s.waiting == nil {
				s.waiting = make(map[presence.Topic]map[presence.UserID]struct{})
			}
			s.waiting[topic] = make(map[presence.UserID]struct{})
		}
		if _, known := s.waiting[topic][user]; !known && s.users < maxVeiled {
			s.waiting[topic][user] = struct{}{}
			s.users++
		}
	}
	if s.users > 0 && !s.running {
		s.running = true
		s.pubsub.background(s.hideAll)
	}
}

func (s *hider) hideAll(ctx context.Context) {
	for {
		s.mu.Lock()
		waiting := s.waiting
		s.waiting, s.users = nil, 0
		if len(waiting) == 0 || ctx.Err() != nil {
			s.running = false
			s.mu.Unlock()
			return
		}
		s.mu.Unlock()
		for topic, users := range waiting {
			args := s.topicArgs(topic)
			for user := range users {
				args = append(args, string(user))
			}
			// Where it fails, the next read finds the users again.
			_, _ = s.runOne(ctx, s.writes, "hide", eval{hideScript, s.keys(topic, topicKeys[:]...), args})
		}
	}
}
