package presence

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// An Audience is the group of viewers who may know something about a user.
type Audience string

// The audiences, the widest first.
const (
	Everyone Audience = "everyone"
	Contacts Audience = "contacts" // users on the contact list of the user who is seen
	Nobody   Audience = "nobody"
)

// ParseAudience returns s as an Audience, or [ErrInvalidSettings].
func ParseAudience(s string) (Audience, error) {
	switch a := Audience(s); a {
	case Everyone, Contacts, Nobody:
		return a, nil
	}
	return "", fmt.Errorf("%w: an audience is everyone, contacts or nobody", ErrInvalidSettings)
}

// MaxTextLen bounds Settings.Text, in bytes.
const MaxTextLen = 100

// Settings are what a user chose, until the user chooses again. The zero value is that of a
// user who chose nothing.
type Settings struct {
	Status Status    // empty: Online
	Until  time.Time // when Status and Text end by themselves; zero: never
	Text   string    // beside the status: at most MaxTextLen bytes of UTF-8 without control characters
	Online Audience  // who sees that the user is online. Empty: Everyone
	Seen   Audience  // who sees when the user was last seen; it is never wider than Online. Empty: Everyone
	Except bool      // somebody is blocked, so Relations decides for each viewer

	// Rev is the revision of the settings. The directory gives each change of a user's settings, and of Except, a
	// greater one. Of two settings of one user, those with the greater Rev are the later ones, in whatever order
	// they come to a node. 0: the user chose nothing yet.
	Rev int64 `json:",omitempty"`

	// Later is a wider Seen that the user chose while invisible. Seen is it as soon as the status is another:
	// a wider Seen at once would show to others that the user is there. Empty: none.
	Later Audience `json:",omitempty"`
}

// Validate returns nil, or an error that is [ErrInvalidSettings] and names the field.
func (s Settings) Validate() error {
	if s.Status != "" {
		if _, err := ParseStatus(string(s.Status)); err != nil {
			return fmt.Errorf("%w: %w", ErrInvalidSettings, err)
		}
	}
	for _, a := range []Audience{s.Online, s.Seen, s.Later} {
		if a != "" {
			if _, err := ParseAudience(string(a)); err != nil {
				return err
			}
		}
	}
	switch {
	case len(s.Text) > MaxTextLen:
		return fmt.Errorf("%w: the text has %d bytes, and %d are allowed", ErrInvalidSettings, len(s.Text), MaxTextLen)
	case !printable(s.Text) || !utf8.ValidString(s.Text):
		return fmt.Errorf("%w: the text is not UTF-8 without control characters", ErrInvalidSettings)
	}
	return nil
}

// At returns the settings as they apply at a moment: a status that has ended is removed, every default is
// filled in, Later counts unless the status is Invisible, and Seen is no wider than Online.
func (s Settings) At(now time.Time) Settings {
	if !s.Until.IsZero() && !s.Until.After(now) {
		s.Status, s.Text, s.Until = "", "", time.Time{}
	}
	if s.Status == "" {
		s.Status = Online
	}
	if s.Status != Invisible {
		s = s.Chosen()
	}
	if s.Online == "" {
		s.Online = Everyone
	}
	if s.Seen == "" {
		s.Seen = Everyone
	}
	s.Seen = Narrower(s.Seen, s.Online)
	return s
}

// Chosen returns the settings as the user chose them: Seen is Later, if there is one.
func (s Settings) Chosen() Settings {
	if s.Later != "" {
		s.Seen, s.Later = s.Later, ""
	}
	return s
}

// Hides reports whether no viewer may see that the user is online. s must come from At.
func (s Settings) Hides() bool { return s.Status == Invisible || s.Online == Nobody }

// Narrower returns the audience with fewer viewers.
func Narrower(a, b Audience) Audience {
	if a.Rank() > b.Rank() {
		return a
	}
	return b
}

// Rank is higher for an audience with fewer viewers. An unknown audience ranks as Nobody (rule P4).
func (a Audience) Rank() int {
	switch a {
	case Everyone:
		return 0
	case Contacts:
		return 1
	}
	return 2
}

// A Pair asks for the [Relation] of a viewer to a user.
type Pair struct {
	User   UserID // the user who is seen
	Viewer UserID // the user who looks
}

// A Relation says on which of a user's lists a viewer is.
type Relation int8

// The relations. The zero value is that of a viewer who is on no list.
const (
	Stranger Relation = iota // on no list of the user
	Contact                  // on the user's contact list
	Blocked                  // the user wants to be unseen by the viewer
)

// A Seen says when a user was last seen, and which settings decide who may know it.
type Seen struct {
	At       time.Time // zero: never
	Settings Settings
}

// A Directory is the site's lasting knowledge of people: settings, contacts and last seen.
// The package sqlstore has one; a site with tables of its own implements these methods.
// All methods may be called concurrently, and end when ctx does. An answer has one element
// for each argument, in order. A user whom the directory does not know has zero settings, no
// contacts and no last seen; that is no error.
//
// The Tracker never calls it on the way of a page. It asks in batches, and takes whatever a
// failed call would have said for the strictest answer (rule P4).
//
// RunDirectory of package presencetest checks these rules:
//
//	D1 Settings returns what SetSettings was last given for a user, with the Except that the
//	   blocks say. What was never set is zero. Each change has a greater Rev than all before it, also
//	   that of a user who was forgotten meanwhile.
//	D2 SetSettings changes nothing on an error, and keeps last seen, contacts and blocks. It returns
//	   [ErrLaterChoice] if the settings have another Rev than those that are to be replaced: so a call
//	   that was given up, and is carried out late, undoes nothing that was chosen since.
//	D3 Contacts returns at most most users whom the user lists, the dearest first, and no one
//	   who is blocked.
//	D4 Relations answers by the list of Pair.User alone. Blocked wins over Contact.
//	D5 Saw keeps the later of two moments (rule P12), in any order and any number of times,
//	   and changes no settings.
//	D6 LastSeen returns the moment and the settings of one row.
//	D7 Ids are compared byte by byte: case, accents, quotes and wildcards mean nothing.
//	D8 Users of one tenant are unknown to another (rule P14).
type Directory interface {
	// Settings returns what users chose. At most 500 users. Cost: one query.
	Settings(ctx context.Context, users ...UserID) ([]Settings, error)

	// SetSettings replaces what a user chose, except Except, which the blocks decide. s.Rev is the revision of
	// the settings that s replaces. It returns the revision of the new ones. Cost: one statement.
	SetSettings(ctx context.Context, user UserID, s Settings) (rev int64, err error)

	// Contacts returns whom a user lists, the dearest first. Cost: one query.
	Contacts(ctx context.Context, user UserID, most int) ([]UserID, error)

	// Relations returns what each viewer is to each user. At most 1,000 pairs.
	// Cost: one query.
	Relations(ctx context.Context, pairs ...Pair) ([]Relation, error)

	// Saw keeps when users were last seen, unless a later moment is kept. The same moment
	// may come twice. At most 500 users. Cost: one statement.
	Saw(ctx context.Context, at map[UserID]time.Time) error

	// LastSeen returns when users were last seen, with their settings. At most 1,000 users.
	// Cost: one query.
	LastSeen(ctx context.Context, users ...UserID) ([]Seen, error)
}

// Clone returns a copy that shares no memory with s.
func (s Settings) Clone() Settings {
	s.Status, s.Text = Status(strings.Clone(string(s.Status))), strings.Clone(s.Text)
	s.Online, s.Seen = Audience(strings.Clone(string(s.Online))), Audience(strings.Clone(string(s.Seen)))
	s.Later = Audience(strings.Clone(string(s.Later)))
	return s
}
