package track_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
)

// These tests let notices of settings, and answers of the Directory, overtake one another. In
// the end every node shows what the Directory has.

// A slowTown is a town each of whose nodes has a way of its own to the store and to the
// Directory.
type slowTown struct {
	*town
	ways  map[*track.Tracker]*presencetest.Faults
	reads map[*track.Tracker]*presencetest.FaultyDirectory
}

func newSlowTown(t *testing.T) *slowTown {
	s := &slowTown{
		town:  &town{t: t, store: memstore.New(), directory: presencetest.NewMemoryDirectory()},
		ways:  make(map[*track.Tracker]*presencetest.Faults),
		reads: make(map[*track.Tracker]*presencetest.FaultyDirectory),
	}
	s.a, s.b = s.slowNode("a"), s.slowNode("b")
	return s
}

func (s *slowTown) slowNode(name string) *track.Tracker {
	way, reads := presencetest.NewFaults(s.store), presencetest.NewFaultyDirectory(s.directory)
	node := start(s.t, way, track.Config{Node: name, Directory: reads})
	s.ways[node], s.reads[node] = way, reads
	s.t.Cleanup(reads.Heal)
	return node
}

// late makes calls of a node's Directory answer late.
func (s *slowTown) late(at *track.Tracker, d time.Duration, calls ...presencetest.DirectoryCall) {
	s.reads[at].Break(presencetest.DirectoryFault{Late: d}, calls...)
}

// aliceAtBoth opens a page of alice at each node.
func (s *slowTown) aliceAtBoth() {
	s.t.Helper()
	for _, at := range []*track.Tracker{s.a, s.b} {
		connect(s.t, at, track.ConnectOptions{Visitor: on("alice", "one")})
	}
	wantOnline(s.t, s.town, "alice")
}

// busy sets alice's status to busy, and keeps what else she chose.
func busy(s *presence.Settings) error {
	s.Status = presence.Busy
	return nil
}

func nobody(s *presence.Settings) error {
	s.Online = presence.Nobody
	return nil
}

// wantDirectory fails unless both nodes show of alice what the Directory has.
func (s *slowTown) wantDirectory(want ...presence.UserID) {
	s.t.Helper()
	wantOnline(s.t, s.town, want...)
	all, err := s.directory.Settings(s.t.Context(), "alice")
	noError(s.t, err)
	for name, at := range map[string]*track.Tracker{"a": s.a, "b": s.b} {
		want := all[0].At(time.Now())
		if got := at.Status("alice"); got != want.Status && (got != "" || want.Status != presence.Online) {
			s.t.Errorf("node %s: got status %q, want %q", name, got, want.Status)
		}
		if got, want := at.InRosters("alice"), want.Online == presence.Everyone && want.Status != presence.Invisible; got != want {
			s.t.Errorf("node %s: got InRosters %v, want %v", name, got, want)
		}
	}
}

// Node A's notice of an older change is delayed, so that all nodes receive it after the notice of a
// newer one.
func TestSettingsPublishedLate(t *testing.T) {
	for _, newer := range []presence.Settings{{Online: presence.Nobody}, {Status: presence.Away}, {Seen: presence.Nobody}, {Text: "new"}} {
		bubble(t, string(newer.Online+newer.Seen)+string(newer.Status)+newer.Text, func(t *testing.T) {
			s := newSlowTown(t)
			s.aliceAtBoth()
			s.ways[s.a].Break(presencetest.Fault{Delay: 400 * time.Millisecond}, presencetest.CallPublish)
			go s.a.People().ChangeSettings(context.Background(), "alice", to(presence.Settings{Status: presence.Invisible}))
			time.Sleep(50 * time.Millisecond)
			noError(t, s.b.People().ChangeSettings(t.Context(), "alice", to(newer)))
			if newer.Online == presence.Nobody {
				s.wantDirectory()
			} else {
				s.wantDirectory("alice")
			}
		})
	}
}

// B asks again because it may have missed notices. The answer is slow, and a notice of a newer
// change is faster.
func TestSlowAnswerUndoesNewerSettings(t *testing.T) {
	for _, known := range []bool{true, false} {
		name := "of a user who comes"
		if known {
			name = "of a user who is there"
		}
		bubble(t, name, func(t *testing.T) {
			s := newSlowTown(t)
			if known {
				s.aliceAtBoth()
			}
			s.directory.Choose("alice", presence.Settings{Status: presence.Busy}) // by the site's own program
			s.late(s.b, 400*time.Millisecond, presencetest.CallSettings)
			s.b.Hear(backend.Notice{Missed: time.Second})
			if !known {
				s.b.Seen(presence.Site, user("alice"), on("alice", "one").Device)
			}
			time.Sleep(100 * time.Millisecond)
			noError(t, s.a.People().ChangeSettings(t.Context(), "alice", nobody))
			time.Sleep(10 * time.Second)
			s.wantDirectory()
		})
	}
}

// The Directory of B is out, and B shows each change that it hears of all the same.
func TestDirectoryOutAsSettingsAreHeard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlowTown(t)
		s.aliceAtBoth()
		s.reads[s.b].Break(presencetest.DirectoryFault{Err: errors.New("out")})
		noError(t, s.a.People().ChangeSettings(t.Context(), "alice", nobody))
		s.wantDirectory()
		noError(t, s.a.People().ChangeSettings(t.Context(), "alice", to(presence.Settings{Status: presence.Busy})))
		s.wantDirectory("alice")
		if got := stored(t, s.store, presence.Site); got != "alice=busy " {
			t.Errorf("the store shows %q, want alice busy", got)
		}
	})
}

// The Directory takes a change, and its answer comes too late: the user is told that nothing
// has changed, and all nodes show what the Directory has.
func TestChangeThatIsAnsweredTooLate(t *testing.T) {
	for name, fault := range map[string]presencetest.DirectoryFault{"late": {Late: 3 * time.Second}, "deaf": {Deaf: true}} {
		bubble(t, name, func(t *testing.T) {
			s := newSlowTown(t)
			s.aliceAtBoth()
			s.reads[s.a].Break(fault, presencetest.CallSetSettings)
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			defer cancel()
			if err := s.a.People().ChangeSettings(ctx, "alice", nobody); !errors.Is(err, presence.ErrDirectoryOut) {
				t.Errorf("got %v, want ErrDirectoryOut", err)
			}
			time.Sleep(10 * time.Second)
			s.reads[s.a].Heal()
			time.Sleep(time.Second)
			if fault.Deaf { // the call's context has ended: the change has no effect
				s.wantDirectory("alice")
			} else {
				s.wantDirectory()
			}
		})
	}
}

// A lateDirectory makes a change after its caller has given up.
type lateDirectory struct{ *presencetest.MemoryDirectory }

func (d lateDirectory) SetSettings(ctx context.Context, user presence.UserID, s presence.Settings) (int64, error) {
	time.Sleep(10 * time.Second)
	return d.MemoryDirectory.SetSettings(context.WithoutCancel(ctx), user, s)
}

// A change that the Directory makes only after it was to answer is shown by all nodes.
func TestChangeThatIsMadeTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlowTown(t)
		s.aliceAtBoth()
		late := start(t, s.store, track.Config{Node: "c", Directory: lateDirectory{s.directory}})
		if err := late.People().ChangeSettings(t.Context(), "alice", nobody); !errors.Is(err, presence.ErrDirectoryOut) {
			t.Errorf("got %v, want ErrDirectoryOut", err)
		}
		s.wantDirectory("alice")
		time.Sleep(10 * time.Second)
		s.wantDirectory()
	})
}

// A change that B hears of costs B no query.
func TestChangesAreNotAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlowTown(t)
		s.aliceAtBoth()
		before := s.reads[s.b].Calls(presencetest.CallSettings)
		for range 5 {
			noError(t, s.a.People().ChangeSettings(t.Context(), "alice", busy))
			noError(t, s.a.People().ChangeSettings(t.Context(), "alice", nobody))
		}
		time.Sleep(10 * time.Second)
		if n := s.reads[s.b].Calls(presencetest.CallSettings) - before; n > 0 {
			t.Errorf("got %d queries at b, want none", n)
		}
		s.wantDirectory()
	})
}

// Two nodes change different settings of a user at one moment, and neither change is lost.
func TestChangesAtOnceAreBothMade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlowTown(t)
		s.aliceAtBoth()
		for _, at := range []*track.Tracker{s.a, s.b} {
			s.reads[at].Break(presencetest.DirectoryFault{Delay: 100 * time.Millisecond}, presencetest.CallSetSettings)
		}
		done := make(chan error)
		go func() { done <- s.a.People().ChangeSettings(context.Background(), "alice", busy) }()
		go func() { done <- s.b.People().ChangeSettings(context.Background(), "alice", nobody) }()
		noError(t, <-done)
		noError(t, <-done)
		s.wantDirectory()
		if all, err := s.directory.Settings(t.Context(), "alice"); err != nil || all[0].Status != presence.Busy || all[0].Online != presence.Nobody {
			t.Errorf("got %+v, %v, want both changes", all, err)
		}
	})
}

// An unrevised directory forgets the revision of what it is given.
type unrevised struct{ *presencetest.MemoryDirectory }

func (d unrevised) SetSettings(ctx context.Context, user presence.UserID, s presence.Settings) (int64, error) {
	_, err := d.MemoryDirectory.SetSettings(ctx, user, s)
	return 0, err
}

// A site's own directory that gives no revisions is an error at the first change, and hides nobody in silence.
func TestDirectoryWithoutRevisions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := start(t, memstore.New(), track.Config{Directory: unrevised{presencetest.NewMemoryDirectory()}})
		err := a.People().ChangeSettings(t.Context(), "alice", nobody)
		if !errors.Is(err, presence.ErrDirectoryOut) || !strings.Contains(err.Error(), "revision") {
			t.Errorf("got %v, want an error that names the revision", err)
		}
	})
}
