package track_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/internal/syncbuf"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
)

// idleNode returns a tracker that nobody sweeps.
func idleNode(t *testing.T, store backend.Store, cfg track.Config) *track.Tracker {
	t.Helper()
	tracker, err := track.New(store, cfg)
	noError(t, err)
	t.Cleanup(func() { _ = tracker.Close(t.Context()) })
	return tracker
}

// wantFindings checks what a tracker has found, however often.
func wantFindings(t *testing.T, when string, tracker *track.Tracker, want ...presence.Finding) {
	t.Helper()
	var got []presence.Finding
	for _, d := range tracker.Staff().Diagnose() {
		got = append(got, d.Finding)
	}
	if len(got) != len(want) || len(got) > 0 && got[0] != want[0] {
		t.Errorf("%s: got %v, want %v", when, got, want)
	}
}

// A fleet in which no node sweeps is found after a minute. One node that sweeps is enough, and so is
// a program that sweeps once a minute and ends.
func TestNoJobs(t *testing.T) {
	bubble(t, "nobody sweeps", func(t *testing.T) {
		store := memstore.New()
		a, b := idleNode(t, store, track.Config{Node: "a"}), idleNode(t, store, track.Config{Node: "b"})
		time.Sleep(time.Minute)
		wantFindings(t, "in the first minute", a)
		time.Sleep(16 * time.Second)
		wantFindings(t, "later", a, presence.NoJobs)
		wantFindings(t, "later", b, presence.NoJobs)
	})
	bubble(t, "another node sweeps", func(t *testing.T) {
		store := memstore.New()
		a := idleNode(t, store, track.Config{Node: "a"})
		start(t, store, track.Config{Node: "b"})
		time.Sleep(10 * time.Minute)
		wantFindings(t, "at a node without jobs", a)
	})
	bubble(t, "a cron sweeps", func(t *testing.T) {
		store := memstore.New()
		a := idleNode(t, store, track.Config{Node: "a"})
		for range 10 {
			cron, err := track.New(store, track.Config{})
			noError(t, err)
			time.Sleep(time.Second)
			_, err = cron.Sweep(t.Context())
			noError(t, err)
			synctest.Wait()
			noError(t, cron.Close(t.Context()))
			time.Sleep(time.Minute - time.Second)
		}
		wantFindings(t, "at the site's node", a)
	})
	bubble(t, "the store was out", func(t *testing.T) {
		faults := presencetest.NewFaults(memstore.New())
		a := idleNode(t, faults, track.Config{Node: "a"})
		start(t, faults, track.Config{Node: "b"})
		time.Sleep(time.Minute)
		faults.Break(presencetest.Fault{Err: errDown})
		time.Sleep(10 * time.Minute)
		faults.Heal()
		time.Sleep(5 * time.Minute)
		wantFindings(t, "after the outage", a)
	})
}

// Two nodes with different secrets find each other as soon as the second begins. A notice tells
// nothing about a secret.
func TestOtherSecret(t *testing.T) {
	one, two := []byte("0123456789abcdef"), []byte("fedcba9876543210")
	for name, c := range map[string]struct {
		a, b []byte
		want []presence.Finding
	}{
		"two secrets":    {one, two, []presence.Finding{presence.OtherSecret}},
		"one has none":   {one, nil, []presence.Finding{presence.OtherSecret}},
		"the same":       {one, one, nil},
		"none has a one": {nil, nil, nil},
	} {
		bubble(t, name, func(t *testing.T) {
			var log bytes.Buffer
			store := memstore.New()
			var mu sync.Mutex
			var payloads []string
			stop, err := store.Listen(t.Context(), func(n backend.Notice) {
				mu.Lock()
				defer mu.Unlock()
				payloads = append(payloads, n.Payload)
			})
			noError(t, err)
			defer stop()
			a := start(t, store, track.Config{Node: "a", Secret: c.a, Logger: slog.New(slog.NewTextHandler(&log, nil))})
			time.Sleep(20 * time.Second)
			wantFindings(t, "a alone", a)
			b := start(t, store, track.Config{Node: "b", Secret: c.b})
			time.Sleep(time.Second)
			wantFindings(t, "a, at the start of b", a, c.want...)
			time.Sleep(15 * time.Second)
			wantFindings(t, "b", b, c.want...)
			synctest.Wait()
			if got := strings.Count(log.String(), "finding=other-secret other=b"); got != len(c.want) {
				t.Errorf("got %d lines, want %d:\n%s", got, len(c.want), &log)
			}
			for _, p := range payloads {
				if strings.Contains(p, string(one)) || strings.Contains(p, string(two)) {
					t.Errorf("got the notice %q, which tells a secret", p)
				}
			}
		})
	}
}

// Nodes whose settings differ find each other as soon as the second begins, and the log says in what
// they differ. A negative grace is none, and no time over another.
func TestOtherSettings(t *testing.T) {
	for name, c := range map[string]struct {
		b    track.Config
		want string // in a's log
	}{
		"the same, written out": {track.Config{Prefix: "presence/", TTL: 45 * time.Second, NodeTTL: 10 * time.Second, Grace: 10 * time.Second, Age: 5 * time.Minute}, ""},
		"what may differ":       {track.Config{MaxRoster: 5, MergeWindow: time.Second, LogSize: 5}, ""},
		"another TTL":           {track.Config{TTL: 5 * time.Second}, `TTL="45s here, 5s there" NodeTTL="10s here, 5s there" other=b`},
		"another prefix":        {track.Config{Prefix: "/who is"}, `Prefix="/presence here, /who%20is there" other=b`},
		"another grace":         {track.Config{Grace: -1}, `Grace="10s here, 0s there" other=b`},
		"another age":           {track.Config{Age: time.Minute}, `Age="5m0s here, 1m0s there" other=b`},
	} {
		bubble(t, name, func(t *testing.T) {
			var log bytes.Buffer
			store := memstore.New()
			a := start(t, store, track.Config{Node: "a", Logger: slog.New(slog.NewTextHandler(&log, nil))})
			time.Sleep(20 * time.Second)
			c.b.Node = "b"
			b := start(t, store, c.b)
			time.Sleep(16 * time.Second)
			var want []presence.Finding
			if c.want != "" {
				want = append(want, presence.OtherSettings)
			}
			wantFindings(t, "a", a, want...)
			wantFindings(t, "b", b, want...)
			synctest.Wait()
			if c.want != "" && !strings.Contains(log.String(), c.want) {
				t.Errorf("got\n%s\nwant %s", &log, c.want)
			}
		})
	}
}

// A page whose token is of a tracker that this one does not know is a finding: two trackers in one
// process, or two prefixes in one Redis. One from before a restart is none: its tracker began earlier,
// and opened the stream before this one began, or while the two took turns.
func TestOtherFleet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := start(t, memstore.New(), track.Config{})
		time.Sleep(time.Millisecond)
		second := start(t, memstore.New(), track.Config{})
		tokens := [2]presence.Token{}
		for i, of := range []*track.Tracker{first, second} {
			tokens[i] = connect(t, of, track.ConnectOptions{Visitor: visitor("alice"), Beat: true}).Token()
		}
		for i, at := range []*track.Tracker{second, first} {
			if _, err := at.Pass(t.Context(), tokens[i]); !errors.Is(err, presence.ErrForeignToken) {
				t.Errorf("got %v, want ErrForeignToken", err)
			}
		}
		wantFindings(t, "the first, at a page of the second", first, presence.OtherFleet)
		wantFindings(t, "the second, at a page of the first, which may be of the time before a restart", second)
		time.Sleep(2 * time.Minute)
		wantFindings(t, "the second, later", second)
		token := connect(t, first, track.ConnectOptions{Visitor: visitor("bob"), Beat: true}).Token()
		_, _ = second.Pass(t.Context(), token)
		wantFindings(t, "the second, at a stream that the first has opened since", second, presence.OtherFleet)
		for _, forged := range []presence.Token{"", "~", "a.b~c~d", "a.AAAAAAAA.x~y~z", "a.________.x~y~z"} {
			_, _ = second.Pass(t.Context(), forged)
		}
	})
	bubble(t, "other secrets", func(t *testing.T) { // whose tokens are foreign too
		store := memstore.New()
		a := start(t, store, track.Config{Secret: []byte("0123456789abcdef")})
		time.Sleep(time.Second)
		b := start(t, store, track.Config{Secret: []byte("fedcba9876543210")})
		time.Sleep(time.Second)
		token := connect(t, b, track.ConnectOptions{Visitor: visitor("alice"), Beat: true}).Token()
		if _, err := a.Pass(t.Context(), token); !errors.Is(err, presence.ErrForeignToken) {
			t.Errorf("got %v, want ErrForeignToken", err)
		}
		wantFindings(t, "a", a, presence.OtherSecret)
	})
}

// Pages that no browser makes live are found after a minute, and then after twice as long each time. One stream at
// any node of the fleet shows that the wiring is right.
func TestNotLive(t *testing.T) {
	bubble(t, "nobody asks", func(t *testing.T) {
		logged := new(syncbuf.Buffer)
		a := idleNode(t, memstore.New(), track.Config{Node: "a", Logger: slog.New(slog.NewTextHandler(logged, nil)), Prefix: "/who"})
		notLive := func() uint64 {
			for _, d := range a.Staff().Diagnose() {
				if d.Finding == presence.NotLive {
					return d.Times
				}
			}
			return 0
		}
		time.Sleep(10 * time.Minute)
		if got := notLive(); got != 0 {
			t.Errorf("without a page: found %d times", got)
		}
		a.Shown("/app/"+strings.Repeat("x", 1000), true)
		a.MeetScript()
		a.Shown("/app/home", false)
		time.Sleep(59 * time.Second)
		if got := notLive(); got != 0 {
			t.Errorf("in the first minute: found %d times", got)
		}
		time.Sleep(16 * time.Second)
		if got := notLive(); got != 1 || !strings.Contains(logged.String(), "finding=not-live pages=2 heads=1 script=true page=/app/home prefix=/who") {
			t.Errorf("found %d times, and logged %q", got, logged.String())
		}
		a.Shown("/app/home", false)
		time.Sleep(119 * time.Second)
		if got := notLive(); got != 1 {
			t.Errorf("in the next two minutes: found %d times, want once", got)
		}
		time.Sleep(16 * time.Second)
		if got := notLive(); got != 2 {
			t.Errorf("after two minutes: found %d times, want twice", got)
		}
		a.Shown("/app/home", false)
		a.MeetStream()
		time.Sleep(time.Hour)
		if got := notLive(); got != 2 || !a.Streamed() {
			t.Errorf("after a stream: found %d times, want twice", got)
		}
	})
	bubble(t, "another node has the stream", func(t *testing.T) {
		store := memstore.New()
		a, b := start(t, store, track.Config{Node: "a"}), start(t, store, track.Config{Node: "b"})
		a.Shown("/", true)
		b.MeetStream()
		time.Sleep(5 * time.Minute)
		wantFindings(t, "at the node of the page", a)
	})
}
