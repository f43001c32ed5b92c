package redisstore_test

import (
	"strings"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/internal/golden"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/redisstore"
)

// A visibility comes back as it was, and fits into a user's line: no space, and no "-" at its end.
func TestVisibilityRoundTrip(t *testing.T) {
	for _, online := range []presence.Audience{"", presence.Everyone, presence.Contacts, presence.Nobody} {
		for _, seen := range []presence.Audience{"", presence.Everyone, presence.Contacts, presence.Nobody} {
			for _, status := range []presence.Status{"", presence.Online, presence.Away, presence.Busy, presence.Invisible} {
				for _, text := range []string{"", "in a call", "ünï ~>?", strings.Repeat("x", presence.MaxTextLen)} {
					s := presence.Settings{Status: status, Text: text, Online: online, Seen: seen, Except: len(text) > 3}
					v := s.At(time.Now()).Visibility(time.UnixMilli(1_700_000_000_123))
					line := redisstore.EncodeStatus(presence.User{Visibility: &v})
					if strings.ContainsAny(line, " \n|") || strings.HasSuffix(line, "-") {
						t.Errorf("%+v: got %q, which a line cannot have", s, line)
					}
					status, again, ok := redisstore.DecodeStatus(line)
					if !ok || status != presence.Online || !again.Equal(&v) {
						t.Errorf("%+v: got %q, and %+v after reading it, want %+v", s, line, again, v)
					}
				}
			}
		}
	}
}

// The form is that of the version that wrote the golden file.
func TestGoldenVisibility(t *testing.T) {
	s := presence.Settings{Status: presence.Busy, Text: "in a call", Online: presence.Everyone, Seen: presence.Contacts, Except: true}
	v := s.Visibility(goldenTime.AddDate(1, 0, 0))
	golden.Wrote(t, "device-visibility", redisstore.EncodeStatus(presence.User{Visibility: &v}))
	if _, got, _ := redisstore.DecodeStatus(golden.Read(t, "device-visibility")); !got.Equal(&v) {
		t.Errorf("got %+v, want %+v", got, v)
	}
}

// Whatever a server gives back, nobody sees a user whose visibility cannot be read.
func FuzzVisibility(f *testing.F) {
	for _, seed := range []string{"", "online", "eee.", "eee...online.", "ee-..online..", "ee-.zz.busy.aW4.", "eex..online.-.", "cc-..invisible..", "ee-.!.online.."} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		status, v, ok := redisstore.DecodeStatus(text)
		if !ok || v == nil {
			if ok && strings.Contains(string(status), ".") {
				t.Errorf("%q is the status %q", text, status)
			}
			return
		}
		online, seen := v.ShownTo(presence.Contact, true), v.SeenBy(presence.Contact, true)
		if seen && !online && !strings.Contains(text, ".invisible.") {
			t.Errorf("%q: the last seen is shown of a user who is hidden", text)
		}
		if strings.Count(text, ".") != 4 && online {
			t.Errorf("%q shows a user", text)
		}
	})
}
