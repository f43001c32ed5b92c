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
				if !sameMoment(got.At, want.At) || got.Settings != want.Settings {
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
		{"rule D8", "tenants share nothing (rule P14)", func(t *directoryTrial) {
			if t.Tenant == nil {
				t.Skip("the directory has no tenants")
			}
			other := newDirectoryTrial(t.T, t.Tenant("other"))
			quoted := newDirectoryTrial(t.T, t.Tenant("o'ther%"))
			t.set("alice", t.chosen())
			t.saw("alice", t.moment(-time.Hour))
			t.befriend("alice", "bob")
			t.must(t.Block("alice", "carol", true))
			nothing := func(t *directoryTrial) {
				t.Helper()
				t.wantSettings("alice", presence.Settings{})
				t.wantSeen("alice", time.Time{})
				t.wantContacts("alice", 10)
				t.wantRelation("alice", "bob", presence.Stranger)
				t.wantRelation("alice", "carol", presence.Stranger)
			}
			nothing(other)
			nothing(quoted)
			other.set("alice", presence.Settings{Text: "elsewhere"})
			other.saw("alice", t.moment(-time.Minute))
			other.must(other.Block("alice", "bob", true))
			other.befriend("alice", "dave")
			other.must(other.Unfriend("alice", "bob"))
			other.must(other.Block("alice", "carol", false))
			nothing(quoted)
			want := t.chosen()
			want.Except = true
			t.wantSettings("alice", want)
			t.wantSeen("alice", t.moment(-time.Hour))
			t.wantContacts("alice", 10, "bob")
			t.wantRelation("alice", "bob", presence.Contact)
			t.wantRelation("alice", "carol", presence.Blocked)
			other.must(other.Block("alice", "bob", false))
			t.wantSettings("alice", want)
		}},
	}
}
