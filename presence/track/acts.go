package track

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/internal/generations"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// Bounds of a node's memory of acts.
const (
	maxActs   = 200              // acts, the latest
	maxBarred = 10_000           // users who may not come back yet
	MaxBar    = 10 * time.Minute // the longest Bar: notices are kept that long
)

// acts remembers the acts of staff that this node has heard of.
type acts struct {
	logger     *slog.Logger
	users      *users
	notices    *notices
	generation *generation

	mu     actsMutex
	heard  []heardAct                                   // the oldest first
	barred *generations.Map[presence.UserID, time.Time] // until when each user may not come back
}

// A heardAct is an act, and what names it.
type heardAct struct {
	id string
	presence.Act
}

func newActs(logger *slog.Logger, u *users, n *notices, g *generation) *acts {
	return &acts{logger: logger, users: u, notices: n, generation: g, barred: generations.New[presence.UserID, time.Time](maxBarred, nil)}
}

// latest returns the acts that this node has heard of, the latest first.
func (s *acts) latest() []presence.Act {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]presence.Act, 0, len(s.heard))
	for _, a := range slices.Backward(s.heard) {
		all = append(all, a.Act)
	}
	return all
}

// noteActed is the payload of a NoticeActed.
type noteActed struct {
	ID         string // of the act, because a notice may be repeated
	By         presence.UserID
	Did        string
	Connection presence.Holder `json:",omitempty"`
	Topic      presence.Topic  `json:",omitempty"`
	Bar        time.Duration   `json:",omitempty"`
}

// act logs an act and publishes it to all nodes.
func (s *acts) act(ctx context.Context, a presence.Act) error {
	s.logger.Info("presence: a member of staff acted",
		"did", a.Did, "by", a.By, "user", a.User, "connection", a.Connection, "topic", a.Topic, "bar", a.Bar)
	payload, err := json.Marshal(noteActed{rand.Text(), a.By, a.Did, a.Connection, a.Topic, a.Bar})
	if err != nil {
		return err
	}
	return s.notices.publish(ctx, backend.Notice{Kind: backend.NoticeActed, User: a.User, Payload: string(payload), Lasting: true})
}

// hear takes an act of any node, this one included.
func (s *acts) hear(n backend.Notice) {
	var note noteActed
	if json.Unmarshal([]byte(n.Payload), &note) != nil {
		return // of a version that this one does not know
	}
	at := time.Now().Add(-n.Ago)
	a := presence.Act{At: at, By: note.By, Did: note.Did, User: presence.UserID(strings.Clone(string(n.User))), Connection: note.Connection, Topic: note.Topic, Bar: note.Bar}
	s.mu.Lock()
	if slices.ContainsFunc(s.heard, func(h heardAct) bool { return h.id == note.ID }) {
		s.mu.Unlock()
		return // the bus lost its data, and the notice was repeated
	}
	if len(s.heard) == maxActs {
		s.heard = slices.Delete(s.heard, 0, 1)
	}
	s.heard = append(s.heard, heardAct{note.ID, a})
	if a.Did == presence.ActDisconnect && a.Bar > 0 {
		s.barred.Set(a.User, at.Add(min(a.Bar, MaxBar)))
	}
	s.mu.Unlock()
	if a.Did == presence.ActCut {
		for _, c := range s.users.connectionsOf(a.User) {
			if a.Connection == c.id || a.Connection == s.generation.holder(c.isVisit()) {
				c.conn.Close()
			}
		}
	}
}

// bars reports whether a user may not come back yet.
func (s *acts) bars(user presence.UserID) bool {
	if user == "" {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	until, ok := s.barred.Get(user)
	if ok && !time.Now().Before(until) {
		s.barred.Delete(user)
		ok = false
	}
	return ok
}
