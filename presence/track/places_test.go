package track_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
)

func placeLines(places []presence.Place) (lines []string) {
	for _, p := range places {
		line := fmt.Sprint(p.Topic, " ", p.Total, "+", p.Guests)
		for _, m := range p.Users {
			line += " " + string(m.ID)
		}
		lines = append(lines, line)
	}
	return lines
}

// Places are the topics of the whole fleet that have people, the fullest first: those that
// are loaded here and others, and no invisible user.
func TestPlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		kinds := map[string]presence.Kind{"hall": {CountOnly: true}}
		a, b := start(t, store, track.Config{Kinds: kinds}), start(t, store, track.Config{Kinds: kinds})
		openPage(t, a, track.ConnectOptions{Topics: []presence.Topic{"thread:1"}})
		for _, seen := range []struct {
			topic presence.Topic
			users []string
		}{{"thread:1", []string{"u1", "u2"}}, {"thread:2", []string{"u2", "u3", "u4"}}, {"hall:1", []string{"u1"}}, {"thread:4", []string{"x"}}} {
			for _, id := range seen.users {
				b.Seen(seen.topic, user(id), presence.Device{})
				time.Sleep(time.Second)
			}
		}
		for _, g := range []string{"g1", "g2"} {
			b.SeenGuest("thread:3", g)
		}
		b.SeenGuest("thread:1", "g1")
		noError(t, b.SetStatus(t.Context(), "u4", presence.Invisible))
		noError(t, b.SignOut(t.Context(), "x"))
		time.Sleep(2 * time.Second)
		want := func(when string, lines ...string) {
			t.Helper()
			synctest.Wait()
			places, err := a.Places(t.Context(), "")
			if got := placeLines(places); err != nil || !slices.Equal(got, lines) {
				t.Errorf("%s: got %q, %v, want %q", when, got, err, lines)
			}
		}
		want("at first", "thread:1 2+1 u2 u1", "thread:2 2+0 u3 u2", "hall:1 1+0", "thread:3 0+2")
		of, err := a.PlacesOf(t.Context(), "u1", "u2", "u4", "u2", "nobody")
		if err != nil || len(of) != 2 || !slices.Equal(of["u1"], []presence.Topic{"thread:1"}) || !slices.Equal(of["u2"], []presence.Topic{"thread:1", "thread:2"}) {
			t.Errorf("got %v, %v, want u1 in thread:1 and u2 in both", of, err)
		}
		b.Seen("thread:2", user("u5"), presence.Device{})
		want("before a refresh", "thread:1 2+1 u2 u1", "thread:2 2+0 u3 u2", "hall:1 1+0", "thread:3 0+2")
		time.Sleep(2100 * time.Millisecond)
		want("after a refresh", "thread:2 3+0 u5 u3 u2", "thread:1 2+1 u2 u1", "hall:1 1+0", "thread:3 0+2")
		of, err = a.PlacesOf(t.Context(), "u5")
		if err != nil || !slices.Equal(of["u5"], []presence.Topic{"thread:2"}) {
			t.Errorf("got %v, %v of u5, want thread:2", of, err)
		}
	})
}

// Places are renewed every 2 s while somebody asks, and not 30 s after. A roster that has not
// changed is not read again.
func TestPlacesAskLittle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faults := presencetest.NewFaults(memstore.New())
		a := start(t, faults, track.Config{})
		for _, topic := range threads(20) {
			a.Seen(topic, user("u1"), presence.Device{})
		}
		time.Sleep(time.Second)
		look := func() {
			t.Helper()
			synctest.Wait()
			if places, err := a.Places(t.Context(), ""); err != nil || len(places) != 20 {
				t.Errorf("got %d places, %v", len(places), err)
			}
		}
		look()
		if got := faults.Calls(presencetest.CallSnapshot); got != 20 {
			t.Errorf("got %d rosters read, want 20", got)
		}
		if got := a.Stats().Topics; got != 0 {
			t.Errorf("got %d topics kept current for it, want none", got)
		}
		a.Seen("thread:3", user("u2"), presence.Device{})
		time.Sleep(5 * time.Second)
		look()
		if got := faults.Calls(presencetest.CallSnapshot); got != 21 {
			t.Errorf("got %d rosters read, want one more", got)
		}
		time.Sleep(40 * time.Second)
		quiet := faults.Calls(presencetest.CallTopics)
		time.Sleep(time.Minute)
		if got := faults.Calls(presencetest.CallTopics); got != quiet {
			t.Errorf("got %d calls while nobody asked, want none", got-quiet)
		}
		look()
	})
}

// The first page waits 50 ms for the store; later ones never do.
func TestPlacesWaitAsAPageMay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faults := presencetest.NewFaults(memstore.New())
		a := start(t, faults, track.Config{})
		a.Seen("thread:1", user("u1"), presence.Device{})
		time.Sleep(time.Second)
		faults.Break(presencetest.Fault{Delay: 100 * time.Millisecond}, presencetest.CallTopics)
		began := time.Now()
		if _, err := a.Places(t.Context(), ""); !errors.Is(err, presence.ErrStoreOut) || time.Since(began) != 50*time.Millisecond {
			t.Errorf("got %v after %v, want ErrStoreOut after 50ms", err, time.Since(began))
		}
		time.Sleep(time.Second)
		faults.Break(presencetest.Fault{Err: errors.New("out")}, presencetest.AllCalls()...)
		time.Sleep(10 * time.Second)
		began = time.Now()
		if places, err := a.Places(t.Context(), ""); err != nil || len(places) != 1 || time.Since(began) != 0 {
			t.Errorf("got %v, %v after %v while the store is out, want the latest at once", places, err, time.Since(began))
		}
	})
}

// wideStore has many topics with as many users as it is told: u0, u1, and so on.
type wideStore struct {
	backend.Store
	topics  []presence.Topic
	users   func(i int) int
	members []presence.Member
}

func newWideStore(topics int, users func(i int) int) *wideStore {
	s := &wideStore{Store: memstore.New(), users: users}
	for i := range topics {
		s.topics = append(s.topics, presence.Topic(fmt.Sprintf("thread:%05d", i)))
	}
	for i := range 1_000 {
		s.members = append(s.members, presence.Member{User: user(fmt.Sprint("u", i)), Since: time.Now().Add(-time.Duration(i) * time.Second)})
	}
	return s
}

func (s *wideStore) at(topic presence.Topic) int {
	i, _ := slices.BinarySearch(s.topics, topic)
	return i
}

func (s *wideStore) Topics(_ context.Context, after presence.Topic, most int) ([]presence.Topic, error) {
	from, found := slices.BinarySearch(s.topics, after)
	if found {
		from++
	}
	return s.topics[from:min(from+most, len(s.topics))], nil
}

func (s *wideStore) Counts(_ context.Context, topics ...presence.Topic) ([]backend.Counts, error) {
	counts := make([]backend.Counts, len(topics))
	for i, topic := range topics {
		counts[i] = backend.Counts{Head: "1", Total: s.users(s.at(topic))}
	}
	return counts, nil
}

func (s *wideStore) Snapshot(_ context.Context, topic presence.Topic) (backend.Snapshot, error) {
	return backend.Snapshot{ID: "1", Members: s.members[:s.users(s.at(topic))]}, nil
}

// Of more than 10,000 topics the first are known. Of these, the fullest 1,000 have names, ten
// each; in those, users are found.
func TestPlacesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faults := presencetest.NewFaults(newWideStore(10_050, func(i int) int {
			switch {
			case i < 5:
				return 15
			case i < 1_000:
				return 2
			}
			return 1
		}))
		a := start(t, faults, track.Config{})
		places, err := a.Places(t.Context(), "")
		if err != nil || len(places) != 10_000 {
			t.Fatalf("got %d places, %v, want 10,000", len(places), err)
		}
		if places[0].Total != 15 || len(places[0].Users) != 10 || cap(places[0].Users) != 10 {
			t.Errorf("got %d users of %d, want 10 of 15", len(places[0].Users), places[0].Total)
		}
		if len(places[999].Users) != 2 || len(places[1000].Users) != 0 || places[1000].Total != 1 {
			t.Errorf("got %+v and %+v, want names in the first 1,000 alone", places[999], places[1000])
		}
		if got := faults.Calls(presencetest.CallSnapshot); got != 1_000 {
			t.Errorf("got %d rosters read, want 1,000", got)
		}
		of, err := a.PlacesOf(t.Context(), "u14", "u0", "u15")
		if err != nil || len(of) != 2 || len(of["u14"]) != 5 || len(of["u0"]) != 1_000 {
			t.Errorf("got %d and %d topics, %v, want 5 and 1,000", len(of["u14"]), len(of["u0"]), err)
		}
	})
}

// A topic with more than 500 users is not read again and again, but kept current while
// somebody asks. Users are found in it, too.
func TestLargePlacesAreKeptCurrent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		for i := range 1_000 {
			op := backend.Op{Kind: backend.OpJoin, User: user(fmt.Sprint("u", i)), Holder: "x.1", For: 24 * time.Hour}
			store.Apply(t.Context(), []backend.Batch{{Topic: presence.Topic(fmt.Sprint("thread:", i/600)), Ops: []backend.Op{op}}})
		}
		faults := presencetest.NewFaults(store)
		a := start(t, faults, track.Config{})
		for i := range 60 {
			places, err := a.Places(t.Context(), "")
			if err != nil || len(places) != 2 || places[0].Total != 600+i || len(places[0].Users) != 10 {
				t.Fatalf("got %v, %v in turn %d", placeLines(places), err, i)
			}
			a.Seen("thread:0", user(fmt.Sprint("more", i)), presence.Device{})
			time.Sleep(3 * time.Second)
		}
		if got := faults.Calls(presencetest.CallSnapshot); got != 2 {
			t.Errorf("got %d rosters read in three minutes, want each once", got)
		}
		of, err := a.PlacesOf(t.Context(), "u599", "u999")
		if err != nil || len(of["u599"]) != 1 || len(of["u999"]) != 1 {
			t.Errorf("got %v, %v, want both", of, err)
		}
		time.Sleep(3 * time.Minute)
		if got := a.Stats().Topics; got != 0 {
			t.Errorf("got %d topics kept current when nobody asks, want none", got)
		}
	})
}

// All rosters together are remembered for 100,000 users; the others show ten.
func TestPlacesRememberABoundedNumberOfUsers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := start(t, newWideStore(250, func(int) int { return 500 }), track.Config{})
		places, err := a.Places(t.Context(), "")
		if err != nil || len(places) != 250 || len(places[249].Users) != 10 || places[249].Total != 500 {
			t.Fatalf("got %d places, %v, and %+v, want all with ten users", len(places), err, places[len(places)-1])
		}
		of, err := a.PlacesOf(t.Context(), "u0", "u499")
		if err != nil || len(of["u0"]) != 200 || len(of["u499"]) != 200 {
			t.Errorf("got %d and %d topics, %v, want the first 200", len(of["u0"]), len(of["u499"]), err)
		}
		time.Sleep(3 * time.Second)
		if places, err = a.Places(t.Context(), ""); err != nil || places[249].Total != 500 {
			t.Errorf("got %+v, %v a while later, want 500 users", places[249], err)
		}
	})
}

// Rule P6: whoever hides is in no place a second later, at no node, although places are read
// every two seconds.
func TestPlacesWithoutTheHiddenWithinASecond(t *testing.T) {
	for name, hide := range map[string]func(t *testing.T, tracker *track.Tracker){
		"invisible": func(t *testing.T, tracker *track.Tracker) {
			noError(t, tracker.People().ChangeSettings(t.Context(), "alice", to(presence.Settings{Status: presence.Invisible})))
		},
		"by the settings": func(t *testing.T, tracker *track.Tracker) {
			noError(t, tracker.People().ChangeSettings(t.Context(), "alice", to(presence.Settings{Online: presence.Nobody})))
		},
	} {
		bubble(t, name, func(t *testing.T) {
			store, d := memstore.New(), presencetest.NewMemoryDirectory()
			a, b := peopleNode(t, store, d, "a"), peopleNode(t, store, d, "b")
			for _, id := range []string{"alice", "bob"} {
				a.Seen("thread:1", user(id), presence.Device{})
			}
			time.Sleep(time.Second)
			nodes := map[string]*track.Tracker{"a": a, "b": b}
			for _, tracker := range nodes {
				_, err := tracker.Places(t.Context(), "")
				noError(t, err)
			}
			time.Sleep(10 * time.Millisecond) // the next read is in two seconds
			hide(t, a)
			time.Sleep(time.Second)
			for name, tracker := range nodes {
				places, err := tracker.Places(t.Context(), "")
				if got := placeLines(places); err != nil || !slices.Equal(got, []string{"thread:1 1+0 bob"}) {
					t.Errorf("at node %s: got %q, %v a second after alice hid, want bob alone", name, got, err)
				}
				if of, err := tracker.PlacesOf(t.Context(), "alice"); err != nil || len(of) != 0 {
					t.Errorf("at node %s: got alice in %v, %v, want nowhere", name, of, err)
				}
			}
		})
	}
}
