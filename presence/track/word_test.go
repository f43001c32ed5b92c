package track_test

import (
	"strings"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/track"
)

// A word comes back as it was, and fits into a store's record: no space, and no "-" at its
// end.
func TestWordRoundTrip(t *testing.T) {
	for _, online := range []presence.Audience{"", presence.Everyone, presence.Contacts, presence.Nobody} {
		for _, seen := range []presence.Audience{"", presence.Everyone, presence.Contacts, presence.Nobody} {
			for _, status := range []presence.Status{"", presence.Online, presence.Away, presence.Busy, presence.Invisible} {
				for _, text := range []string{"", "in a call", "ünï ~>?", strings.Repeat("x", presence.MaxTextLen)} {
					s := presence.Settings{Status: status, Text: text, Online: online, Seen: seen, Except: len(text) > 3}
					word := track.Word(s, time.UnixMilli(1_700_000_000_123))
					if strings.ContainsAny(word, " \n|") || strings.HasSuffix(word, "-") {
						t.Errorf("%+v: got %q, which a store cannot keep", s, word)
					}
					if again := track.RewriteWord(word); again != word {
						t.Errorf("%+v: got %q, and %q after reading it", s, word, again)
					}
				}
			}
		}
	}
}

// P3, P4, P5: who sees what, in one table. Unknown is the strictest.
func TestWhoSees(t *testing.T) {
	const stranger, contact, blocked = presence.Stranger, presence.Contact, presence.Blocked
	e, c, n := presence.Everyone, presence.Contacts, presence.Nobody
	for _, tt := range []struct {
		s            presence.Settings
		viewer       presence.Relation
		known        bool
		online, seen bool
	}{
		{presence.Settings{}, stranger, false, true, true},
		{presence.Settings{}, blocked, true, true, true}, // Except says that there is a block
		{presence.Settings{Except: true}, stranger, true, true, true},
		{presence.Settings{Except: true}, blocked, true, false, false},
		{presence.Settings{Except: true}, stranger, false, false, false},
		{presence.Settings{Online: c}, stranger, true, false, false},
		{presence.Settings{Online: c}, contact, true, true, true},
		{presence.Settings{Online: c}, contact, false, false, false},
		{presence.Settings{Online: c}, blocked, true, false, false},
		{presence.Settings{Online: n}, contact, true, false, false},
		{presence.Settings{Seen: n}, contact, true, true, false},
		{presence.Settings{Seen: c}, contact, true, true, true},
		{presence.Settings{Seen: c}, stranger, true, true, false},
		{presence.Settings{Online: c, Seen: e}, stranger, true, false, false}, // P5
		{presence.Settings{Online: n, Seen: e}, contact, true, false, false},
		{presence.Settings{Status: presence.Invisible, Online: e, Seen: e}, contact, true, false, true}, // looks like leaving
		{presence.Settings{Status: presence.Invisible, Online: e, Seen: c}, stranger, true, false, false},
		{presence.Settings{Status: presence.Invisible, Online: n, Seen: e}, contact, true, false, false},
		{presence.Settings{Online: "friends"}, contact, true, false, false},
		{presence.Settings{Seen: "friends"}, contact, true, true, false},
	} {
		online, seen := track.Sees(track.Word(tt.s, time.Time{}), tt.viewer, tt.known)
		if online != tt.online || seen != tt.seen {
			t.Errorf("%+v for viewer %d, known %v: got online %v, last seen %v, want %v, %v", tt.s, tt.viewer, tt.known, online, seen, tt.online, tt.seen)
		}
	}
}

// Whatever a store gives back, nobody sees a user whose word cannot be read.
func FuzzWord(f *testing.F) {
	for _, seed := range []string{"", "online", "eee.", "eee...online.", "ee-..online..", "ee-.zz.busy.aW4.", "eex..online.-.", "cc-..invisible..", "ee-.!.online.."} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, word string) {
		online, seen := track.Sees(word, presence.Contact, true)
		if seen && !online && !strings.Contains(word, ".invisible.") {
			t.Errorf("%q: the last seen is shown of a user who is hidden", word)
		}
		if strings.Count(word, ".") != 4 && online {
			t.Errorf("%q shows a user", word)
		}
	})
}
