package feed_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed"
	"github.com/rollcall-go/rollcall/presence/feed/feedtest"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/track"
)

// An exporter is a store that keeps no more of users than their inboxes.
type exporter struct{ *feedtest.Memory }

func (e exporter) ExportUser(ctx context.Context, user presence.UserID) (k feed.UserKept, err error) {
	_, k.Items, _, err = e.Page(ctx, feed.Inbox(user), 0, 100)
	return k, err
}

func (e exporter) EraseUser(context.Context, presence.UserID) ([]feed.Hint, error) { return nil, nil }

// The times at which items were seen and read are in what is read with Times, and in what is
// exported, and nowhere else.
func TestTimesOfItems(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker, err := track.New(memstore.New(), track.Config{})
		if err != nil {
			t.Fatal(err)
		}
		k, err := feed.New(exporter{feedtest.NewMemory()}, tracker, feed.Config{})
		if err != nil {
			t.Fatal(err)
		}
		n := &node{tracker, k}
		defer n.close(t)
		p := follow(t, n, "alice", "inbox", "")
		p.want("at first", "state 0/0")
		send(t, n, to("alice", "m1", "one"), to("alice", "m2", "two"))
		p.want("sent", "diff 2/2 m2:two:unread m1:one:unread")
		mark := func(m feed.Mark) {
			t.Helper()
			if _, err := k.Mark(t.Context(), "inbox:alice", m); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		read := func(q feed.Query) string {
			t.Helper()
			data, _, err := k.Read(t.Context(), "inbox:alice", q)
			if err != nil {
				t.Fatal(err)
			}
			return string(data)
		}
		plain := read(feed.Query{})
		if timed := read(feed.Query{Times: true}); timed != plain {
			t.Errorf("before any mark: got %s, want %s", timed, plain)
		}
		from := cursorIn(t, plain)
		seen := time.Now().UTC().Format("2006-01-02T15:04:05.000Z")
		mark(feed.Mark{Seen: true, UpTo: 1})
		p.want("seen", "diff 2/1")
		was := time.Now().UTC().Format("2006-01-02T15:04:05.000Z")
		mark(feed.Mark{As: feed.Read, UpTo: 1})
		p.want("read", "diff 1/1 m1:one:read")

		times := `"state":"read","seen_at":"` + seen + `","read_at":"` + was + `"}`
		all, err := tracker.Export(t.Context(), "alice")
		if err != nil {
			t.Fatal(err)
		}
		exported, err := json.Marshal(all)
		if err != nil {
			t.Fatal(err)
		}
		for what, text := range map[string]string{
			"a page": read(feed.Query{Times: true}), "changes": read(feed.Query{Times: true, Cursor: from}), "an export": string(exported),
		} {
			if !strings.Contains(text, times) || strings.Count(text, "seen_at") != 1 || strings.Count(text, "read_at") != 1 {
				t.Errorf("%s: got %s, want %s", what, text, times)
			}
		}
		for what, text := range map[string]string{"a page": read(feed.Query{}), "changes": read(feed.Query{Cursor: from})} {
			if strings.Contains(text, "seen_at") || strings.Contains(text, "read_at") {
				t.Errorf("%s without Times: got %s", what, text)
			}
		}
	})
}

func cursorIn(t *testing.T, page string) presence.Cursor {
	t.Helper()
	var p struct{ Cursor presence.Cursor }
	if err := json.Unmarshal([]byte(page), &p); err != nil {
		t.Fatal(err)
	}
	return p.Cursor
}
