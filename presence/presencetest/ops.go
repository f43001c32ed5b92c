package presencetest

import (
	"fmt"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// The durations of every case. They are so far apart that a store whose calls take some
// milliseconds gives the same answers.
const (
	ttl    = 45 * time.Second
	grace  = 10 * time.Second
	period = 5 * time.Minute
	slack  = 5 * time.Second // longer than all calls of a case take
)

// named returns the profile of users in cases that are not about profiles.
func named(id presence.UserID) presence.User {
	return presence.User{ID: id, Name: "Name of " + nameOf(id)}
}

// nameOf returns a valid name that tells the user from all others: the id of a user of a tenant has
// a control character.
func nameOf(id presence.UserID) string {
	if tenant := id.Tenant(); tenant != "" {
		return tenant + "/" + string(id.Local())
	}
	return string(id)
}

func join(id presence.UserID, h presence.Holder) backend.Op { return joinAs(named(id), h) }

func joinAs(u presence.User, h presence.Holder) backend.Op {
	return backend.Op{Kind: backend.OpJoin, User: u, Holder: h, For: ttl}
}

func seen(id presence.UserID) backend.Op { return seenAs(named(id)) }

func seenAs(u presence.User) backend.Op {
	return backend.Op{Kind: backend.OpSeen, User: u, For: period}
}

func guest(id string) backend.Op { return backend.Op{Kind: backend.OpGuest, Guest: id} }

func forget(guest string) backend.Op {
	return backend.Op{Kind: backend.OpForgetGuest, Guest: guest, For: period}
}

func beat(id presence.UserID, h presence.Holder) backend.Op {
	return backend.Op{Kind: backend.OpHeartbeat, User: presence.User{ID: id}, Holder: h, For: ttl}
}

func attach(id presence.UserID, h presence.Holder) backend.Op {
	return backend.Op{Kind: backend.OpFollow, User: presence.User{ID: id}, Holder: h, For: ttl}
}

// attended says that somebody is at a page, and unattended that nobody is.
func attended(id presence.UserID, h presence.Holder) backend.Op {
	return backend.Op{Kind: backend.OpAttend, User: presence.User{ID: id}, Holder: h, For: ttl}
}

func unattended(id presence.UserID, h presence.Holder) backend.Op { return idly(attended(id, h)) }

// idly returns op of a page at which nobody is.
func idly(op backend.Op) backend.Op {
	op.Idle = true
	return op
}

func release(id presence.UserID, h presence.Holder) backend.Op {
	return backend.Op{Kind: backend.OpRelease, User: presence.User{ID: id}, Holder: h, For: grace}
}

func drop(id presence.UserID, h presence.Holder) backend.Op {
	return backend.Op{Kind: backend.OpDrop, User: presence.User{ID: id}, Holder: h}
}

func signOut(id presence.UserID) backend.Op {
	return backend.Op{Kind: backend.OpSignOut, User: presence.User{ID: id}}
}

func signOff(id presence.UserID, h presence.Holder) backend.Op {
	return backend.Op{Kind: backend.OpSignOff, User: presence.User{ID: id}, Holder: h}
}

func bot(id, name string) backend.Op {
	return backend.Op{Kind: backend.OpBot, Guest: id, Bot: name, For: period}
}

func peak(p backend.Peak) backend.Op { return backend.Op{Kind: backend.OpPeak, Peak: p} }

var resetPeak = backend.Op{Kind: backend.OpResetPeak}

func update(u presence.User) backend.Op {
	return backend.Op{Kind: backend.OpUpdate, User: u}
}

// status is an update of the status alone.
func status(id presence.UserID, s presence.Status) backend.Op {
	return update(presence.User{ID: id, Status: s})
}

// lasting returns op with another duration.
func lasting(op backend.Op, d time.Duration) backend.Op {
	op.For = d
	return op
}

// past returns op of so long ago.
func past(op backend.Op, ago time.Duration) backend.Op {
	op.Ago = ago
	return op
}

// batch returns one topic's batch.
func batch(topic presence.Topic, ops ...backend.Op) []backend.Batch {
	return []backend.Batch{{Topic: topic, Ops: ops}}
}

// opString returns an operation as failure messages name it.
func opString(op backend.Op) string {
	text := opWords(op)
	if op.Ago != 0 {
		text += fmt.Sprintf(" %v ago", op.Ago)
	}
	return text
}

func opWords(op backend.Op) string {
	switch op.Kind {
	case backend.OpJoin:
		return fmt.Sprintf("join %s by %s for %v as %q %s, idle: %v", op.User.ID, op.Holder, op.For, op.User.Name, op.User.Status, op.Idle)
	case backend.OpAttend:
		return fmt.Sprintf("attend %s by %s for %v, idle: %v", op.User.ID, op.Holder, op.For, op.Idle)
	case backend.OpSeen:
		return fmt.Sprintf("page view of %s for %v as %q %s", op.User.ID, op.For, op.User.Name, op.User.Status)
	case backend.OpGuest:
		return fmt.Sprintf("guest %s", op.Guest)
	case backend.OpForgetGuest:
		return fmt.Sprintf("forget guest %s", op.Guest)
	case backend.OpHeartbeat:
		return fmt.Sprintf("heartbeat %s by %s for %v", op.User.ID, op.Holder, op.For)
	case backend.OpRelease:
		return fmt.Sprintf("release %s by %s with grace %v", op.User.ID, op.Holder, op.For)
	case backend.OpDrop:
		return fmt.Sprintf("drop %s by %s", op.User.ID, op.Holder)
	case backend.OpSignOut:
		return fmt.Sprintf("sign out %s", op.User.ID)
	case backend.OpFollow:
		return fmt.Sprintf("follow %s by %s for %v", op.User.ID, op.Holder, op.For)
	case backend.OpSignOff:
		return fmt.Sprintf("sign off %s by %s", op.User.ID, op.Holder)
	case backend.OpBot:
		return fmt.Sprintf("bot %s as %q", op.Guest, op.Bot)
	case backend.OpPeak:
		return fmt.Sprintf("peak of %d at %v since %v", op.Peak.Total, op.Peak.At, op.Peak.Since)
	case backend.OpResetPeak:
		return "reset the peak"
	case backend.OpUpdate:
		return fmt.Sprintf("update %s as %q %s", op.User.ID, op.User.Name, op.User.Status)
	}
	return fmt.Sprintf("operation of kind %d", op.Kind)
}
