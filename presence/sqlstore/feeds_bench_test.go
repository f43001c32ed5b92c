package sqlstore_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed"
)

// BenchmarkFeeds is about a site of 100,000 users, of whom each batch reaches 1,000.
func BenchmarkFeeds(b *testing.B) {
	for _, k := range kinds() {
		if strings.Contains(k.name, " ") {
			continue // much as the others
		}
		s, db := migrated(b, k)
		f := s.Feeds()
		round := 0
		messages := func(rows, to int) (ms []feed.Message) {
			for range rows {
				m := feed.Message{To: make([]presence.UserID, to), Type: "reply", From: "bob", Name: "Bob", About: "thread:1", Text: "{actors} replied in “Plans for the summer”", URL: "/threads/1#post-17", Mail: true, Data: json.RawMessage(`{"post":17}`)}
				for i := range m.To {
					round++
					m.To[i] = presence.UserID(fmt.Sprint("user-", round*97%100_000))
				}
				ms = append(ms, m)
			}
			return ms
		}
		bench := func(name string, call func(b *testing.B)) {
			b.Run(k.name+"/"+name, func(b *testing.B) {
				for b.Loop() {
					call(b)
				}
			})
		}
		for _, shape := range [][2]int{{100, 10}, {20, 50}, {1, 1_000}} {
			b.Run(fmt.Sprintf("%s/Relay=%dx%d", k.name, shape[0], shape[1]), func(b *testing.B) {
				moved := 0
				for b.Loop() {
					b.StopTimer()
					noError(b, f.Send(b.Context(), messages(shape[0], shape[1])...))
					b.StartTimer()
					moved += relayAll(b, f).Moved
				}
				b.ReportMetric(float64(moved)/b.Elapsed().Seconds(), "items/s")
			})
		}
		b.Run(k.name+"/SendTx", func(b *testing.B) {
			tx, err := db.BeginTx(b.Context(), nil)
			noError(b, err)
			defer tx.Rollback()
			ms := messages(1, 5)
			for b.Loop() {
				noError(b, f.SendTx(b.Context(), tx, ms...))
			}
		})
		var h feed.Head
		bench("Head", func(b *testing.B) { h = head(b, f, "inbox:user-97") })
		bench("Page=20", func(b *testing.B) {
			if _, _, _, err := f.Page(b.Context(), "inbox:user-97", 0, 20); err != nil {
				b.Fatal(err)
			}
		})
		bench("Changes=1", func(b *testing.B) {
			if _, err := f.Changes(b.Context(), feed.Since{Name: "inbox:user-97", Rev: h.Rev - 1, Born: h.Born}); err != nil {
				b.Fatal(err)
			}
		})
		names := make([]feed.Name, 1_000)
		for i := range names {
			names[i] = feed.Name(fmt.Sprint("inbox:user-", i))
		}
		bench("Heads=1000", func(b *testing.B) {
			if _, err := f.Heads(b.Context(), names...); err != nil {
				b.Fatal(err)
			}
		})
		states := []feed.State{feed.Read, feed.Unread}
		bench("Mark", func(b *testing.B) {
			round++
			if _, err := f.Mark(b.Context(), "inbox:user-97", feed.Mark{As: states[round%2], Pos: []int64{1}}); err != nil {
				b.Fatal(err)
			}
		})
		bench("RelayIdle", func(b *testing.B) { relayAll(b, f) })
	}
}
