package track

import (
	"encoding/base64"
	"strconv"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// A word is what the Status of a member of backend.DevicesTopic says: the user's status, the text
// beside it, and who may see the user. It is in the member, so that a diff carries who may
// see it, and no read looks a setting up.
//
// As text it is "<online><seen><except>.<since>.<status>.<text>.": three letters (e everyone,
// c contacts, n nobody; x somebody is blocked, or -), the moment in Unix milliseconds to the
// base 36, the status, and the text in base64url. It has no space, which a store could not
// keep in a status, and ends with a dot: the "-" at the end of other statuses says Unseen, and
// base64url has one. Example: "ec-.lkj3.busy.aW4gYSBjYWxs.".
type word struct {
	online, seen presence.Audience
	except       bool      // somebody is blocked
	since        time.Time // when more viewers could last begin to see the user, or when the user turned invisible; zero: unknown
	status       presence.Status
	text         string
}

// hidden is the word of a user of whom nothing is known: nobody sees such a user (rule P4).
var hidden = word{online: presence.Nobody, seen: presence.Nobody}

// wordOf returns the word of settings, which come from Settings.At.
func wordOf(s presence.Settings, since time.Time) word {
	w := word{s.Online, s.Seen, s.Except, since, s.Status, s.Text}
	if s.Status == presence.Invisible {
		w.online = presence.Nobody // and seen says who may know when the user left, as others take it
	}
	return w
}

// letterOf returns the letter of an audience.
func letterOf(a presence.Audience) byte { return "ecn"[a.Rank()] }

func audienceOf(letter byte) presence.Audience {
	switch letter {
	case 'e':
		return presence.Everyone
	case 'c':
		return presence.Contacts
	}
	return presence.Nobody
}

// asStatus returns the word as a member's Status.
func (w word) asStatus() presence.Status {
	b := []byte{letterOf(w.online), letterOf(w.seen), '-', '.'}
	if w.except {
		b[2] = 'x'
	}
	if !w.since.IsZero() {
		b = strconv.AppendInt(b, w.since.UnixMilli(), 36)
	}
	b = append(append(b, '.'), w.status...)
	b = append(b, '.')
	return presence.Status(append(base64.RawURLEncoding.AppendEncode(b, []byte(w.text)), '.'))
}

// readWord returns the word of a member's Status. A text that it cannot read is hidden.
func readWord(s presence.Status) word {
	shown, rest, _ := strings.Cut(string(s), ".")
	since, rest, _ := strings.Cut(rest, ".")
	status, rest, _ := strings.Cut(rest, ".")
	encoded, rest, whole := strings.Cut(rest, ".")
	if !whole || rest != "" || len(shown) != 3 {
		return hidden
	}
	w := word{online: audienceOf(shown[0]), seen: audienceOf(shown[1]), except: shown[2] != '-', status: presence.Status(status)}
	if since != "" {
		ms, err := strconv.ParseInt(since, 36, 64)
		if err != nil {
			return hidden
		}
		w.since = time.UnixMilli(ms).UTC()
	}
	if encoded != "" {
		text, err := base64.RawURLEncoding.DecodeString(encoded)
		if err != nil || len(text) > presence.MaxTextLen {
			return hidden
		}
		w.text = string(text)
	}
	if w.status == presence.Invisible {
		w.online = presence.Nobody
	} else {
		w.seen = presence.Narrower(w.seen, w.online)
	}
	return w
}

// shownTo reports whether a viewer sees that the user is online. known is false while nobody
// has said what the viewer is to the user: then only a user whom everybody sees is shown.
func (w word) shownTo(viewer presence.Relation, known bool) bool {
	return admits(w.online, w.except, viewer, known)
}

// seenBy reports whether a viewer sees when the user was last seen.
func (w word) seenBy(viewer presence.Relation, known bool) bool {
	return admits(w.seen, w.except, viewer, known)
}

// narrows reports whether fewer viewers may know of the user than by another word.
func (w word) narrows(than word) bool {
	return w.online.Rank() > than.online.Rank() || w.seen.Rank() > than.seen.Rank() || w.except && !than.except
}

// asks reports whether what a viewer is to the user decides about anything.
func (w word) asks() bool {
	return w.online == presence.Contacts || w.online == presence.Everyone && (w.except || w.seen == presence.Contacts)
}

func admits(audience presence.Audience, except bool, viewer presence.Relation, known bool) bool {
	switch audience {
	case presence.Everyone:
		return !except || known && viewer != presence.Blocked
	case presence.Contacts:
		return known && viewer == presence.Contact
	}
	return false
}
