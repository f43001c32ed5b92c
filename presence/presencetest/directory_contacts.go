package presencetest

import (
	"slices"

	"github.com/rollcall-go/rollcall/presence"
)

func contactsCases() []directoryCase {
	return []directoryCase{
		{"rule D3", "contacts are in order", func(t *directoryTrial) {
			t.befriend("alice", "zoe", "bob", "adam", "Mallory")
			t.befriend("alice", "bob") // again
			t.wantContacts("alice", 10, "zoe", "bob", "adam", "Mallory")
			t.must(t.Unfriend("alice", "zoe"))
			t.must(t.Unfriend("alice", "nobody"))
			t.befriend("alice", "zoe")
			t.wantContacts("alice", 10, "bob", "adam", "Mallory", "zoe")
			t.wantContacts("bob", 10)
		}},
		{"rule D3", "no more than asked for", func(t *directoryTrial) {
			others := userIDs("other", 60)
			t.befriend("alice", others...)
			t.wantContacts("alice", 0)
			t.wantContacts("alice", 1, others[0])
			t.wantContacts("alice", 59, others[:59]...)
			t.wantContacts("alice", 60, others...)
			t.wantContacts("alice", 500, others...)
		}},
		{"rule D3", "nobody who is blocked", func(t *directoryTrial) {
			t.befriend("alice", "bob", "carol", "dave")
			t.must(t.Block("alice", "carol", true))
			t.must(t.Block("alice", "erin", true))
			t.must(t.Block("bob", "alice", true)) // the other way round
			t.wantContacts("alice", 10, "bob", "dave")
			t.wantContacts("alice", 2, "bob", "dave")
		}},
		{"rule D4", "the list of the user alone", func(t *directoryTrial) {
			t.befriend("alice", "bob")
			t.must(t.Block("carol", "alice", true))
			t.wantRelation("alice", "bob", presence.Contact)
			t.wantRelation("bob", "alice", presence.Stranger)
			t.wantRelation("carol", "alice", presence.Blocked)
			t.wantRelation("alice", "carol", presence.Stranger)
			t.wantRelation("alice", "alice", presence.Stranger)
			t.wantRelation("nobody", "alice", presence.Stranger)
			t.must(t.Unfriend("alice", "bob"))
			t.wantRelation("alice", "bob", presence.Stranger)
		}},
		{"rule D4", "Blocked wins over Contact", func(t *directoryTrial) {
			t.befriend("alice", "bob")
			t.must(t.Block("alice", "bob", true))
			t.wantRelation("alice", "bob", presence.Blocked)
			t.must(t.Block("alice", "carol", true))
			t.must(t.Block("alice", "carol", true)) // again
			_ = t.Befriend("alice", "carol")        // which may be refused
			t.wantRelation("alice", "carol", presence.Blocked)
			t.must(t.Unfriend("alice", "carol"))
			t.must(t.Block("alice", "carol", false))
			t.wantRelation("alice", "carol", presence.Stranger)
		}},
		{"rule D4", "removing a contact ends no block", func(t *directoryTrial) {
			t.must(t.Block("alice", "bob", true))
			t.must(t.Unfriend("alice", "bob"))
			t.wantRelation("alice", "bob", presence.Blocked)
		}},
		{"rule D4", "ending a block leaves contacts as they are", func(t *directoryTrial) {
			t.befriend("alice", "bob")
			t.must(t.Block("alice", "bob", false))
			t.wantRelation("alice", "bob", presence.Contact)
		}},
		{"rule D4", "answers are in order", func(t *directoryTrial) {
			viewers := userIDs("viewer", 500)
			for i, viewer := range viewers {
				switch i % 3 {
				case 1:
					t.befriend("alice", viewer)
				case 2:
					t.must(t.Block("alice", viewer, true))
				}
			}
			var pairs []presence.Pair
			for _, viewer := range viewers {
				pairs = append(pairs, presence.Pair{User: "alice", Viewer: viewer}, presence.Pair{User: viewer, Viewer: "alice"})
			}
			slices.Reverse(pairs)
			pairs[0] = pairs[999] // twice
			var want []presence.Relation
			for i := range viewers {
				want = append(want, []presence.Relation{presence.Stranger, presence.Contact, presence.Blocked}[i%3], presence.Stranger)
			}
			slices.Reverse(want)
			want[0] = want[999]
			for i, got := range t.relations(pairs...) {
				if got != want[i] {
					t.Errorf("answer %d, of %+v: got %d, want %d", i, pairs[i], got, want[i])
				}
			}
			if got := t.relations(); len(got) != 0 {
				t.Errorf("of no pair: got %v, want nothing", got)
			}
		}},
	}
}
