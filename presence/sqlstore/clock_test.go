package sqlstore_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/sqlstore"
)

// D12: a node whose clock is an hour fast writes and reads the times of the others.
func TestNodeWithAWrongClock(t *testing.T) {
	for _, off := range []time.Duration{time.Hour, -time.Hour} {
		k := kinds()[2]
		right, db := migrated(t, k)
		wrong := newStore(t, db, sqlstore.Config{Dialect: k.dialect})
		now := func() time.Time { return time.Now().Add(off) }
		wrong.SetNow(now)

		ctx, at := t.Context(), time.Now().Add(-10*time.Minute)
		noError(t, wrong.People().Saw(ctx, map[presence.UserID]time.Time{"alice": at.Add(off)}))
		until := time.Now().Add(time.Minute)
		noError(t, choose(ctx, wrong.People(), "alice", presence.Settings{Status: presence.Busy, Until: until.Add(off)}))
		for _, node := range []struct {
			name  string
			store *sqlstore.Store
			off   time.Duration
		}{{"a right clock", right, 0}, {"the wrong clock", wrong, off}} {
			got, err := node.store.People().LastSeen(ctx, "alice")
			noError(t, err)
			if d := got[0].At.Sub(at.Add(node.off)).Abs(); d > 5*time.Second {
				t.Errorf("%v off, read by %s: last seen is %v wrong", off, node.name, d)
			}
			if d := got[0].Settings.Until.Sub(until.Add(node.off)).Abs(); d > 5*time.Second {
				t.Errorf("%v off, read by %s: until is %v wrong", off, node.name, d)
			}
		}
	}
}

// theirs is a database's clock, ahead of this one, that takes a while to answer.
type theirs struct {
	ahead, takes time.Duration
	err          error
	asked        int
}

func (c *theirs) ask(context.Context) (time.Time, error) {
	c.asked++
	time.Sleep(c.takes / 2)
	now := time.Now().Add(c.ahead)
	time.Sleep(c.takes / 2)
	return now, c.err
}

func TestClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var theirs theirs
		read := sqlstore.NewClock(theirs.ask)
		want := func(offset time.Duration, asked int) {
			t.Helper()
			got, err := read(t.Context())
			if err != nil || got != offset || theirs.asked != asked {
				t.Errorf("got %v, %v after %d questions, want %v after %d", got, err, theirs.asked, offset, asked)
			}
		}
		theirs.err = errors.New("out")
		if _, err := read(t.Context()); err == nil {
			t.Error("the first question fails: got no error")
		}
		theirs.err, theirs.ahead = nil, 300*time.Millisecond // within the tolerance
		want(0, 2)
		theirs.ahead = time.Hour
		want(0, 2) // not asked again at once
		time.Sleep(time.Minute)
		want(time.Hour, 3)
		theirs.ahead += 400 * time.Millisecond // drift: times stay as they were
		time.Sleep(time.Minute)
		want(time.Hour, 4)
		theirs.ahead, theirs.takes = time.Hour+10*time.Second, 20*time.Second // an answer that late proves nothing
		time.Sleep(time.Minute)
		want(time.Hour, 5)
		theirs.err = errors.New("out") // an old offset is better than none
		time.Sleep(time.Minute)
		want(time.Hour, 6)
	})
}
