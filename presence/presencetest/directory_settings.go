package presencetest

import (
	"errors"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// chosen are settings in which no field is empty, but for Except.
func (t *directoryTrial) chosen() presence.Settings {
	return presence.Settings{
		Status: presence.Busy, Until: t.moment(time.Hour), Text: `at "lunch" – it's 100% 🍜`,
		Online: presence.Contacts, Seen: presence.Nobody, Later: presence.Contacts,
	}
}

func settingsCases() []directoryCase {
	return []directoryCase{
		{"rule D1", "what was set is read", func(t *directoryTrial) {
			t.set("alice", t.chosen())
			t.wantSettings("alice", t.chosen())
			for _, status := range []presence.Status{"", presence.Online, presence.Away, presence.Busy, presence.Invisible} {
				t.set("bob", presence.Settings{Status: status})
				t.wantSettings("bob", presence.Settings{Status: status})
			}
			for _, audience := range []presence.Audience{"", presence.Everyone, presence.Contacts, presence.Nobody} {
				t.set("bob", presence.Settings{Online: audience})
				t.wantSettings("bob", presence.Settings{Online: audience})
				t.set("bob", presence.Settings{Seen: audience})
				t.wantSettings("bob", presence.Settings{Seen: audience})
				t.set("bob", presence.Settings{Later: audience})
				t.wantSettings("bob", presence.Settings{Later: audience})
			}
			t.wantSettings("alice", t.chosen())
		}},
		{"rule D1", "all is replaced", func(t *directoryTrial) {
			t.set("alice", t.chosen())
			t.set("alice", presence.Settings{})
			t.wantSettings("alice", presence.Settings{})
		}},
		{"rule D1", "what was never set is zero", func(t *directoryTrial) {
			t.set("alice", t.chosen())
			t.wantSettings("bob", presence.Settings{})
			t.saw("carol", t.moment(-time.Hour))
			t.wantSettings("carol", presence.Settings{})
			t.befriend("dave", "alice")
			t.wantSettings("dave", presence.Settings{})
			if got := t.settings(); len(got) != 0 {
				t.Errorf("of nobody: got %v, want nothing", got)
			}
		}},
		{"rule D1", "a time long past is kept", func(t *directoryTrial) {
			for _, until := range []time.Time{t.moment(-time.Hour), t.moment(100 * 365 * 24 * time.Hour)} {
				t.set("alice", presence.Settings{Status: presence.Away, Until: until})
				t.wantSettings("alice", presence.Settings{Status: presence.Away, Until: until})
			}
			t.set("alice", presence.Settings{Status: presence.Away, Until: time.Unix(0, 0)})
			if got := t.settings("alice")[0].Until; got.IsZero() || got.After(t.moment(-time.Hour)) {
				t.Errorf("a status that ended in 1970: got %v, want a time long ago", got)
			}
		}},
		{"rule D1", "the longest text is kept", func(t *directoryTrial) {
			s := presence.Settings{Text: strings.Repeat("é", presence.MaxTextLen/2)}
			t.set("alice", s)
			t.wantSettings("alice", s)
		}},
		{"rule D1", "answers are in order", func(t *directoryTrial) {
			users := userIDs("user", 500)
			for i := 0; i < len(users); i += 7 {
				t.set(users[i], presence.Settings{Text: string(users[i])})
			}
			users[3], users[4] = users[14], users[14] // twice, and before itself
			for i, got := range t.settings(users...) {
				want := presence.Settings{}
				if i%7 == 0 {
					want.Text = string(users[i])
				}
				if i == 3 || i == 4 {
					want.Text = string(users[14])
				}
				if !sameSettings(got, want) {
					t.Errorf("answer %d, of %q: got %+v, want %+v", i, users[i], got, want)
				}
			}
		}},
		{"rule D1", "Except is what the blocks say", func(t *directoryTrial) {
			s := t.chosen()
			s.Except = true
			t.set("alice", s)
			t.wantSettings("alice", t.chosen())

			blocks := func() presence.Settings { s := t.chosen(); s.Except = true; return s }
			t.must(t.Block("alice", "bob", true))
			t.must(t.Block("alice", "carol", true))
			t.wantSettings("alice", blocks())
			t.set("alice", t.chosen())
			t.wantSettings("alice", blocks())
			t.wantSettings("bob", presence.Settings{})
			t.must(t.Block("alice", "bob", false))
			t.wantSettings("alice", blocks())
			t.must(t.Block("alice", "carol", false))
			t.wantSettings("alice", t.chosen())

			t.must(t.Block("dave", "alice", true)) // who chose nothing
			t.wantSettings("dave", presence.Settings{Except: true})
			t.befriend("erin", "alice")
			t.wantSettings("erin", presence.Settings{})
		}},
		{"rule D2", "settings that are not valid change nothing", func(t *directoryTrial) {
			t.set("alice", t.chosen())
			for _, s := range []presence.Settings{
				{Status: "asleep"}, {Online: "friends"}, {Seen: "Everyone"},
				{Text: strings.Repeat("a", presence.MaxTextLen+1)}, {Text: "a\x00b"}, {Text: "\xff"},
			} {
				s.Rev = t.settings("alice")[0].Rev
				if _, err := t.SetSettings(t.Context(), "alice", s); !errors.Is(err, presence.ErrInvalidSettings) {
					t.Errorf("%+v: got %v, want %v", s, err, presence.ErrInvalidSettings)
				}
			}
			t.wantSettings("alice", t.chosen())
		}},
		{"rule D1", "each change has a greater revision", func(t *directoryTrial) {
			rev := t.settings("alice")[0].Rev
			if rev != 0 {
				t.Errorf("who chose nothing: got the revision %d, want 0", rev)
			}
			for i, change := range []func(){
				func() { t.set("alice", t.chosen()) },
				func() { t.must(t.Block("alice", "bob", true)) },
				func() { t.set("alice", t.chosen()) },
				func() { t.must(t.Block("alice", "bob", false)) },
			} {
				change()
				now := t.settings("alice")[0].Rev
				if now <= rev || t.lastSeen("alice")[0].Settings.Rev != now {
					t.Errorf("change %d: got the revision %d after %d, want a greater one, also beside last seen", i, now, rev)
				}
				rev = now
			}
			t.befriend("alice", "carol")
			t.saw("alice", t.moment(-time.Hour))
			if now := t.settings("alice")[0].Rev; now != rev {
				t.Errorf("without a change: got the revision %d after %d, want the same", now, rev)
			}
		}},
		{"rule D2", "only the settings that are named are replaced", func(t *directoryTrial) {
			t.set("alice", t.chosen())
			rev := t.settings("alice")[0].Rev
			for _, other := range []int64{0, rev - 1, rev + 1} {
				if _, err := t.SetSettings(t.Context(), "alice", presence.Settings{Status: presence.Away, Rev: other}); !errors.Is(err, presence.ErrLaterChoice) {
					t.Errorf("in place of revision %d, and it is %d: got %v, want %v", other, rev, err, presence.ErrLaterChoice)
				}
			}
			t.wantSettings("alice", t.chosen())
			if _, err := t.SetSettings(t.Context(), "bob", presence.Settings{Status: presence.Away, Rev: rev}); !errors.Is(err, presence.ErrLaterChoice) {
				t.Errorf("of who was forgotten meanwhile: got %v, want %v", err, presence.ErrLaterChoice)
			}
			t.wantSettings("bob", presence.Settings{})
		}},
		{"rule D2", "the rest stays", func(t *directoryTrial) {
			t.saw("alice", t.moment(-time.Hour))
			t.befriend("alice", "bob")
			t.must(t.Block("alice", "carol", true))
			t.set("alice", t.chosen())
			t.wantSeen("alice", t.moment(-time.Hour))
			t.wantContacts("alice", 10, "bob")
			t.wantRelation("alice", "carol", presence.Blocked)
		}},
		{"rule D2", "an ended context is an error, and changes nothing", func(t *directoryTrial) {
			t.set("alice", t.chosen())
			ctx := ended(t)
			_, settings := t.Settings(ctx, "alice")
			_, contacts := t.Contacts(ctx, "alice", 10)
			_, relations := t.Relations(ctx, presence.Pair{User: "alice", Viewer: "bob"})
			_, lastSeen := t.LastSeen(ctx, "alice")
			_, set := t.SetSettings(ctx, "alice", t.settings("alice")[0])
			for name, err := range map[string]error{
				"Settings": settings, "Contacts": contacts, "Relations": relations, "LastSeen": lastSeen,
				"SetSettings": set,
				"Saw":         t.Saw(ctx, map[presence.UserID]time.Time{"alice": t.moment(-time.Hour)}),
			} {
				if err == nil {
					t.Errorf("%s: got no error", name)
				}
			}
			t.wantSettings("alice", t.chosen())
			t.wantSeen("alice", time.Time{})
		}},
	}
}
