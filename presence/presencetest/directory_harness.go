package presencetest

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// A DirectoryHarness tells the kit how to make one kind of directory.
type DirectoryHarness struct {
	// New returns a fresh, empty directory, which ends with t.
	New func(t *testing.T) DirectorySite
}

// A DirectorySite is a [presence.Directory] with what the site itself does to it. The
// functions may return an error, which fails the case, but for the Befriend of somebody
// who is blocked, and for what is said of a user of another tenant. Ids are those inside: a
// user of a tenant has the tenant in the id.
type DirectorySite struct {
	presence.Directory

	Befriend func(user, other presence.UserID) error          // puts other behind the user's contacts
	Unfriend func(user, other presence.UserID) error          // takes other off the contacts
	Block    func(user, other presence.UserID, on bool) error // blocks other, or ends that
}

// Site returns the directory as the kit takes it.
func (d *MemoryDirectory) Site() DirectorySite {
	return DirectorySite{
		Directory: d,
		Befriend:  func(user, other presence.UserID) error { d.Befriend(user, other); return nil },
		Unfriend:  func(user, other presence.UserID) error { d.Unfriend(user, other); return nil },
		Block:     func(user, other presence.UserID, on bool) error { d.Block(user, other, on); return nil },
	}
}

// RunDirectory checks a directory against every rule of [presence.Directory], each case on
// a fresh directory. Cases run one after the other. Times may be kept as coarsely as to
// the second.
func RunDirectory(t *testing.T, h DirectoryHarness) {
	for _, c := range slices.Concat(settingsCases(), contactsCases(), lastSeenCases(), apartCases()) {
		t.Run(c.rule+"/"+c.name, func(t *testing.T) {
			c.test(newDirectoryTrial(t, h.New(t)))
		})
	}
}

// A directoryCase is one test of one rule.
type directoryCase struct {
	rule string // "rule D1"
	name string
	test func(*directoryTrial)
}

// A directoryTrial is one run of a case.
type directoryTrial struct {
	*testing.T
	DirectorySite
	began time.Time
}

func newDirectoryTrial(t *testing.T, site DirectorySite) *directoryTrial {
	return &directoryTrial{T: t, DirectorySite: site, began: time.Now().UTC().Truncate(time.Second)}
}

// coarse is how far two times may lie apart that are the same to a directory.
const coarse = 2 * time.Second

// moment is that far from when the trial began, and the same each time.
func (t *directoryTrial) moment(from time.Duration) time.Time { return t.began.Add(from) }

func (t *directoryTrial) must(err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (t *directoryTrial) befriend(user presence.UserID, others ...presence.UserID) {
	t.Helper()
	for _, other := range others {
		t.must(t.Befriend(user, other))
	}
}

func (t *directoryTrial) set(user presence.UserID, s presence.Settings) {
	t.Helper()
	s.Rev = t.settings(user)[0].Rev
	rev, err := t.SetSettings(t.Context(), user, s)
	t.must(err)
	if rev <= s.Rev {
		t.Errorf("settings of %q: got the revision %d after %d, want a greater one", user, rev, s.Rev)
	}
}

func (t *directoryTrial) saw(user presence.UserID, at time.Time) {
	t.Helper()
	t.must(t.Saw(t.Context(), map[presence.UserID]time.Time{user: at}))
}

func (t *directoryTrial) settings(users ...presence.UserID) []presence.Settings {
	t.Helper()
	all, err := t.Settings(t.Context(), users...)
	t.must(err)
	if len(all) != len(users) {
		t.Fatalf("Settings of %d users: got %d answers", len(users), len(all))
	}
	return all
}

func (t *directoryTrial) lastSeen(users ...presence.UserID) []presence.Seen {
	t.Helper()
	all, err := t.LastSeen(t.Context(), users...)
	t.must(err)
	if len(all) != len(users) {
		t.Fatalf("LastSeen of %d users: got %d answers", len(users), len(all))
	}
	return all
}

func (t *directoryTrial) relations(pairs ...presence.Pair) []presence.Relation {
	t.Helper()
	all, err := t.Relations(t.Context(), pairs...)
	t.must(err)
	if len(all) != len(pairs) {
		t.Fatalf("Relations of %d pairs: got %d answers", len(pairs), len(all))
	}
	return all
}

func (t *directoryTrial) contacts(user presence.UserID, most int) []presence.UserID {
	t.Helper()
	all, err := t.Contacts(t.Context(), user, most)
	t.must(err)
	return all
}

// wantSettings compares what is kept of one user.
func (t *directoryTrial) wantSettings(user presence.UserID, want presence.Settings) {
	t.Helper()
	if got := t.settings(user)[0]; !sameSettings(got, want) {
		t.Errorf("settings of %q: got %+v, want %+v", user, got, want)
	}
	if got := t.lastSeen(user)[0].Settings; !sameSettings(got, want) {
		t.Errorf("settings of %q beside last seen: got %+v, want %+v", user, got, want)
	}
}

func (t *directoryTrial) wantSeen(user presence.UserID, want time.Time) {
	t.Helper()
	if got := t.lastSeen(user)[0].At; !sameMoment(got, want) {
		t.Errorf("last seen of %q: got %v, want %v", user, got, want)
	}
}

func (t *directoryTrial) wantContacts(user presence.UserID, most int, want ...presence.UserID) {
	t.Helper()
	if got := t.contacts(user, most); !slices.Equal(got, want) {
		t.Errorf("contacts of %q, at most %d: got %q, want %q", user, most, got, want)
	}
}

func (t *directoryTrial) wantRelation(user, viewer presence.UserID, want presence.Relation) {
	t.Helper()
	if got := t.relations(presence.Pair{User: user, Viewer: viewer})[0]; got != want {
		t.Errorf("relation of %q to %q: got %d, want %d", viewer, user, got, want)
	}
}

func sameMoment(a, b time.Time) bool {
	return a.IsZero() == b.IsZero() && a.Sub(b).Abs() < coarse
}

func sameSettings(a, b presence.Settings) bool {
	same := sameMoment(a.Until, b.Until)
	a.Until, b.Until = time.Time{}, time.Time{}
	a.Rev, b.Rev = 0, 0
	return same && a == b
}

// userIDs returns users with a name in common.
func userIDs(name string, n int) []presence.UserID {
	all := make([]presence.UserID, n)
	for i := range all {
		all[i] = presence.UserID(fmt.Sprintf("%s-%d", name, i))
	}
	return all
}

// ended is a context that has ended.
func ended(t *directoryTrial) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}
