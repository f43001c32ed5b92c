package feed

import (
	"fmt"
	"strings"

	"github.com/rollcall-go/rollcall/presence"
)

// A Name names a feed: a kind, a colon, and an id. "inbox:alice" is the inbox of the user alice. All others
// are rooms, such as "thread:42": valid topics of at most [MaxRoomLen] bytes, whose kind is neither inbox nor
// feed.
//
// The name of a tenant's feed contains the tenant, like a user's id inside: acme, the byte 0x1D, inbox:alice.
// Keeper and [Store] accept and return such names. Pages and functions of the site get local names.
type Name string

const inboxKind = "inbox"

// InboxTopic is the topic of a visitor's own inbox, whoever the visitor is (rule F13).
const InboxTopic presence.Topic = inboxKind

// The topics of rooms have one kind: "feed:thread:42" is the topic of "thread:42".
const (
	roomKind   = "feed"
	roomPrefix = roomKind + ":"
)

// MaxRoomLen is the length of the longest name of a room, in bytes.
const MaxRoomLen = presence.MaxTopicLen - len(roomPrefix)

// Inbox returns the name of a user's inbox. The id and the name are those inside.
func Inbox(user presence.UserID) Name {
	return Name(inboxKind + ":" + string(user.Local())).In(user.Tenant())
}

// In returns the name as one of a tenant's. Equal names of two tenants are two feeds. It costs
// an allocation, and nothing for the empty tenant.
func (n Name) In(tenant string) Name { return Name(presence.UserID(n).In(tenant)) }

// Local returns the name without its tenant. It does not allocate.
func (n Name) Local() Name { return Name(presence.UserID(n).Local()) }

// Tenant returns the tenant to which the feed belongs; "" for the empty tenant.
func (n Name) Tenant() string { return presence.UserID(n).Tenant() }

// Owner returns the user to whom an inbox belongs, by the id inside. It is "" for a room.
func (n Name) Owner() presence.UserID {
	if owner := n.owner(); owner != "" {
		return owner.In(n.Tenant())
	}
	return ""
}

// owner is Owner without the tenant. It does not allocate.
func (n Name) owner() presence.UserID {
	if owner, ok := strings.CutPrefix(string(n.Local()), inboxKind+":"); ok {
		return presence.UserID(owner)
	}
	return ""
}

// isRoom reports whether a name is one of a room.
func (n Name) isRoom() bool { return n.owner() == "" }

// Topic returns the topic under which pages follow a feed, inside: "inbox", "feed:thread:42",
// or "acme/inbox" for the tenant acme.
func (n Name) Topic() presence.Topic { return n.localTopic().In(n.Tenant()) }

// localTopic returns the topic as pages know it.
func (n Name) localTopic() presence.Topic {
	if n.owner() != "" {
		return InboxTopic
	}
	return presence.Topic(roomPrefix + string(n.Local()))
}

// Validate returns nil, or an error that is [ErrInvalidName] and says what is wrong.
func (n Name) Validate() error {
	tenant, name := n.Tenant(), n.Local()
	if !presence.ValidTenant(tenant) || tenant == "" && name != n {
		return fmt.Errorf("%w: the tenant is not 1 to %d of a-z 0-9 -", ErrInvalidName, presence.MaxTenantLen)
	}
	if owner := n.owner(); owner != "" {
		if err := (presence.User{ID: owner}).Validate(); err != nil {
			return fmt.Errorf("%w: %w", ErrInvalidName, err)
		}
		return nil
	}
	if len(name) > MaxRoomLen {
		return fmt.Errorf("%w: it has %d bytes, and %d are allowed", ErrInvalidName, len(name), MaxRoomLen)
	}
	if _, err := presence.ParseTopic(string(name)); err != nil {
		return fmt.Errorf("%w: %w", ErrInvalidName, err)
	}
	switch kind := presence.Topic(name).Kind(); {
	case kind == inboxKind || kind == roomKind || len(kind) == len(name):
		return fmt.Errorf("%w: %q is no room such as thread:42", ErrInvalidName, name)
	}
	return nil
}

// NameOf returns the feed of a topic that a visitor follows. Topic and visitor have names inside, of one
// tenant: the topic of another tenant names no feed, and neither does a local topic for a tenant's visitor
// (rule F13). It returns an error that is [presence.ErrGuest] for the inbox of a guest, and
// [presence.ErrInvalidTopic] for a topic that names no feed, such as inbox:bob or feed:inbox:bob.
func NameOf(topic presence.Topic, v presence.Visitor) (Name, error) {
	tenant, local := topic.Tenant(), topic.Local()
	switch room, isRoom := strings.CutPrefix(string(local), roomPrefix); {
	case tenant != v.Tenant || tenant == "" && local != topic:
	case local == InboxTopic && !v.SignedIn():
		return "", presence.ErrGuest
	case local == InboxTopic && v.User.ID.Tenant() == tenant:
		return Inbox(v.User.ID), nil
	case isRoom:
		if name := Name(room).In(tenant); name.Validate() == nil && name.owner() == "" {
			return name, nil
		}
	}
	return "", fmt.Errorf("%w: %q names no feed", presence.ErrInvalidTopic, topic)
}
