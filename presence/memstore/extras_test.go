package memstore

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

const period = 5 * time.Minute

func apply(tb testing.TB, s *Store, keep presence.Keep, ops ...backend.Op) {
	tb.Helper()
	if r := s.Apply(tb.Context(), []backend.Batch{{Topic: presence.Site, Keep: keep, Ops: ops}}); r[0].Err != nil {
		tb.Fatal(r[0].Err)
	}
}

func seen(i int) backend.Op {
	user := presence.User{ID: presence.UserID(fmt.Sprintf("user-%06d", i)), Name: "Somebody"}
	return backend.Op{Kind: backend.OpSeen, User: user, For: period}
}

// pass lets time pass with its sweeps, and a turn of the sets a period.
func pass(tb testing.TB, s *Store, d time.Duration) {
	tb.Helper()
	for ; d > 0; d -= period {
		time.Sleep(period)
		if _, err := s.Sweep(tb.Context(), backend.SweepOptions{Limit: 1e6}); err != nil {
			tb.Fatal(err)
		}
		if _, err := s.Age(tb.Context(), period); err != nil {
			tb.Fatal(err)
		}
		if _, err := s.Trim(tb.Context(), time.Minute, 1000); err != nil {
			tb.Fatal(err)
		}
	}
}

// Rules 9 and 10: a period after the last leave nothing remains but the names and the
// record, a day after it nothing but the record, and no topic.
func TestNothingRemainsButTheRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New()
		apply(t, s, presence.Keep{Names: 10, Active: true, Peak: true, PeakGuests: true}, seen(1), seen(2),
			backend.Op{Kind: backend.OpGuest, Guest: "g"}, backend.Op{Kind: backend.OpBot, Guest: "b", Bot: "Bingbot"})
		pass(t, s, 4*period)
		if topic := s.topics[presence.Site]; topic == nil || topic.names.len() != 2 || topic.lately() || len(topic.bots) > 0 {
			t.Errorf("after four periods the topic is %+v, want two names and nothing else", topic)
		}
		pass(t, s, backend.MaxWithin)
		if len(s.topics) != 0 || s.peaks[presence.Site].Total != 3 {
			t.Errorf("after a day there are topics %v and records %v, want a record of 3 alone", s.topics, s.peaks)
		}
	})
}

// A topic of which nothing is to be kept has no list and no record.
func TestKeepNothing(t *testing.T) {
	s := New()
	apply(t, s, presence.Keep{}, seen(1), backend.Op{Kind: backend.OpPeak})
	if topic := s.topics[presence.Site]; topic.names != nil || len(s.peaks) != 0 {
		t.Errorf("it has the names %v and the records %v, want none", topic.names, s.peaks)
	}
	apply(t, s, presence.Keep{Names: 3}, seen(1), seen(2), seen(3))
	apply(t, s, presence.Keep{Names: 2})
	if n := s.topics[presence.Site].names.len(); n != 2 {
		t.Errorf("with a lower bound it remembers %d, want 2", n)
	}
	apply(t, s, presence.Keep{})
	if names := s.topics[presence.Site].names; names != nil {
		t.Errorf("once no names are wanted it remembers %d, want no list", names.len())
	}
}

// A page of 50 among 100,000 names is to cost much less than a millisecond.
func BenchmarkRecent(b *testing.B) {
	s := New()
	for i := range 100_000 {
		apply(b, s, presence.Keep{Names: 100_000}, seen(i))
	}
	for _, q := range []backend.RecentQuery{{Limit: 50}, {Limit: 50, Within: time.Hour}} {
		page, err := s.Recent(b.Context(), presence.Site, q)
		if err != nil || page.Total != 100_000 || len(page.Users) != 50 {
			b.Fatalf("got %d of %d users, %v, want 50 of 100,000", len(page.Users), page.Total, err)
		}
		q.After = page.Next
		b.Run(fmt.Sprint("within ", q.Within), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if page, err := s.Recent(b.Context(), presence.Site, q); err != nil || len(page.Users) != 50 {
					b.Fatalf("got %d users, %v, want 50", len(page.Users), err)
				}
			}
		})
	}
}

// A page view of one among 100,000 who are remembered.
func BenchmarkSeenRemembered(b *testing.B) {
	for _, keep := range []presence.Keep{{}, {Names: 100_000, Active: true, Peak: true}} {
		b.Run(fmt.Sprint("names ", keep.Names), func(b *testing.B) {
			s := New()
			for i := range 100_000 {
				apply(b, s, keep, seen(i))
			}
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				apply(b, s, keep, seen(i%100_000))
				i += 7919
			}
		})
	}
}
