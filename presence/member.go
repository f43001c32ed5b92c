package presence

import (
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/presence/internal/wire"
)

// A Member is a user in a topic's roster.
type Member struct {
	User
	Since time.Time // when the user joined, by the store's clock

	// Active is when the user last viewed a page, or joined, in whole minutes by the
	// store's clock. It is zero unless the topic's [Kind] asks for it.
	Active time.Time

	// Idle is true if nobody is at any of the user's pages in the topic (rule 6 of backend.Store). A store
	// sets it beside the Status that the user chose. A track.Tracker sets it only for a user who is [Online],
	// and then shows the Status [Idle].
	Idle bool
}

// Same reports whether m and o are equal to a store, apart from Since. Any other difference is an update in a
// diff.
func (m Member) Same(o Member) bool {
	return m.SameProfile(o.User) && m.Idle == o.Idle && m.Active.Equal(o.Active)
}

// LooksLike reports whether m and o look the same to other users, apart from Since.
func (m Member) LooksLike(o Member) bool {
	return m.Active.Equal(o.Active) && m.User.looksLike(o.User)
}

// NewestFirst compares members in the order of every roster: by Since, the
// newest first, and equal ones by ID.
func NewestFirst(a, b Member) int {
	if c := b.Since.Compare(a.Since); c != 0 {
		return c
	}
	return strings.Compare(string(a.ID), string(b.ID))
}

// MarshalJSON returns the member as events have it:
// {"name":…,"status":…,"since":…}, then active and the rest of the [Profile] unless they are empty.
func (m Member) MarshalJSON() ([]byte, error) { return m.AppendJSON(nil), nil }

// AppendJSON appends what MarshalJSON returns.
func (m Member) AppendJSON(b []byte) []byte {
	b = append(b, `{"name":`...)
	b = wire.AppendString(b, m.DisplayName())
	b = append(b, `,"status":`...)
	b = wire.AppendString(b, string(m.Status.Shown()))
	b = append(b, `,"since":`...)
	b = wire.AppendTime(b, m.Since)
	if !m.Active.IsZero() {
		b = append(b, `,"active":`...)
		b = wire.AppendTime(b, m.Active)
	}
	return append(m.AppendProfile(b), '}')
}
