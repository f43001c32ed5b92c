package track_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
)

// Two nodes of a fleet, each with its own way to the store that they share.
type twoNodes struct {
	a, b           *track.Tracker
	wayOfA, wayOfB *presencetest.Faults
	page           *page // reads at b
}

func startTwo(t *testing.T, cfg track.Config) *twoNodes {
	store := memstore.New()
	n := &twoNodes{wayOfA: presencetest.NewFaults(store), wayOfB: presencetest.NewFaults(store)}
	cfg.Node = "b"
	n.b = start(t, n.wayOfB, cfg)
	cfg.Node = "a"
	n.a = start(t, n.wayOfA, cfg)
	n.page = openPage(t, n.b, track.ConnectOptions{})
	n.page.want("state ")
	time.Sleep(10 * time.Second) // so that b may sweep what hangs on others
	return n
}

// crash cuts a off from the store, for good as far as b can tell.
func (n *twoNodes) crash() { n.wayOfA.Break(presencetest.Fault{Err: errDown}) }

// lines returns what the page at b read.
func (n *twoNodes) lines() []string {
	n.page.read()
	return n.page.lines
}

// leftAfter returns after how long a user's leave was read at b, in steps of 100 ms, or a minute.
func (n *twoNodes) leftAfter(user string) time.Duration {
	for after := time.Duration(0); after < time.Minute; after += 100 * time.Millisecond {
		if slices.ContainsFunc(n.lines(), func(line string) bool { return strings.HasSuffix(line, "-"+user) }) {
			return after
		}
		time.Sleep(100 * time.Millisecond)
	}
	return time.Minute
}

// Rule 7: a node that crashes takes its users with it within 12 s, and not before its lease
// has lapsed, although their own leases go on for 45 s.
func TestCrashIsSeenWithinNodeTTL(t *testing.T) {
	for _, beat := range []bool{false, true} {
		bubble(t, fmt.Sprint("beat=", beat), func(t *testing.T) {
			n := startTwo(t, track.Config{})
			connect(t, n.a, track.ConnectOptions{Visitor: visitor("alice"), Beat: beat})
			time.Sleep(2 * time.Second)
			n.crash()
			crashed := time.Now()
			if after := n.leftAfter("alice"); after > 12*time.Second || after < 6*time.Second {
				t.Errorf("alice left %v after the crash, want 6.7 to 12 s: %q", after, n.page.lines)
			}
			s, err := n.b.Sightings(t.Context(), presence.Site, "alice")
			if err != nil || crashed.Sub(s[0].LastSeen).Abs() > 4*time.Second {
				t.Errorf("alice was last seen %v before the crash, %v, want about then", crashed.Sub(s[0].LastSeen), err)
			}
		})
	}
}

// A node that was cut off for longer than its lease comes back with its users. They come back
// once, and nobody else is touched.
func TestNodeComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := startTwo(t, track.Config{})
		connect(t, n.a, track.ConnectOptions{Visitor: visitor("alice")})
		connect(t, n.b, track.ConnectOptions{Visitor: visitor("bob")})
		time.Sleep(time.Second)
		n.crash()
		time.Sleep(20 * time.Second)
		n.wayOfA.Heal()
		time.Sleep(5 * time.Second)
		if got := n.changes(); got != "+alice +bob -alice +alice" {
			t.Errorf("got %s, want one leave and one join of alice", got)
		}
	})
}

// A node that others took for dead makes its leases again when it learns of that, and not with
// the next beat.
func TestNodeComesBackAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := startTwo(t, track.Config{})
		connect(t, n.a, track.ConnectOptions{Visitor: visitor("alice"), Beat: true})
		time.Sleep(3 * time.Second)
		n.wayOfA.Break(presencetest.Fault{Err: errDown}, presencetest.CallPoll)
		n.leftAfter("alice")
		n.wayOfA.Heal()
		time.Sleep(time.Second)
		if got := n.changes(); got != "+alice -alice +alice" {
			t.Errorf("got %s, want alice back", got)
		}
	})
}

// changes returns the joins and leaves that the page at b read, without users who only changed.
func (n *twoNodes) changes() string {
	var all []string
	for _, line := range n.lines() {
		if rest, ok := strings.CutPrefix(line, "diff "); ok {
			joins, leaves, _ := strings.Cut(rest, " -")
			for _, id := range strings.Split(strings.TrimPrefix(joins, "+"), ",") {
				if id != "" {
					all = append(all, "+"+id)
				}
			}
			for _, id := range strings.Split(leaves, ",") {
				if id != "" {
					all = append(all, "-"+id)
				}
			}
		}
	}
	return strings.Join(all, " ")
}

// Who comes back at another node before the dead one is swept is not seen to leave.
func TestCrashWithReturnElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := startTwo(t, track.Config{})
		connect(t, n.a, track.ConnectOptions{Visitor: visitor("alice")})
		time.Sleep(time.Second)
		n.crash()
		time.Sleep(5 * time.Second)
		connect(t, n.b, track.ConnectOptions{Visitor: visitor("alice")})
		time.Sleep(time.Minute)
		if got := n.changes(); got != "+alice" {
			t.Errorf("got %s, want no leave", got)
		}
	})
}

// A beat at another node holds a page's user, whose own node is cut off.
func TestCrashWithBeatElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := startTwo(t, track.Config{})
		c := connect(t, n.a, track.ConnectOptions{Visitor: visitor("alice"), Beat: true})
		token := c.Token()
		time.Sleep(time.Second)
		n.crash()
		time.Sleep(6 * time.Second)
		for range 8 {
			if alive, err := n.b.Beat(t.Context(), token, visitor("alice"), track.Page{}); !alive || err != nil {
				t.Fatalf("got %v, %v, want a beat that counts", alive, err)
			}
			time.Sleep(15 * time.Second)
		}
		if got := n.changes(); got != "+alice" {
			t.Errorf("got %s, want no leave", got)
		}
		if after := n.leftAfter("alice"); after > 32*time.Second {
			t.Errorf("alice left %v later, want 45 s after her last beat", after)
		}
	})
}

// The beats of a page come to another node, and after an outage to its own again.
func TestBeatsComeHomeAfterAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := startTwo(t, track.Config{})
		c := connect(t, n.a, track.ConnectOptions{Visitor: visitor("alice"), Beat: true})
		for range 4 {
			time.Sleep(15 * time.Second)
			alive, err := n.b.Beat(t.Context(), c.Token(), visitor("alice"), track.Page{})
			noError(t, err)
			if !alive {
				t.Fatal("the beat did not count")
			}
		}
		for _, way := range []*presencetest.Faults{n.wayOfA, n.wayOfB} {
			way.Break(presencetest.Fault{Err: errDown})
		}
		time.Sleep(12 * time.Second) // longer than the leases of the nodes
		n.wayOfA.Heal()
		n.wayOfB.Heal()
		for range 8 {
			time.Sleep(15 * time.Second)
			c.Beat()
		}
		if got := n.changes(); got != "+alice" {
			t.Errorf("got %s, want no leave of who beats all the time", got)
		}
	})
}

// A process that starts under the name of one that crashed does not keep what hung on it.
func TestCrashAndRestartUnderOneName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := startTwo(t, track.Config{})
		connect(t, n.a, track.ConnectOptions{Visitor: visitor("alice")})
		time.Sleep(time.Second)
		n.crash()
		again := start(t, n.wayOfB, track.Config{Node: "a"})
		connect(t, again, track.ConnectOptions{Visitor: visitor("carol")})
		if after := n.leftAfter("alice"); after > 12*time.Second {
			t.Errorf("alice left %v after the crash, want at most 12 s: %q", after, n.page.lines)
		}
		time.Sleep(time.Minute)
		if got := n.changes(); got != "+alice +carol -alice" {
			t.Errorf("got %s, want that carol stays", got)
		}
	})
}

// After an outage that was longer than all leases nobody is seen to leave, although one node
// finds the store back later than the other.
func TestOutageSweepsNobody(t *testing.T) {
	for _, late := range []time.Duration{0, time.Second, 2 * time.Second} {
		for _, fault := range []presencetest.Fault{{Err: errDown}, {Hang: true}} {
			bubble(t, fmt.Sprintf("%v later, hangs %v", late, fault.Hang), func(t *testing.T) {
				n := startTwo(t, track.Config{})
				connect(t, n.a, track.ConnectOptions{Visitor: visitor("alice")})
				paged := connect(t, n.a, track.ConnectOptions{Visitor: visitor("carol"), Beat: true})
				connect(t, n.b, track.ConnectOptions{Visitor: visitor("bob")})
				n.wayOfA.Break(fault)
				n.wayOfB.Break(fault)
				for range 6 {
					time.Sleep(14500 * time.Millisecond) // so that no heartbeat is due right after it
					paged.Beat()
				}
				n.wayOfB.Heal()
				time.Sleep(late)
				n.wayOfA.Heal()
				time.Sleep(20 * time.Second)
				if got := n.changes(); got != "+alice +carol +bob" && got != "+alice +bob +carol" {
					t.Errorf("got %s, want no leave", got)
				}
			})
		}
	}
}

// A page whose machine sleeps has left, and its stream is still open here. No outage brings its user back.
func TestOutageBringsNoSleeperBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := startTwo(t, track.Config{})
		connect(t, n.a, track.ConnectOptions{Visitor: visitor("sleeps"), Beat: true})
		connect(t, n.b, track.ConnectOptions{Visitor: visitor("stays")})
		n.leftAfter("sleeps")
		n.wayOfA.Break(presencetest.Fault{Err: errDown})
		n.wayOfB.Break(presencetest.Fault{Err: errDown})
		time.Sleep(20 * time.Second)
		n.wayOfA.Heal()
		n.wayOfB.Heal()
		time.Sleep(2 * time.Minute)
		if got := n.changes(); strings.Count(got, "sleeps") != 2 {
			t.Errorf("got %s, want that sleeps came once and left once", got)
		}
	})
}

// After an outage of 15 s all readers learn within a second who came, and within ten who went.
func TestOutageIsToldSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := startTwo(t, track.Config{})
		stays := connect(t, n.b, track.ConnectOptions{Visitor: visitor("stays")})
		goes := connect(t, n.a, track.ConnectOptions{Visitor: visitor("goes")})
		moves := connect(t, n.a, track.ConnectOptions{Visitor: visitor("moves")})
		connect(t, n.a, track.ConnectOptions{Visitor: visitor("silent"), Beat: true})
		silent := time.Now()
		time.Sleep(time.Second)
		n.wayOfA.Break(presencetest.Fault{Err: errDown})
		n.wayOfB.Break(presencetest.Fault{Err: errDown})
		time.Sleep(3 * time.Second)
		goes.Close()
		moves.Close()
		time.Sleep(4 * time.Second)
		connect(t, n.b, track.ConnectOptions{Visitor: visitor("moves")})
		connect(t, n.b, track.ConnectOptions{Visitor: visitor("comes")})
		time.Sleep(8 * time.Second)
		n.wayOfA.Heal()
		n.wayOfB.Heal()
		healed := time.Now()
		time.Sleep(time.Second)
		if got := n.changes(); !strings.Contains(got, "+comes") {
			t.Errorf("got %s after the outage, want that comes is there", got)
		}
		if n.leftAfter("goes"); time.Since(healed) > 10*time.Second {
			t.Errorf("goes left %v after the outage, want at most 10 s", time.Since(healed))
		}
		if n.leftAfter("silent"); time.Since(silent) < 45*time.Second || time.Since(silent) > 58*time.Second {
			t.Errorf("silent left %v after its only proof of life, want 45 s, and at most a quarter more", time.Since(silent))
		}
		time.Sleep(time.Minute)
		if got := n.changes(); strings.Count(got, "moves") != 1 || strings.Count(got, "stays") != 1 {
			t.Errorf("got %s, want that moves and stays stay", got)
		}
		_ = stays
	})
}
