package redisstore

import (
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// Whatever stands in a channel or a key, it is read or refused.
func FuzzDiff(f *testing.F) {
	f.Add("1-0", "0 1 0\n+alice"+unit+`1763721600000 online {"n":"Alice"}`)
	f.Add("2-0", "1-0 1 1\n1763721600000\nalice\n~bob"+unit+`1763721600000 away {}`)
	f.Add("3-0", "2-0 -1 9223372036854775807\n")
	f.Add("4-0", "2-0 1 2\n1\n")
	f.Add("5-0", "4-0 1 4611686018427387904\n1\n") // twice that is less than nothing
	f.Fuzz(func(t *testing.T, id, text string) {
		d, err := decodeDiff(id, text)
		if n := strings.Count(text, "\n"); err == nil && len(d.Joins)+len(d.Updates)+len(d.Leaves) > n {
			t.Errorf("got %d changes out of %d lines", len(d.Joins)+len(d.Updates)+len(d.Leaves), n)
		}
		if m, err := decodeRecord(id, text); err == nil && string(m.ID) != id {
			t.Errorf("got a record of %q, want of %q", m.ID, id)
		}
	})
}

// A message of a topic's channel is a broadcast, a diff, or invalid: one of them, and no other
// reader counts it.
func FuzzMessage(f *testing.F) {
	for _, message := range []string{"", "!", "!1{\"signals\":[]}", "!2", " !1", "1 1-0 0-0 1 0\n+a" + unit + "1 online {}", "1 !1", "\xff!", "2 1-0 0-0 1 0"} {
		f.Add(message)
	}
	client := redis.NewClient(&redis.Options{}) // never asked
	f.Cleanup(func() { client.Close() })
	f.Fuzz(func(t *testing.T, message string) {
		s := New(client, Config{})
		diffs, broadcasts := 0, 0
		s.topicTap("a", backend.Watcher{
			Diff: func(backend.Diff) { diffs++ },
			Broadcast: func(data []byte) {
				if broadcasts++; string(data) != message {
					t.Errorf("got broadcast %q, want %q", data, message)
				}
			},
		}).take(message)
		if invalid := int(s.Stats().Invalid); diffs+broadcasts+invalid != 1 || broadcasts == 1 != strings.HasPrefix(message, "!") {
			t.Errorf("%q: got %d diffs, %d broadcasts and %d invalid, want one of them", message, diffs, broadcasts, invalid)
		}
	})
}
