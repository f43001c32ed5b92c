package presencetest

import (
	"fmt"
	"reflect"
	"strings"
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

func keep(id presence.UserID, h presence.Holder) backend.Op {
	return backend.Op{Kind: backend.OpKeep, User: presence.User{ID: id}, Holder: h, For: ttl}
}

// idly returns op of pages at which nobody is.
func idly(op backend.Op) backend.Op {
	op.Idle = true
	return op
}

// paged returns op of so many pages.
func paged(op backend.Op, pages int) backend.Op {
	op.Pages = pages
	return op
}

func release(id presence.UserID, h presence.Holder) backend.Op {
	return backend.Op{Kind: backend.OpRelease, User: presence.User{ID: id}, Holder: h, For: grace}
}

// drop is a release without a grace.
func drop(id presence.UserID, h presence.Holder) backend.Op { return lasting(release(id, h), 0) }

func signOut(id presence.UserID) backend.Op {
	return backend.Op{Kind: backend.OpSignOut, User: presence.User{ID: id}}
}

func signOff(id presence.UserID) backend.Op {
	return backend.Op{Kind: backend.OpSignOff, User: presence.User{ID: id}}
}

func bot(id, name string) backend.Op {
	return backend.Op{Kind: backend.OpBot, Guest: id, Bot: name, For: period}
}

func peak(p backend.Peak) backend.Op { return backend.Op{Kind: backend.OpPeak, Peak: p} }

// resetPeak starts the record anew.
var resetPeak = peak(backend.Peak{})

func update(u presence.User) backend.Op {
	return backend.Op{Kind: backend.OpUpdate, User: u}
}

func status(id presence.UserID, s presence.Status) backend.Op {
	return update(presence.User{ID: id, Status: s})
}

// lasting returns op with another duration.
func lasting(op backend.Op, d time.Duration) backend.Op {
	op.For = d
	return op
}

// past returns op whose moment was so long ago: of a join or keep, when the page joined.
func past(op backend.Op, ago time.Duration) backend.Op {
	if op.Kind == backend.OpJoin || op.Kind == backend.OpKeep {
		op.Joined = ago
	} else {
		op.Ago = ago
	}
	return op
}

// revised returns op as the word of its holder with a revision.
func revised(op backend.Op, rev int64) backend.Op {
	op.Rev = rev
	return op
}

// batch returns one topic's batch.
func batch(topic presence.Topic, ops ...backend.Op) []backend.Batch {
	return []backend.Batch{{Topic: topic, Ops: ops}}
}

var opNames = map[backend.OpKind]string{
	backend.OpJoin: "join", backend.OpSeen: "page view", backend.OpGuest: "guest", backend.OpHeartbeat: "heartbeat",
	backend.OpRelease: "release", backend.OpSignOut: "sign out", backend.OpUpdate: "update",
	backend.OpKeep: "keep", backend.OpForgetGuest: "forget guest", backend.OpBot: "bot", backend.OpPeak: "peak",
	backend.OpSignOff: "sign off",
}

// opString returns an operation as failure messages name it.
func opString(op backend.Op) string {
	text := opNames[op.Kind]
	say := func(format string, value any) {
		if !reflect.ValueOf(value).IsZero() {
			text += fmt.Sprintf(format, value)
		}
	}
	say(" %s", op.User.ID)
	say(" by %s", op.Holder)
	say(" for %v", op.For)
	say(" as %q", op.User.Name)
	say(" who is %s", op.User.Status)
	say(" of revision %d", op.User.Rev)
	say(" with %d pages", op.Pages)
	say(", idle: %v", op.Idle)
	say(" %s", op.Guest)
	say(" named %q", op.Bot)
	say(" %+v", op.Peak)
	say(" %v ago", op.Ago)
	say(" joined %v ago", op.Joined)
	say(" as word %d", op.Rev)
	say(" of generation %d", op.Gen)
	return text
}

// describe returns batches as failure messages name them.
func describe(script [][]backend.Op) string {
	var batches []string
	for _, ops := range script {
		var words []string
		for _, op := range ops {
			words = append(words, opString(op))
		}
		batches = append(batches, "["+strings.Join(words, ", ")+"]")
	}
	return strings.Join(batches, " ")
}
