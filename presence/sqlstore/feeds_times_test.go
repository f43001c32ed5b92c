package sqlstore_test

import (
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed"
)

// A node of the version before does not know when an item was read. What it marks as unread was
// not read, and the next time that it is read counts.
func TestTimesBesideAnEarlierVersion(t *testing.T) {
	eachKind(t, func(t *testing.T, k kind) {
		s, db := migrated(t, k)
		f := s.Feeds()
		noError(t, f.Send(t.Context(), feed.Message{To: []presence.UserID{"alice"}, Text: "one"}))
		relayAll(t, f)
		read := func() time.Time {
			t.Helper()
			_, items, _, err := f.Page(t.Context(), "inbox:alice", 0, 1)
			noError(t, err)
			return items[0].ReadAt
		}
		for _, mark := range []func(){
			func() {
				_, err := f.Mark(t.Context(), "inbox:alice", feed.Mark{As: feed.Read, Pos: []int64{1}})
				noError(t, err)
			},
			func() {
				_, err := f.Mark(t.Context(), "inbox:alice", feed.Mark{As: feed.Read, UpTo: 1})
				noError(t, err)
			},
		} {
			must(t, db, "UPDATE rollcall_items SET state = 0, read_at = CASE WHEN read_at = 0 THEN 0 ELSE 1000 END")
			if at := read(); !at.IsZero() {
				t.Errorf("got read at %v, and it is unread", at)
			}
			mark()
			if at := read(); time.Since(at).Abs() > time.Minute {
				t.Errorf("got read at %v, want now", at)
			}
		}
	})
}
