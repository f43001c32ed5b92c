package track_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
)

// directoryFaults are the ways in which a site's Directory goes wrong.
func directoryFaults() map[string]presencetest.DirectoryFault {
	return map[string]presencetest.DirectoryFault{
		"an error":         {Err: errors.New("no such table")},
		"a panic":          {Panic: "nil map"},
		"no answer":        {Hang: true},
		"deaf":             {Deaf: true},
		"slow":             {Delay: time.Minute},
		"an answer less":   {Extra: -1},
		"an answer more":   {Extra: 1},
		"a thousand more":  {Extra: 1_000},
		"no answer at all": {Extra: -1_000},
	}
}

// directoryOut runs a test for each fault, over a town of one node.
func directoryOut(t *testing.T, test func(t *testing.T, d *town, faulty *presencetest.FaultyDirectory, fault presencetest.DirectoryFault)) {
	for name, fault := range directoryFaults() {
		bubble(t, name, func(t *testing.T) {
			d := &town{t: t, store: memstore.New(), directory: presencetest.NewMemoryDirectory()}
			faulty := presencetest.NewFaultyDirectory(d.directory)
			d.a = start(t, d.store, track.Config{Node: "a", Directory: faulty})
			t.Cleanup(faulty.Heal) // deaf calls return before the tracker closes
			test(t, d, faulty, fault)
		})
	}
}

// P4: of whom nothing is known nobody is shown, however the Directory fails. Who is shown
// stays. A newcomer is shown once the Directory is back.
func TestNobodyNewIsShownWhileTheDirectoryIsOut(t *testing.T) {
	directoryOut(t, func(t *testing.T, d *town, faulty *presencetest.FaultyDirectory, fault presencetest.DirectoryFault) {
		connect(t, d.a, track.ConnectOptions{Visitor: on("alice", "one")})
		if got := online(t, d.a); len(got) != 1 {
			t.Fatalf("before: got %v online, want alice", got)
		}
		faulty.Break(fault)
		connect(t, d.a, track.ConnectOptions{Visitor: on("bob", "one")})
		d.a.Seen(presence.Site, user("carol"), on("carol", "one").Device)
		time.Sleep(20 * time.Second)
		if got := online(t, d.a); len(got) != 1 || got[0] != "alice" {
			t.Errorf("while it is out: got %v online, want alice", got)
		}
		faulty.Heal()
		time.Sleep(20 * time.Second)
		if got := online(t, d.a); len(got) != 3 {
			t.Errorf("after: got %v online, want alice, bob and carol", got)
		}
	})
}

// A change that the Directory does not take is an error, and changes nothing.
func TestSettingsWhileTheDirectoryIsOut(t *testing.T) {
	directoryOut(t, func(t *testing.T, d *town, faulty *presencetest.FaultyDirectory, fault presencetest.DirectoryFault) {
		connect(t, d.a, track.ConnectOptions{Visitor: on("alice", "one")})
		time.Sleep(time.Second)
		faulty.Break(fault)
		began := time.Now()
		if _, err := d.a.People().Settings(t.Context(), "alice"); !errors.Is(err, presence.ErrDirectoryOut) {
			t.Errorf("Settings: got %v, want %v", err, presence.ErrDirectoryOut)
		}
		err := d.a.People().ChangeSettings(t.Context(), "alice", to(presence.Settings{Online: presence.Nobody}))
		if !errors.Is(err, presence.ErrDirectoryOut) {
			t.Errorf("SetSettings: got %v, want %v", err, presence.ErrDirectoryOut)
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("both took %v, want a few seconds", took)
		}
		if got := online(t, d.a); len(got) != 1 {
			t.Errorf("got %v online, want alice, whose settings did not change", got)
		}
		faulty.Heal()
		if got, err := d.a.People().Settings(t.Context(), "alice"); err != nil || got != (presence.Settings{}) {
			t.Errorf("after: got %+v and %v, want what was before", got, err)
		}
	})
}

// Calls that never return cost a few goroutines, and not one a question.
func TestDeafDirectoryIsAskedAFewTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faulty := presencetest.NewFaultyDirectory(presencetest.NewMemoryDirectory())
		at := start(t, memstore.New(), track.Config{Node: "a", Directory: faulty})
		t.Cleanup(faulty.Heal)
		faulty.Break(presencetest.DirectoryFault{Deaf: true})
		var wg sync.WaitGroup
		for range 200 {
			wg.Go(func() {
				if _, err := at.People().Settings(t.Context(), "alice"); !errors.Is(err, presence.ErrDirectoryOut) {
					t.Errorf("got %v, want %v", err, presence.ErrDirectoryOut)
				}
			})
		}
		wg.Wait()
		if got := faulty.Calls(presencetest.CallSettings); got > 50 {
			t.Errorf("got %d calls that do not return, want a few", got)
		}
		faulty.Heal()
		synctest.Wait()
		if _, err := at.People().Settings(t.Context(), "alice"); err != nil {
			t.Errorf("after: %v", err)
		}
	})
}

// A page that waits for 50 ms alone says nothing about the Directory.
func TestImpatientCallerIsNoFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		directory := presencetest.NewFaultyDirectory(presencetest.NewMemoryDirectory())
		tracker := start(t, memstore.New(), track.Config{Directory: directory, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		directory.Break(presencetest.DirectoryFault{Delay: 300 * time.Millisecond}, presencetest.AllDirectoryCalls()...)
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_, _ = tracker.People().Find(ctx, "alice", "bob")
		time.Sleep(time.Minute)
		if got := tracker.Stats().People; got.DirectoryOut || strings.Contains(log.String(), "fails") {
			t.Errorf("got out %v and the log %q, want that the Directory is in order", got.DirectoryOut, &log)
		}
	})
}

// A Directory whose reads go on while its writes fail, as a database that is locked for writing, is
// in the log once a minute at most: one line that it fails, and one that it is back.
func TestDirectoryLogIsCalm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lines countedLines
		d := presencetest.NewMemoryDirectory()
		tracker := start(t, memstore.New(), track.Config{Directory: d, Logger: slog.New(&lines)})
		for range 150 { // 5 minutes
			d.Fail(errors.New("locked"))
			_, _ = tracker.People().Find(t.Context(), "alice", "bob")
			d.Fail(nil)
			_, _ = tracker.People().Find(t.Context(), "alice", "bob")
			time.Sleep(2 * time.Second)
		}
		if fails, back := lines.of("fails"), lines.of("is back"); fails < 4 || fails > 6 || back != fails {
			t.Errorf("got %d lines that the Directory fails and %d that it is back in 5 minutes, want one of each a minute", fails, back)
		}
	})
}

// countedLines count the lines of a log.
type countedLines struct {
	mu    sync.Mutex
	lines []string
}

func (c *countedLines) Enabled(context.Context, slog.Level) bool { return true }
func (c *countedLines) WithAttrs([]slog.Attr) slog.Handler       { return c }
func (c *countedLines) WithGroup(string) slog.Handler            { return c }
func (c *countedLines) Handle(_ context.Context, r slog.Record) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lines = append(c.lines, r.Message)
	return nil
}

func (c *countedLines) of(text string) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, line := range c.lines {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}
