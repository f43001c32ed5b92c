package presencetest

import (
	"fmt"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// lookalikes are ids that differ, but not to everybody: to a database with another
// collation, a pattern, a number, a quote that is not escaped, or a trimmed space.
func lookalikes() []presence.UserID {
	long := strings.Repeat("x", presence.MaxUserIDLen-1)
	return []presence.UserID{
		"bob", "Bob", "BOB", "böb", "bo\u0308b", "bob ", " bob", "bo_", "bo%", "b%", "_o_", "%",
		"b'b", "b''b", `b"b`, `b""b`, `b\b`, `b\\b`, "'; DROP TABLE rollcall_people; --", "' OR '1'='1",
		"1", "01", "1.0", "1e0", "0x1", "true", "null", "NULL", "{}", "[]", "{a,b}", "a,b", `["a"]`, "$1", "?1", ":a", "@a",
		"ß", "ss", "straße", "strasse", "İ", "i", "I", "ı", "ﬁ", "fi", "🙂", "😀", "\u200bbob", "bob\u200b", "\u00a0",
		"\u2028", "<bob>", "&bob;", `\u0062ob`, presence.UserID(long + "a"), presence.UserID(long + "b"),
		presence.UserID(strings.Repeat("🙂", presence.MaxUserIDLen/4)), ".", "..", "a/b", "a:b", "-", "--",
	}
}

func apartCases() []directoryCase {
	return []directoryCase{
		{"rule D7", "ids are compared byte by byte", func(t *directoryTrial) {
			ids := lookalikes()
			at := make(map[presence.UserID]time.Time)
			for i, id := range ids {
				if i%2 == 0 {
					t.set(id, presence.Settings{Text: fmt.Sprint(i)})
					at[id] = t.moment(-100 * time.Hour).Add(time.Duration(i) * time.Minute)
				}
			}
			t.must(t.Saw(t.Context(), at))
			for i, got := range t.lastSeen(ids...) {
				want := presence.Seen{}
				if i%2 == 0 {
					want = presence.Seen{At: at[ids[i]], Settings: presence.Settings{Text: fmt.Sprint(i)}}
				}
				if !sameMoment(got.At, want.At) || !sameSettings(got.Settings, want.Settings) {
					t.Errorf("%q: got %+v, want %+v", ids[i], got, want)
				}
			}
		}},
		{"rule D7", "so are those of contacts", func(t *directoryTrial) {
			ids := lookalikes()
			var listed []presence.UserID
			var there, back []presence.Pair
			for i, id := range ids {
				switch i % 3 {
				case 0:
					t.befriend("hub", id)
					t.befriend(id, "hub")
					listed = append(listed, id)
				case 1:
					t.must(t.Block("hub", id, true))
					t.must(t.Block(id, "hub", true))
				}
				there = append(there, presence.Pair{User: "hub", Viewer: id})
				back = append(back, presence.Pair{User: id, Viewer: "hub"})
			}
			t.wantContacts("hub", 500, listed...)
			backs := t.relations(back...)
			for i, got := range t.relations(there...) {
				want := []presence.Relation{presence.Contact, presence.Blocked, presence.Stranger}[i%3]
				if got != want || backs[i] != want {
					t.Errorf("%q: got %d and %d, want %d", ids[i], got, backs[i], want)
				}
			}
			for i, got := range t.settings(ids...) {
				if want := i%3 == 1; got.Except != want {
					t.Errorf("Except of %q: got %t, want %t", ids[i], got.Except, want)
				}
			}
		}},
		{"rule D8", "tenants share nothing (rules P14, T3)", func(t *directoryTrial) {
			in := func(tenant string) func(presence.UserID) presence.UserID {
				return func(id presence.UserID) presence.UserID { return id.In(tenant) }
			}
			here, other, alike := in("acme"), in("globex"), in("acme-2")
			t.set(here("alice"), t.chosen())
			t.saw(here("alice"), t.moment(-time.Hour))
			t.befriend(here("alice"), here("bob"))
			t.must(t.Block(here("alice"), here("carol"), true))
			nothing := func(id func(presence.UserID) presence.UserID) {
				t.Helper()
				t.wantSettings(id("alice"), presence.Settings{})
				t.wantSeen(id("alice"), time.Time{})
				t.wantContacts(id("alice"), 10)
				t.wantRelation(id("alice"), id("bob"), presence.Stranger)
				t.wantRelation(id("alice"), id("carol"), presence.Stranger)
			}
			nothing(in(""))
			nothing(other)
			nothing(alike)
			t.set(other("alice"), presence.Settings{Text: "elsewhere"})
			t.saw(other("alice"), t.moment(-time.Minute))
			t.must(t.Block(other("alice"), other("bob"), true))
			t.befriend(other("alice"), other("dave"))
			t.must(t.Unfriend(other("alice"), other("bob")))
			t.must(t.Block(other("alice"), other("carol"), false))
			nothing(in(""))
			nothing(alike)
			want := t.chosen()
			want.Except = true
			t.wantSettings(here("alice"), want)
			t.wantSeen(here("alice"), t.moment(-time.Hour))
			t.wantContacts(here("alice"), 10, here("bob"))
			t.wantRelation(here("alice"), here("bob"), presence.Contact)
			t.wantRelation(here("alice"), here("carol"), presence.Blocked)
			t.must(t.Block(other("alice"), other("bob"), false))
			t.wantSettings(here("alice"), want)
		}},
		{"rule D8", "one call answers for users of several tenants (rule T3)", func(t *directoryTrial) {
			var users []presence.UserID
			var pairs []presence.Pair
			at := make(map[presence.UserID]time.Time)
			tenants := []string{"globex", "", "acme", "acme-2", "nobody"}
			for i, tenant := range tenants {
				alice, bob := presence.UserID("alice").In(tenant), presence.UserID("bob").In(tenant)
				users = append(users, alice)
				pairs = append(pairs, presence.Pair{User: alice, Viewer: bob})
				if tenant == "nobody" {
					continue
				}
				t.set(alice, presence.Settings{Text: fmt.Sprint(i)})
				at[alice] = t.moment(-time.Duration(i+1) * time.Hour)
				switch i % 3 {
				case 1:
					t.befriend(alice, bob)
				case 2:
					t.must(t.Block(alice, bob, true))
				}
			}
			t.must(t.Saw(t.Context(), at))
			settings, relations := t.settings(users...), t.relations(pairs...)
			for i, got := range t.lastSeen(users...) {
				want, relation := presence.Settings{Text: fmt.Sprint(i), Except: i%3 == 2}, []presence.Relation{presence.Stranger, presence.Contact, presence.Blocked}[i%3]
				if tenants[i] == "nobody" {
					want, relation = presence.Settings{}, presence.Stranger
				}
				if !sameMoment(got.At, at[users[i]]) || !sameSettings(got.Settings, want) || !sameSettings(settings[i], want) || relations[i] != relation {
					t.Errorf("tenant %q: got %+v, %+v and the relation %d, want %v, %+v and %d", tenants[i], got, settings[i], relations[i], at[users[i]], want, relation)
				}
			}
		}},
		{"rule D8", "nothing is said of users of other tenants (rule T3)", func(t *directoryTrial) {
			acme, globex := presence.UserID("alice").In("acme"), presence.UserID("bob").In("globex")
			for _, other := range []presence.UserID{globex, "bob"} {
				_ = t.Befriend(acme, other) // which may be refused
				t.wantRelation(acme, other, presence.Stranger)
				_ = t.Block(acme, other, true)
				t.wantRelation(acme, other, presence.Stranger)
				t.wantRelation(acme, "bob", presence.Stranger)
				t.wantRelation(acme, presence.UserID("bob").In("acme"), presence.Stranger)
			}
			t.wantContacts(acme, 10)
			if t.settings(acme)[0].Except {
				t.Error("Except of a user who blocks somebody of another tenant: got true")
			}
		}},
	}
}
