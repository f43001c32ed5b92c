package redisstore_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// A work is one row of the table: the same work, our way and the naive way.
type work struct {
	name, target string
	store, naive func(*testing.B, *meter) cost
}

// BenchmarkCost prints what the store costs Redis, beside the naive way of the
// same work:
//
//	go test -run '^$' -bench Cost -benchtime 5x ./presence/redisstore
//
// Redis's processor time is its own word (INFO cpu); a stall is the longest answer
// to a PING meanwhile.
func BenchmarkCost(b *testing.B) {
	var out strings.Builder
	table := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "of Redis, a user: CPU, longest stall, messages\tstore\tnaive\ttarget")
	for _, w := range works() {
		var cells [2]string
		for i, way := range []struct {
			name string
			do   func(*testing.B, *meter) cost
		}{{"store", w.store}, {"naive", w.naive}} {
			if way.do == nil {
				continue
			}
			b.Run(w.name+"/"+way.name, func(b *testing.B) { cells[i] = way.do(b, newMeter(b)).String() })
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", w.name, cells[0], cells[1], w.target)
	}
	b.Run("memory", func(b *testing.B) { costOfMemory(b, table) })
	table.Flush()
	fmt.Print("\n", out.String())
}

func works() []work {
	leave := func(kind backend.OpKind, tabs, closed int, grace time.Duration) func(*testing.B, *meter) cost {
		return func(b *testing.B, m *meter) cost { return costOfLeaving(b, m, kind, tabs, closed, grace) }
	}
	beat := func(joins int) func(*testing.B, *meter) cost {
		return func(b *testing.B, m *meter) cost { return costOfBeats(b, m, joins) }
	}
	view := func(keep presence.Keep, batch int) func(*testing.B, *meter) cost {
		return func(b *testing.B, m *meter) cost { return costOfViews(b, m, keep, batch) }
	}
	comeAndLeave := func(keep presence.Keep) func(*testing.B, *meter) cost {
		return func(b *testing.B, m *meter) cost { return costOfComing(b, m, keep) }
	}
	recent := func(within time.Duration) func(*testing.B, *meter) cost {
		return func(b *testing.B, m *meter) cost { return costOfRecent(b, m, within) }
	}
	broadcasts := func(topics int) func(*testing.B, *meter) cost {
		return func(b *testing.B, m *meter) cost { return costOfBroadcasts(b, m, topics) }
	}
	return []work{
		{"heartbeat, 1,000 a batch", "1.2 µs", beat(0), naiveBeats},
		{"the same, 1 % join", "1.5 µs", beat(10), nil},
		{"... of 1,000 in the site and 200 threads", "1.2 µs", costOfPages, nil},
		{"sweep, 10,000 of 100,000", "2.2 µs, 2 ms, 20", costOfSweep, naiveSweep},
		{"1,000 of 10,000 leave: the only tab of each", "6 µs, 2 ms, 4", leave(backend.OpRelease, 1, 1, 0), naiveLeaving},
		{"... the same, with grace", "", leave(backend.OpRelease, 1, 1, time.Millisecond), nil},
		{"... one tab of ten each, nobody leaves", "", leave(backend.OpRelease, 10, 1, 0), nil},
		{"... sign-outs with ten tabs", "6 µs, 2 ms, 4", leave(backend.OpSignOut, 10, 1, 0), nil},
		{"... ten tabs each, closed one by one", "", leave(backend.OpRelease, 10, 10, 0), nil},
		{"page view, 250 a batch", "", view(presence.Keep{}, 250), nil},
		{"... the same, with names, active and peak", "", view(keepsMuch, 250), nil},
		{"page view, one a batch", "", view(presence.Keep{}, 1), nil},
		{"... the same with names, active and peak", "", view(keepsMuch, 1), nil},
		{"join and leave, 250 a batch", "", comeAndLeave(presence.Keep{}), nil},
		{"... with names, active and peak", "", comeAndLeave(keepsMuch), nil},
		{"sweep with names, 10,000 of 100,000", "2 ms", func(b *testing.B, m *meter) cost {
			m.keep = keepsMuch
			return costOfSweep(b, m)
		}, nil},
		{"page of 50 recent names among 100,000", "1 ms", recent(time.Hour), nil},
		{"... of this age period and the one before", "1 ms", recent(0), nil},
		{"broadcast of 200 bytes to one node, 1 a flush", "3 µs", broadcasts(1), nil},
		{"... 20 topics a flush", "3 µs", broadcasts(20), nil},
	}
}

// keepsMuch keeps what the site of a forum does.
var keepsMuch = presence.Keep{Names: 200_000, Active: true, Peak: true, PeakGuests: true}

// costOfViews is that of page views of users who are online, so many in a step.
func costOfViews(b *testing.B, m *meter, keep presence.Keep, batch int) cost {
	const users, views = 10_000, 2000
	m.keep = keep
	m.apply(ops(backend.OpSeen, 0, users, 0, time.Hour)...)
	return m.measure(b, views, func() {}, func() {
		for i := 0; i < views; i += batch {
			m.apply(ops(backend.OpSeen, i, i+batch, 0, time.Hour)...)
		}
	})
}

// costOfComing is that of users who come and leave, in a topic of 10,000.
func costOfComing(b *testing.B, m *meter, keep presence.Keep) cost {
	const users, coming = 10_000, 2000
	m.keep = keep
	m.apply(ops(backend.OpJoin, coming, users, 0, time.Hour)...)
	return m.measure(b, coming, func() {}, func() {
		for i := 0; i < coming; i += 250 {
			m.apply(ops(backend.OpJoin, i, i+250, 0, time.Hour)...)
			m.apply(ops(backend.OpRelease, i, i+250, 0, 0)...)
		}
	})
}

// costOfRecent is that of pages of names. Half of the users have left.
func costOfRecent(b *testing.B, m *meter, within time.Duration) cost {
	const users, pages = 100_000, 100
	m.keep = keepsMuch
	m.apply(ops(backend.OpSeen, 0, users, 0, time.Hour)...)
	m.apply(ops(backend.OpSignOut, 0, users/2, 0, 0)...)
	m.apply(ops(backend.OpSeen, users/2, users, 0, time.Hour)...)
	q := backend.RecentQuery{Within: within, Limit: 50}
	return m.measure(b, pages, func() { q.After = "" }, func() {
		for range pages {
			page, err := m.store.Recent(context.Background(), presence.Site, q)
			if err != nil || len(page.Users) != 50 {
				m.Fatalf("got %d users, %v, want a page of 50", len(page.Users), err)
			}
			q.After = page.Next
		}
	})
}

// costOfBroadcasts is that of broadcasts to so many topics, which a node watches. The meter itself
// hears them too, as a second node.
func costOfBroadcasts(b *testing.B, m *meter, topics int) cost {
	const broadcasts = 2000
	all := make([]backend.Broadcast, topics)
	for i := range all {
		all[i] = backend.Broadcast{Topic: presence.Topic(fmt.Sprint("thread:", i)), Data: []byte("!1" + strings.Repeat("x", 198))}
		stop, err := m.store.Watch(context.Background(), all[i].Topic, backend.Watcher{Broadcast: func([]byte) {}})
		noError(b, err)
		b.Cleanup(stop)
	}
	return m.measure(b, broadcasts, func() {}, func() {
		for range broadcasts / topics {
			if err := m.store.Send(context.Background(), all...); err != nil {
				m.Fatal(err)
			}
		}
	})
}

func costOfBeats(b *testing.B, m *meter, joins int) cost {
	const users, batch = 10_000, 1000
	m.apply(ops(backend.OpJoin, 0, users, 0, time.Hour)...)
	next := users
	return m.measure(b, users, func() {}, func() {
		for i := 0; i < users; i += batch {
			m.apply(append(ops(backend.OpJoin, next, next+joins, 0, time.Hour), ops(backend.OpHeartbeat, i, i+batch-joins, 0, time.Hour)...)...)
			next += joins
		}
	})
}

func costOfSweep(b *testing.B, m *meter) cost {
	const users, expired = 100_000, 10_000
	m.apply(ops(backend.OpJoin, expired, users, 0, time.Hour)...)
	return m.measure(b, expired, func() {
		m.apply(ops(backend.OpJoin, 0, expired, 0, time.Millisecond)...)
		time.Sleep(1200 * time.Millisecond) // the topic is looked at once a second
	}, func() {
		swept, err := m.store.Sweep(context.Background(), backend.SweepOptions{Limit: 2 * expired})
		if err != nil || swept.Leaves != expired {
			m.Fatalf("got %+v, %v, want %d leaves", swept, err, expired)
		}
	})
}

// costOfLeaving is that of users who close so many of their tabs, or sign out, in
// a topic of 10,000 with ten tabs each.
func costOfLeaving(b *testing.B, m *meter, kind backend.OpKind, tabs, closed int, grace time.Duration) cost {
	const users, leaving = 10_000, 1000
	for k := range 10 {
		m.apply(ops(backend.OpJoin, leaving, users, k, time.Hour)...)
	}
	return m.measure(b, leaving, func() {
		for k := range tabs {
			m.apply(ops(backend.OpJoin, 0, leaving, k, time.Hour)...)
		}
	}, func() {
		var all []backend.Op
		for k := range closed {
			all = append(all, ops(kind, 0, leaving, k, grace)...)
		}
		m.apply(all...)
	})
}

// costOfMemory is that of 100,000 users with one tab, at once and after they left.
func costOfMemory(b *testing.B, table *tabwriter.Writer) {
	const users = 100_000
	m := newMeter(b)
	m.apply(ops(backend.OpJoin, 0, 1, 0, time.Hour)...)
	m.apply(ops(backend.OpSignOut, 0, 1, 0, 0)...)
	empty := m.memory()
	m.apply(ops(backend.OpJoin, 0, users, 0, time.Hour)...)
	full := m.memory()
	log := int(m.client.MemoryUsage(context.Background(), "presence:{site}:log", 0).Val())
	m.apply(ops(backend.OpSignOut, 0, users, 0, 0)...)
	left := m.memory()
	if _, err := m.store.Trim(context.Background(), -time.Hour, users); err != nil {
		b.Fatal(err)
	}
	after := m.memory()
	m.keep = presence.Keep{Names: users}
	m.apply(ops(backend.OpJoin, 0, users, 0, time.Hour)...)
	online := m.memory()
	m.apply(ops(backend.OpSignOut, 0, users, 0, 0)...)
	if _, err := m.store.Trim(context.Background(), -time.Hour, users); err != nil {
		b.Fatal(err)
	}
	names := m.memory()
	for b.Loop() { // once is enough: it is the same each time
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(full-empty-log)/users, "bytes/user")
	row := func(name, target string, bytes int) {
		fmt.Fprintf(table, "%s\t%6d B\t\t%s\n", name, bytes/users, target)
	}
	row("memory of each of 100,000 users online", "420 B", full-empty-log)
	row("... and their share of a log with all their joins", "", log)
	row("... after they left: last seen", "", left-empty)
	row("... after that was trimmed", "0 B", after-empty)
	row("... online and remembered by name", "", online-empty-log)
	row("memory of each of 100,000 names of users who left", "300 B", names-after)
}

// naiveBeats adds, scores and tells of who beats, one by one.
func naiveBeats(b *testing.B, m *meter) cost {
	const users = 10_000
	return m.measure(b, users, func() {}, func() { m.each(64, 0, users, naiveBeat) })
}

// naiveSweep removes who expired and tells of it, one by one.
func naiveSweep(b *testing.B, m *meter) cost {
	const users, expired = 100_000, 10_000
	m.each(64, 0, users, naiveBeat)
	return m.measure(b, expired, func() { m.each(64, 0, expired, naiveBeat) }, func() { m.each(1, 0, expired, naiveLeave) })
}

// naiveLeaving looks through all leases for another of each user who leaves.
func naiveLeaving(b *testing.B, m *meter) cost {
	const users, some = 10_000, 10
	for k := range 10 {
		m.apply(ops(backend.OpJoin, 0, users, k, time.Hour)...)
	}
	return m.measure(b, some, func() {}, func() { m.each(1, 0, some, naiveScan) })
}

func naiveBeat(ctx context.Context, c *redis.Client, user string) {
	c.SAdd(ctx, "naive:users", user)
	c.ZAdd(ctx, "naive:seen", redis.Z{Score: float64(time.Now().UnixMilli()), Member: user})
	c.Publish(ctx, "naive", user)
}

func naiveLeave(ctx context.Context, c *redis.Client, user string) {
	c.ZRem(ctx, "naive:seen", user)
	c.SRem(ctx, "naive:users", user)
	c.Publish(ctx, "naive", user)
}

func naiveScan(ctx context.Context, c *redis.Client, user string) {
	c.Eval(ctx, `
		for _, m in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
			if string.sub(m, 1, #ARGV[1]) == ARGV[1] then return 1 end
		end
		return 0`, []string{"presence:{site}:leases"}, user+"\x1f")
	c.Publish(ctx, "naive", user)
}
