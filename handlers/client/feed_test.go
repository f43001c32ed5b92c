package client_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/rollcall-go/rollcall/handlers/client"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/track"
)

// feedEvent is an event of an inbox at a revision, with one item.
func feedEvent(kind, prev, rev, state string) string {
	at := func(rev string) string { return string(presence.NewCursor("inbox", presence.DiffID("e-"+rev))) }
	if prev != "" {
		prev = `"prev":"` + at(prev) + `",`
	}
	return message(kind, `{"topic":"inbox","cursor":"`+at(rev)+`",`+prev+`"unread":3,"unseen":1,"items":[{"id":"m1","pos":41,"type":"reply","v":1,"at":"2026-11-21T06:57:00.000Z","actors":["bob"],"names":["Bob"],"others":3,"n":5,"about":"thread:1","text":"Bob and 3 others replied","url":"/threads/1","data":{"k":1},"state":"`+state+`"}],"more":true}`)
}

// A feed's events pass a follower whole, and it goes on from its cursor. While the site's
// database is out it waits, and does not take the feed for one that it has.
func TestFollowAFeed(t *testing.T) {
	waiting := message("heartbeat", `{"topic":"inbox","cursor":"`+string(presence.NewCursor("inbox", track.NoVersion))+`","stale":true}`)
	gap := "lost (a diff was missed: of topic inbox)"
	for name, tt := range map[string]struct {
		texts []string
		want  []string
	}{
		"a state and a diff": {[]string{welcome + feedEvent("state", "", "1", "unread") + feedEvent("diff", "1", "2", "read")},
			[]string{"welcome", "3 1 unread more", "3 1 read", "lost (EOF)"}},
		"a diff that was missed": {[]string{welcome + feedEvent("state", "", "1", "unread") + feedEvent("diff", "2", "3", "read")},
			[]string{"welcome", "3 1 unread more", gap}},
		"a diff before a state": {[]string{welcome + feedEvent("diff", "1", "2", "read")}, []string{"welcome", gap}},
		"out": {[]string{welcome + waiting + waiting + feedEvent("state", "", "1", "unread"), welcome + waiting, welcome + feedEvent("diff", "1", "2", "read")},
			[]string{"welcome", "stale true", "stale true", "3 1 unread more", "lost (EOF)", "welcome", "stale true", "lost (EOF)", "welcome", "3 1 read", "lost (EOF)"}},
		"a place that cannot be": {[]string{welcome + strings.ReplaceAll(feedEvent("state", "", "1", "unread"), `"pos":41`, `"pos":0`)},
			[]string{"welcome", "lost (the server sent a malformed event: an item or a figure of a feed is impossible)"}},
		"a figure that cannot be": {[]string{welcome + strings.ReplaceAll(feedEvent("state", "", "1", "unread"), `"unseen":1`, `"unseen":-1`)},
			[]string{"welcome", "lost (the server sent a malformed event: an item or a figure of a feed is impossible)"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNetwork(t)
				n.serve(script(tt.texts...))
				var got []string
				var roster client.Roster
				for e, err := range client.Follow(context.Background(), "http://forum.test/presence", []presence.Topic{"inbox"}, client.Options{HTTP: n.http}) {
					if err != nil {
						break
					}
					if c := roster.Apply(e); c.Joined != nil || c.Left != nil {
						t.Errorf("got the change %+v of a roster, want none", c)
					}
					got = append(got, feedWord(e))
				}
				if !slices.Equal(got, tt.want) {
					t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
				}
			})
		})
	}
}

// feedWord is word with what the events of feeds say.
func feedWord(e client.Event) string {
	switch e := e.(type) {
	case client.FeedState:
		return fmt.Sprintf("%d %d %s more", e.Unread, e.Unseen, itemWord(e.Items))
	case client.FeedDiff:
		return fmt.Sprintf("%d %d %s", e.Unread, e.Unseen, itemWord(e.Items))
	case client.Heartbeat:
		return fmt.Sprintf("stale %v", e.Stale)
	}
	return word(e)
}

// itemWord returns the state of the one item that events of these tests have.
func itemWord(items []client.Item) string {
	if len(items) != 1 {
		return fmt.Sprintf("%d items", len(items))
	}
	i := items[0]
	if fmt.Sprintf("%s %d %s %d %s %s %d %d %s %s %s %s", i.ID, i.Pos, i.Type, i.V, i.Actors, i.Names, i.Others, i.Count, i.About, i.Text, i.URL, i.Data) !=
		`m1 41 reply 1 [bob] [Bob] 3 5 thread:1 Bob and 3 others replied /threads/1 {"k":1}` || i.At.Year() != 2026 {
		return fmt.Sprintf("%+v", i)
	}
	return i.State
}
