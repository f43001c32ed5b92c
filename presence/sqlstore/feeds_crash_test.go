package sqlstore_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/internal/bound"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed"
	"github.com/rollcall-go/rollcall/presence/sqlstore"
)

// crashEnv makes this program a process that relays, marks and mails until it is killed:
// "dialect driver dsn". longEnv makes the tests of crashes and of races last about a minute.
const (
	crashEnv = "SQLSTORE_TEST_CRASH"
	longEnv  = "SQLSTORE_TEST_LONG"
)

const crashUsers = 12

func crashInbox(i int) feed.Name { return feed.Inbox(presence.UserID(fmt.Sprint("user-", i))) }

func crashAsChild() int {
	parts := strings.SplitN(os.Getenv(crashEnv), " ", 3)
	err := func() error {
		db, err := sql.Open(parts[1], parts[2])
		if err != nil {
			return err
		}
		s, err := sqlstore.New(db, sqlstore.Config{Dialect: sqlstore.Dialect(parts[0])})
		if err != nil {
			return err
		}
		for began := time.Now(); time.Since(began) < time.Minute; {
			if err := crashStep(context.Background(), s.Feeds(), db, s.Rebind); err != nil {
				return err
			}
			fmt.Print(".")
		}
		return nil
	}()
	fmt.Print("ended: ", err)
	return 1
}

// crashStep does one thing at random.
func crashStep(ctx context.Context, f *sqlstore.Feeds, db *sql.DB, rebind func(string) string) error {
	inbox := crashInbox(rand.IntN(crashUsers))
	mark := func(m feed.Mark) error { _, err := f.Mark(ctx, inbox, m); return err }
	switch rand.IntN(8) {
	default:
		_, err := f.Relay(ctx, feed.RelayOptions{Most: 10_000})
		return err
	case 0:
		return mark(feed.Mark{Seen: true})
	case 1:
		return mark(feed.Mark{As: feed.Read, Pos: []int64{rand.Int64N(40), rand.Int64N(40)}})
	case 2:
		return mark(feed.Mark{As: feed.Read, About: "thread:1", UpTo: rand.Int64N(40)})
	case 3, 4:
		due, err := f.Due(ctx, 3, time.Millisecond)
		if err != nil {
			return err
		}
		for _, d := range due {
			for _, item := range d.Items { // it goes out
				if _, err := db.ExecContext(ctx, rebind("INSERT INTO mails (who, item, key) VALUES ($1, $2, $3)"), string(d.User), item.ID, d.Key); err != nil {
					return err
				}
			}
			if err := f.Settle(ctx, d, true, 0); err != nil {
				return err
			}
		}
		return nil
	}
}

// A process that relays, marks and mails is killed again and again. Each message is in each
// feed once, the counters are right, what changed leads to what a page shows, and no item is in
// two digests (rules F1, F2, F3, F11).
func TestFeedsSurviveCrashes(t *testing.T) {
	eachKind(t, func(t *testing.T, k kind) {
		dsn := k.dsn(t)
		if strings.Contains(dsn, "vfs=memdb") {
			return // no two processes share it
		}
		db := open(t, k, dsn)
		s := newStore(t, db, sqlstore.Config{Dialect: k.dialect})
		noError(t, s.Migrate(t.Context()))
		must(t, db, "CREATE TABLE mails (who text, item text, key text)")
		c := &crashes{TB: t, kind: k, dsn: dsn, db: db, f: s.Feeds(), want: make(map[feed.Name]int)}
		follower := &follower{f: s.Feeds(), name: crashInbox(0), items: make(map[string]feed.Item)}
		rounds := 4
		if os.Getenv(longEnv) != "" {
			rounds = 150
		}
		for range rounds {
			c.round()
			follower.follow(t)
		}
		c.finish()
		follower.follow(t)
		follower.check(t)
	})
}

// A crashes is the test of one database.
type crashes struct {
	testing.TB
	kind kind
	dsn  string
	db   *sql.DB
	f    *sqlstore.Feeds
	sent int
	want map[feed.Name]int // messages by feed
}

// round starts a process, sends messages while it works, and kills it.
func (c *crashes) round() {
	c.Helper()
	cmd := bound.To(exec.CommandContext(c.Context(), os.Args[0]), syscall.SIGKILL)
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %s %s", crashEnv, c.kind.dialect, c.kind.driver, c.dsn))
	out, err := cmd.StdoutPipe()
	if err != nil {
		c.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		c.Fatal(err)
	}
	did := make([]byte, 4_096)
	for steps, end := 0, 10+rand.IntN(40); steps < end; {
		c.send()
		n, err := out.Read(did)
		if steps += n; err != nil || strings.Contains(string(did[:n]), "ended") {
			c.Fatalf("the process ended by itself: %s, %v", did[:n], err)
		}
	}
	time.Sleep(time.Duration(rand.IntN(3_000)) * time.Microsecond) // in the middle of something
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

// send commits some messages, and rolls one back.
func (c *crashes) send() {
	c.Helper()
	var ms []feed.Message
	for range 1 + rand.IntN(4) {
		c.sent++
		m := feed.Message{ID: fmt.Sprint("m", c.sent), Type: "reply", About: "thread:1", Text: "text", Mail: true, From: "bob"}
		if rand.IntN(2) == 0 {
			m.Group, m.Mail = "replies", false
		}
		for _, i := range rand.Perm(crashUsers)[:1+rand.IntN(crashUsers)] {
			m.To = append(m.To, crashInbox(i).Owner())
			c.want[crashInbox(i)]++
		}
		ms = append(ms, m)
	}
	if err := c.f.Send(c.Context(), ms...); err != nil {
		c.Fatal(err)
	}
	tx, err := c.db.BeginTx(c.Context(), nil)
	if err != nil {
		c.Fatal(err)
	}
	if err := c.f.SendTx(c.Context(), tx, feed.Message{ID: "never", To: []presence.UserID{"user-1"}, Text: "never"}); err != nil {
		c.Fatal(err)
	}
	if err := tx.Rollback(); err != nil {
		c.Fatal(err)
	}
}

// finish relays what is left, and looks at all.
func (c *crashes) finish() {
	c.Helper()
	for began := time.Now(); ; time.Sleep(time.Millisecond) { // the killed process's turn may end late
		if _, err := c.f.Relay(c.Context(), feed.RelayOptions{Most: 10_000}); err != nil {
			c.Fatal(err)
		}
		if o, err := c.f.Waiting(c.Context()); err != nil || o.Waiting == 0 {
			if err != nil || o.Failed > 0 {
				c.Errorf("outbox: got %+v, %v", o, err)
			}
			break
		}
		if time.Since(began) > time.Minute {
			c.Fatal("the outbox is not empty after a minute")
		}
	}
	for n, want := range c.want {
		q := func(query string) int {
			return one[int](c, c.db, strings.ReplaceAll(query, "?", "'"+string(n)+"'"))
		}
		if got := q("SELECT coalesce(sum(n), 0) FROM rollcall_items WHERE feed = ?"); got != want {
			c.Errorf("%s: got items of %d messages, want %d (rule F1)", n, got, want)
		}
		if got := q("SELECT count(*) FROM rollcall_ids WHERE feed = ?"); got != want {
			c.Errorf("%s: got %d ids, want %d (rule F1)", n, got, want)
		}
	}
	if got := one[int](c, c.db, "SELECT count(*) FROM rollcall_ids WHERE id = 'never'"); got != 0 {
		c.Errorf("%d messages that were rolled back were sent (rule F1)", got)
	}
	if wrong, err := c.f.Recount(c.Context(), 1_000); err != nil || wrong != 0 {
		c.Errorf("got %d feeds with wrong counters, %v (rule F3)", wrong, err)
	}
	if got := one[int](c, c.db, "SELECT count(*) FROM rollcall_feeds AS h WHERE items <> (SELECT count(*) FROM rollcall_items AS i WHERE i.feed = h.feed)"); got != 0 {
		c.Errorf("%d feeds do not know how many items they have", got)
	}
	if got := one[int](c, c.db, "SELECT count(*) FROM (SELECT who, item FROM mails GROUP BY who, item HAVING count(DISTINCT key) > 1) AS twice"); got != 0 {
		c.Errorf("%d items were in two digests (rule F11)", got)
	}
	c.Logf("%d messages, %d items, %d in digests", c.sent, one[int](c, c.db, "SELECT count(*) FROM rollcall_items"), one[int](c, c.db, "SELECT count(*) FROM mails"))
}

// A follower has what a page would have that follows a feed.
type follower struct {
	f     *sqlstore.Feeds
	name  feed.Name
	since feed.Since
	items map[string]feed.Item
}

// follow reads what changed.
func (f *follower) follow(t testing.TB) {
	t.Helper()
	f.since.Name = f.name
	changes, err := f.f.Changes(t.Context(), f.since)
	noError(t, err)
	c := changes[0]
	if c.Gap {
		h, items := f.page(t)
		c.Head, c.Items = h, items
		clear(f.items)
	}
	for _, i := range c.Items {
		f.items[i.ID] = i
	}
	f.since.Rev, f.since.Born = c.Head.Rev, c.Head.Born
}

func (f *follower) page(t testing.TB) (feed.Head, []feed.Item) {
	t.Helper()
	h, items, more, err := f.f.Page(t.Context(), f.name, 0, 100_000)
	if err != nil || more {
		t.Fatal(err, more)
	}
	return h, items
}

// check compares what was followed with a page (rule F2).
func (f *follower) check(t testing.TB) {
	t.Helper()
	h, items := f.page(t)
	if h.Rev != f.since.Rev || len(items) != len(f.items) {
		t.Errorf("got revision %d with %d items, want %d with %d (rule F2)", f.since.Rev, len(f.items), h.Rev, len(items))
	}
	for _, i := range items {
		was := f.items[i.ID]
		i.Mail, was.Mail = 0, 0                         // no page shows it
		i.SeenAt, was.SeenAt = time.Time{}, time.Time{} // it has no revision
		got, _ := json.Marshal(was)
		want, _ := json.Marshal(i)
		if string(got) != string(want) {
			t.Errorf("got  %s\nwant %s (rule F2)", got, want)
		}
	}
}
