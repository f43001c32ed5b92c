package jobs_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/jobs"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed"
	"github.com/rollcall-go/rollcall/presence/feed/feedtest"
	"github.com/rollcall-go/rollcall/presence/track"
)

// A feedSpy is a store of feeds that notes its calls in a spy.
type feedSpy struct {
	feed.Store
	*spy
	relay atomic.Pointer[func(context.Context) (feed.Relayed, error)]
}

func (s *feedSpy) Relay(ctx context.Context, o feed.RelayOptions) (feed.Relayed, error) {
	s.note("relay")
	if relay := s.relay.Load(); relay != nil {
		return (*relay)(ctx)
	}
	return s.Store.Relay(ctx, o)
}

func (s *feedSpy) Due(ctx context.Context, most int, claim time.Duration) ([]feed.Digest, error) {
	s.note("due")
	return s.Store.Due(ctx, most, claim)
}

func (s *feedSpy) Trim(ctx context.Context, o feed.TrimOptions) (int, error) {
	s.note("trim_feeds")
	return s.Store.Trim(ctx, o)
}

// setUpFeeds starts a tracker and a Keeper, in a synctest bubble.
func setUpFeeds(t *testing.T) (*track.Tracker, *feed.Keeper, *feedtest.Memory, *feedSpy, *logged) {
	t.Helper()
	return setUpFeedsWith(t, feed.Config{})
}

func setUpFeedsWith(t *testing.T, cfg feed.Config) (*track.Tracker, *feed.Keeper, *feedtest.Memory, *feedSpy, *logged) {
	t.Helper()
	tracker, store, logs := setUp(t, track.Config{})
	db := feedtest.NewMemory()
	s := &feedSpy{Store: db, spy: store}
	keeper, err := feed.New(s, tracker, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := keeper.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return tracker, keeper, db, s, logs
}

// within checks that calls come once in a period, give or take a part of it, and not always
// at the same distance: the nodes of a fleet would meet each time.
func within(t *testing.T, what string, at []time.Duration, period, jitter time.Duration, most int) {
	t.Helper()
	if len(at) < most/2 || len(at) > most {
		t.Errorf("%s: got %d calls, want up to %d", what, len(at), most)
	}
	before, distances := time.Duration(0), make(map[time.Duration]bool)
	for _, now := range at {
		if d := now - before; d < period-jitter || d > period+jitter {
			t.Errorf("%s: got a call %v after the one before, want %v ± %v", what, d, period, jitter)
		} else {
			distances[d] = true
		}
		before = now
	}
	if len(at) > 2 && len(distances) < 2 {
		t.Errorf("%s: got calls at equal distances, want jitter", what)
	}
}

func TestFeedsDefaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker, keeper, _, store, _ := setUpFeeds(t)
		start(t, tracker, jobs.Config{Feeds: keeper, Mail: func(context.Context, feed.Digest) error { return nil }})
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		within(t, "relay", store.of("relay"), time.Second*7/8, time.Second/8, 800)
		within(t, "digest", store.of("due"), 30*time.Second, 30*time.Second/4, 26)
		time.Sleep(56 * time.Minute)
		within(t, "trim", store.of("trim_feeds"), time.Hour, 6*time.Minute, 1)
	})
}

// A site that mails soon looks for digests more often.
func TestDigestsFollowMailAfter(t *testing.T) {
	for after, want := range map[time.Duration]time.Duration{
		time.Minute:            30 * time.Second,
		10 * time.Second:       5 * time.Second,
		100 * time.Millisecond: 100 * time.Millisecond,
	} {
		synctest.Test(t, func(t *testing.T) {
			tracker, keeper, _, store, _ := setUpFeedsWith(t, feed.Config{MailAfter: after})
			start(t, tracker, jobs.Config{Feeds: keeper, Mail: func(context.Context, feed.Digest) error { return nil }})
			time.Sleep(20 * want)
			synctest.Wait()
			within(t, after.String(), store.of("due"), want, want/4, 26)
		})
	}
}

// F1, F11, T3: what another program puts into the outbox is in the inbox within about a second, and
// in a mail some minutes later, once. The jobs are of all tenants: what two programs insert under
// one id reaches two users.
func TestFeedsRelayAndDigest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker, keeper, db, _, logs := setUpFeeds(t)
		var mu sync.Mutex // of mails: several are sent at once
		var mails []string
		start(t, tracker, jobs.Config{Feeds: keeper, Mail: func(_ context.Context, d feed.Digest) error {
			mu.Lock()
			defer mu.Unlock()
			mails = append(mails, d.Tenant+" "+string(d.User)+" "+d.Items[0].Text)
			return nil
		}})
		time.Sleep(time.Minute)
		for _, tenant := range []string{"acme", "globex", ""} {
			if err := db.InsertFor(tenant, "1", `{"to":["alice"],"type":"reply","from":"bob","text":"hello","mail":true}`); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(1300 * time.Millisecond)
		synctest.Wait()
		if head, err := keeper.Head(t.Context(), feed.Inbox("alice")); head.Unread != 1 || err != nil {
			t.Errorf("got %d unread and %v, want 1", head.Unread, err)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		slices.Sort(mails)
		if want := []string{" alice hello", "acme alice hello", "globex alice hello"}; !slices.Equal(mails, want) {
			t.Errorf("got mails %q, want %q", mails, want)
		}
		if got := logs.String(); strings.Contains(got, "job=") {
			t.Errorf("got %s, want no log of a job", got)
		}
	})
}

// An outage of the database is logged by the Keeper, once. A relay that fails while the Keeper
// reaches the database is logged by the job.
func TestFeedsOutageIsLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker, keeper, db, store, logs := setUpFeeds(t)
		start(t, tracker, jobs.Config{Feeds: keeper, Mail: func(context.Context, feed.Digest) error { return nil }})
		db.Out(true)
		time.Sleep(50 * time.Second)
		db.Out(false)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		got := logs.String()
		for want, times := range map[string]int{"the database of feeds fails": 1, "the database of feeds is back": 1, "job=": 0} {
			if n := strings.Count(got, want); n != times {
				t.Errorf("got %q logged %d times, want %d:\n%s", want, n, times, got)
			}
		}
		broken := func(context.Context) (feed.Relayed, error) { panic("no route") }
		store.relay.Store(&broken)
		time.Sleep(10 * time.Second)
		store.relay.Store(nil)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		got = logs.String()
		for _, want := range []string{"a job fails", "a job works again"} {
			if n := strings.Count(got, want); n != 1 {
				t.Errorf("got %q logged %d times, want once:\n%s", want, n, got)
			}
		}
	})
}

// A relay that hangs is ended, so that it is known, and so that the next one may find a
// database that answers.
func TestFeedsRelayThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker, keeper, _, store, logs := setUpFeeds(t)
		var hangs atomic.Bool
		hangs.Store(true)
		relay := func(ctx context.Context) (feed.Relayed, error) {
			if hangs.Load() {
				<-ctx.Done()
			}
			return feed.Relayed{}, ctx.Err()
		}
		store.relay.Store(&relay)
		start(t, tracker, jobs.Config{Feeds: keeper})
		time.Sleep(14 * time.Second)
		synctest.Wait()
		if !strings.Contains(logs.String(), "the database of feeds fails") {
			t.Errorf("got %q, want an outage", logs)
		}
		hangs.Store(false)
		time.Sleep(12 * time.Second)
		if n := len(store.of("relay")); n < 3 {
			t.Errorf("got %d relays, want that it goes on", n)
		}
	})
}

// A relay that has more to do than it has time goes on the next time, and does not fail.
func TestFeedsBacklogIsNoFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker, keeper, _, store, logs := setUpFeeds(t)
		relay := func(context.Context) (feed.Relayed, error) {
			time.Sleep(300 * time.Millisecond)
			return feed.Relayed{Moved: 1_000, More: true}, nil
		}
		store.relay.Store(&relay)
		start(t, tracker, jobs.Config{Feeds: keeper})
		time.Sleep(time.Minute)
		synctest.Wait()
		if logs.Len() > 0 {
			t.Errorf("got %s, want no log", logs)
		}
		if n := len(store.of("relay")); n < 150 {
			t.Errorf("got %d relays in a minute, want one after the other", n)
		}
	})
}

// Mails that cannot be sent are a failure of the job until one is sent, also while none is
// due.
func TestFeedsMailFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker, keeper, _, _, logs := setUpFeeds(t)
		fails, sent := true, 0
		start(t, tracker, jobs.Config{Feeds: keeper, Mail: func(context.Context, feed.Digest) error {
			if fails {
				return errors.New("no postman")
			}
			sent++
			return nil
		}})
		if err := keeper.Send(t.Context(), feed.Message{To: []presence.UserID{"alice"}, Type: "reply", Text: "hello", Mail: true}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(30 * time.Minute)
		synctest.Wait()
		if n := strings.Count(logs.String(), "a job fails"); n != 1 || !strings.Contains(logs.String(), "no postman") {
			t.Errorf("got %s, want one line with the error", logs)
		}
		fails = false
		time.Sleep(time.Hour)
		synctest.Wait()
		if n := strings.Count(logs.String(), "a job works again"); n != 1 || sent != 1 {
			t.Errorf("got %d mails and %s, want one of each", sent, logs)
		}
	})
}

// Rows of the outbox that wait while no node relays are a finding, also where the site's own messages
// are moved by Kick. A node with the job finds nothing.
func TestNoRelay(t *testing.T) {
	for name, cfg := range map[string]func(*feed.Keeper) jobs.Config{
		"without": func(*feed.Keeper) jobs.Config { return jobs.Config{} },
		"with":    func(k *feed.Keeper) jobs.Config { return jobs.Config{Feeds: k} },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tracker, keeper, db, _, logs := setUpFeeds(t)
				start(t, tracker, cfg(keeper))
				keeper.Kick()
				time.Sleep(time.Second)
				if err := db.InsertFor("", "1", `{"to":["alice"],"type":"reply","text":"hello"}`); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Minute)
				synctest.Wait()
				want := 0
				if name == "without" {
					want = 1
				}
				if got := len(tracker.Staff().Diagnose()); got != want || strings.Count(logs.String(), "finding=no-relay waiting=1") != want {
					t.Errorf("got %v and %s, want %d findings", tracker.Staff().Diagnose(), logs, want)
				}
			})
		})
	}
}
