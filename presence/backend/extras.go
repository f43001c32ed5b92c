package backend

import (
	"crypto/sha1"
	"encoding/hex"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// OtherBots is the name under which crawlers without a name of their own are counted.
const OtherBots = "Other bots"

// Limits of the bots that a store counts in one topic.
const (
	MaxBots    = 512 // crawlers that are counted one by one; further ones share places: see [SharedBot]
	MaxBotName = 32  // bytes of a bot's name, of printable ASCII without quotes and backslash
)

// SharedBot returns the place of a bot that comes while [MaxBots] others are counted, as an id: one of 4,096.
// A thousand bots take some 890 places.
func SharedBot(id string) string {
	sum := sha1.Sum([]byte(id)) // as Redis has it in scripts; it protects nothing
	return "~" + hex.EncodeToString(sum[:2])[:3]
}

// ValidBotName reports whether s can be a bot's name: 1 to [MaxBotName] bytes of printable
// ASCII without quotes and backslash.
func ValidBotName(s string) bool {
	return s != "" && len(s) <= MaxBotName && !strings.ContainsFunc(s, func(r rune) bool {
		return r < ' ' || r > '~' || strings.ContainsRune(`"'\`, r)
	})
}

// A Peak is the most users who were online in a topic at one time.
type Peak struct {
	Total int       // visible users online then; with guests, if the Kind says so
	At    time.Time // when
	Since time.Time // when the record was last reset; zero: never
}

// Better returns the one of two records that counts: the one that was reset later; if both were reset
// together, the larger one; if they are equal, the earlier one.
func (p Peak) Better(q Peak) Peak {
	switch {
	case !p.Since.Equal(q.Since):
		if p.Since.After(q.Since) {
			return p
		}
		return q
	case p.Total != q.Total:
		if p.Total > q.Total {
			return p
		}
		return q
	case q.At.IsZero() || !p.At.IsZero() && !p.At.After(q.At):
		return p
	}
	return q
}

// A RecentQuery asks for a page of recent users. If Within or Limit is out of its bounds,
// track.Tracker.Recent returns [presence.ErrInvalidQuery], and [Store.Recent] takes the nearest value.
type RecentQuery struct {
	// Within is how far back the page reaches, at most [MaxWithin]. Zero: the users who
	// viewed a page in the current or the old period, as in Counts.Recent.
	Within time.Duration
	After  string // the Next of the page before; empty: the first page
	Limit  int    // how many users the page has at most, 1 to 1,000

	// Users asks for these users, up to 1,000, in place of a page. The answer has one RecentUser for each, in
	// the order of Users. The RecentUser of a user whom the topic does not remember by name is zero (rule 9). Total and
	// Next of the answer are zero. The other fields of the query do not count. Only a [Store] takes Users.
	Users []presence.UserID
}

// MaxWithin is how long a store remembers recent users by name.
const MaxWithin = 24 * time.Hour

// A RecentPage is a page of recent users, the latest active first, and by ID if two were active at the same
// moment. A page begins after the position of the previous page's last user. A user who becomes active
// meanwhile moves to the front: so no user comes twice, but such a user may be on no page.
type RecentPage struct {
	// Total is the number of users on all pages. If Within is zero it is Counts.Recent,
	// which includes users whose names are not kept or were forgotten. The total of
	// track.Tracker.Recent leaves out the users whom their settings hide.
	Total int
	Users []RecentUser // visible ones, whose name the store remembers
	// Next is where the next page begins, as an opaque text; empty on the last page. A page
	// may have fewer users than Limit although Next is not empty.
	Next string
}

// A RecentUser is a user who is or was in a topic.
type RecentUser struct {
	presence.User           // the newest profile; Status is empty unless the user is online
	Active        time.Time // the latest page view, join, or proof of life before a leave; by the store's clock
	Online        bool
	Idle          bool // of a user who is online: as Member.Idle
}
