package feed

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// A Mark changes items of an inbox. Either Seen is set, or As and exactly one of Pos, About
// and UpTo; About and Seen may come with UpTo, which bounds them to places up to there.
type Mark struct {
	As    State   // Unread, Read or Archived
	Seen  bool    // no item changes, but all items in the list count as seen
	Pos   []int64 // the items at these places, at most [MaxMarked]. Places without an item are ignored
	About string  // all listed items about this
	UpTo  int64   // all listed items up to this place
}

// MaxMarked is how many places one Mark may name.
const MaxMarked = 100

// Validate returns nil, or an error that is [ErrInvalidMark].
func (m Mark) Validate() error {
	var problems []error
	bad := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if m.As < Unread || m.As > Archived {
		bad("items are marked as unread, read or archived")
	}
	if len(m.Pos) > MaxMarked {
		bad("there are %d places, and %d are allowed", len(m.Pos), MaxMarked)
	}
	if m.About != "" && !validAbout(m.About) {
		bad("about is not 1 to 128 bytes as of a topic")
	}
	if m.UpTo < 0 {
		bad("upto is negative")
	}
	switch {
	case m.Seen && (len(m.Pos) > 0 || m.About != ""):
		bad("seen is about the whole feed")
	case m.Seen:
	case len(m.Pos) == 0 && m.About == "" && m.UpTo == 0:
		bad("there is none of pos, about and upto")
	case len(m.Pos) > 0 && (m.About != "" || m.UpTo != 0):
		bad("there are both pos and another choice")
	}
	if len(problems) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrInvalidMark, errors.Join(problems...))
}

// A Mute is a user's wish to get no messages of a sort.
type Mute struct {
	Scope string // "*" for everything, "type:reply", "about:thread:42"
	How   How
	Until time.Time // when it ends; zero: never
}

// How says what a mute suppresses. If several mutes apply to a message, the strictest one counts.
type How int

// The kinds of mute.
const (
	MuteNothing How = 0 // lifts the mute
	MuteMail    How = 1 // items come, but are in no digest
	MuteAll     How = 2 // no item comes
)

var hows = [...]string{MuteNothing: "nothing", MuteMail: "mail", MuteAll: "all"}

// String returns the word of requests.
func (h How) String() string {
	if h < 0 || int(h) >= len(hows) {
		return fmt.Sprintf("how(%d)", int(h))
	}
	return hows[h]
}

// ParseHow returns the How of a word, or an error that is [ErrInvalidMute].
func ParseHow(word string) (How, error) {
	for how, w := range hows {
		if w == word {
			return How(how), nil
		}
	}
	return 0, fmt.Errorf("%w: what is muted is all, mail or nothing", ErrInvalidMute)
}

// MaxMutes is how many mutes one user may have.
const MaxMutes = 1_000

// Validate returns nil, or an error that is [ErrInvalidMute].
func (m Mute) Validate() error {
	kind, what, _ := strings.Cut(m.Scope, ":")
	ok := m.Scope == "*" || kind == "type" && validType(what) || kind == "about" && validAbout(what)
	switch {
	case !ok:
		return fmt.Errorf("%w: the scope is *, type:<type> or about:<what>", ErrInvalidMute)
	case m.How < MuteNothing || m.How > MuteAll:
		return fmt.Errorf("%w: what is muted is all, mail or nothing", ErrInvalidMute)
	}
	return nil
}

// Scopes returns the scopes of the mutes that may hold back a message.
func (m Message) Scopes() []string {
	scopes := make([]string, 0, 3)
	if !m.Must {
		scopes = append(scopes, "*", "type:"+m.typed())
	}
	if m.About != "" {
		scopes = append(scopes, "about:"+m.About)
	}
	return scopes
}

func (m Message) typed() string {
	if m.Type == "" {
		return "message"
	}
	return m.Type
}

// WithDefaults returns the message with the defaults of its fields. outbox is the id of its
// row there.
func (m Message) WithDefaults(outbox string) Message {
	if m.ID == "" {
		m.ID = outbox
		if !printable(outbox, maxIDLen) { // any text may be the id of a row
			m.ID = fmt.Sprintf("%x", sha256.Sum256([]byte(outbox)))
		}
	}
	m.Type = m.typed()
	if m.V == 0 {
		m.V = 1
	}
	if m.Name == "" {
		m.Name = string(m.From)
	}
	return m
}

// A Digest is one mail: what a user has not read, and has not got by mail.
type Digest struct {
	// Tenant is the tenant of the user, and User the id as identify returned it. Equal ids in two tenants get
	// two digests.
	Tenant string
	User   presence.UserID

	Items []Item // the newest first, at most 100
	More  int    // how many more there are
	// Key identifies the digest. A digest that is sent again, because it is unknown whether it went out, has
	// the same Key and no further items.
	Key string
	// Waited is how long the digest was last postponed; 0: it was not.
	Waited time.Duration
	// Claim identifies the claimed digest to the Store.
	Claim string
}
