package track_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/deliver"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/presencetest"
	"github.com/rollcall-go/rollcall/presence/track"
)

var allThreads = []presence.Topic{deliver.AllOf("thread")}

// in opens a page of a user in topics.
func in(t *testing.T, tracker *track.Tracker, user string, topics ...presence.Topic) *page {
	t.Helper()
	return openPage(t, tracker, track.ConnectOptions{Visitor: visitor(user), Topics: topics})
}

// goes closes a page, and signs its user out.
func (p *page) goes(tracker *track.Tracker, user presence.UserID) {
	p.t.Helper()
	p.conn.Close()
	noError(p.t, tracker.SignOut(p.t.Context(), user))
}

// record returns the keys of a consumer's record that begin with a prefix.
func record(t *testing.T, store backend.Store, prefix string) (keys []string) {
	t.Helper()
	entries, err := store.ReadConsumer(t.Context(), "program")
	noError(t, err)
	for key := range entries {
		if strings.HasPrefix(key, prefix) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// A consumer of a kind is told of all its topics, also of those that begin and end between two
// looks, in order, and of no others. Each tenant has its own kinds, and a topic that is named too is told once. Nothing is
// kept of a topic that is over, or of a user who is erased.
func TestDeliverKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		tracker := start(t, store, quiet)
		in(t, tracker, "early", "thread:1")
		in(t, tracker, "other", "site", "threads", "thread", "threa:1", "thread9", "room:1")
		for _, tenant := range []string{"acme", "globex"} {
			v := presence.Visitor{Tenant: tenant, User: presence.User{ID: "bob", Name: "BOB"}}.Inside()
			openPage(t, tracker, track.ConnectOptions{Visitor: v, Topics: []presence.Topic{presence.Topic("thread:1").In(tenant), presence.Topic("room:1").In(tenant)}})
		}
		p := &program{t: t, of: []presence.Topic{"thread:1", deliver.AllOf("thread").In("acme"), deliver.AllOf("thread")}}
		time.Sleep(time.Second)
		p.deliver("a", tracker, deliver.Options{})
		time.Sleep(time.Second)
		in(t, tracker, "brief", "thread:2").goes(tracker, "brief") // before the consumer has begun
		p.want(begins, "acme/thread:1 +acme\x1dbob, thread:1 +early, thread:2 +brief -brief")

		for i := range 5 {
			alice := in(t, tracker, "alice", "thread:7", "thread:")
			time.Sleep(time.Duration(i) * 100 * time.Millisecond)
			bob := in(t, tracker, "bob", "thread:7")
			time.Sleep(50 * time.Millisecond)
			alice.goes(tracker, "alice")
			bob.goes(tracker, "bob")
			time.Sleep(50 * time.Millisecond)
			alice = in(t, tracker, "alice", "thread:7")
			time.Sleep(50 * time.Millisecond)
			alice.goes(tracker, "alice")
			p.want(2*time.Second, "thread: +alice -alice, thread:7 +alice +bob -alice -bob +alice -alice")
		}
		time.Sleep(10 * time.Minute) // the topics are forgotten
		if got, want := strings.Join(record(t, store, "p/"), " "), "p/acme/thread:* p/acme/thread:1 p/thread:* p/thread:1"; got != want {
			t.Errorf("got the positions %s, want %s", got, want)
		}
		in(t, tracker, "alice", "thread:7").goes(tracker, "alice")
		p.want(2*time.Second, "thread:7 +alice -alice")
		if got := statsOf(tracker); got.Gaps != 0 || got.Left != 0 || got.Dropped != 0 {
			t.Errorf("got %+v, want no gaps", got)
		}
		noError(t, tracker.Erase(t.Context(), "early"))
		time.Sleep(10 * time.Second)
		if got := strings.Join(record(t, store, "t/"), " "); got != "t/acme/thread:1/acme\x1dbob" {
			t.Errorf("got the users %q, want that of the tenant alone", got)
		}
		p.want(5*time.Minute, "thread:1 !") // from then on there are topics beside the kind, and none of it
		in(t, tracker, "alice", "thread:7").goes(tracker, "alice")
		p.want(2*time.Second, "thread:7 +alice -alice")
	})
}

// The consumer is restarted. After a short time nothing is missing. After a long one there is a gap of the kind and of
// an empty topic, since somebody may have come and gone, and then all that differs.
func TestDeliverRestart(t *testing.T) {
	for away, want := range map[time.Duration]string{
		15 * time.Second: "site +bob, thread:1 -goes +comes, thread:2 +brief -brief, thread:3 +late",
		10 * time.Minute: "site ! +bob, thread:* !, thread:1 -goes +comes, thread:3 +late",
	} {
		bubble(t, away.String(), func(t *testing.T) {
			p, tracker := newProgram(t, memstore.New(), deliver.Options{}, presence.Site, deliver.AllOf("thread"))
			in(t, tracker, "alice").goes(tracker, "alice")
			in(t, tracker, "stays", "thread:1")
			goes := in(t, tracker, "goes", "thread:1")
			p.want(2*time.Second, "site +alice -alice, thread:1 +stays +goes")
			time.Sleep(time.Hour) // the log of the site is gone, which is no gap
			p.stop()
			goes.goes(tracker, "goes")
			in(t, tracker, "comes", "thread:1")
			in(t, tracker, "brief", "thread:2").goes(tracker, "brief")
			time.Sleep(away)
			in(t, tracker, "late", "thread:3")
			in(t, tracker, "bob")
			p.deliver("a", tracker, deliver.Options{})
			p.want(begins, want)
		})
	}
}

// The leader cannot look at the list for long: what came and went meanwhile is told, or a gap of
// the kind.
func TestDeliverKindListOut(t *testing.T) {
	for away, want := range map[time.Duration]string{
		10 * time.Second: "thread:1 +brief -brief",
		5 * time.Minute:  "thread:* !",
	} {
		bubble(t, away.String(), func(t *testing.T) {
			store := memstore.New()
			faults := presencetest.NewFaults(store)
			p, _ := newProgram(t, faults, deliver.Options{}, allThreads...)
			b := start(t, store, quiet)
			faults.Break(presencetest.Fault{Err: errDown}, presencetest.CallTopics)
			in(t, b, "brief", "thread:1").goes(b, "brief")
			time.Sleep(away)
			faults.Heal()
			p.want(2*time.Second, want)
			in(t, b, "alice", "thread:1")
			p.want(2*time.Second, "thread:1 +alice")
		})
	}
}

// Over the bound topics wait, are counted, and have a gap of the kind: as it begins, and as it is
// over. A topic that gets room is told of from its beginning, or from where it was.
func TestDeliverKindBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		p, tracker := newProgram(t, store, deliver.Options{MaxTopics: 2}, presence.Site, deliver.AllOf("thread"))
		in(t, tracker, "early", "thread:30").goes(tracker, "early")
		p.want(2*time.Second, "thread:30 +early -early")
		first := in(t, tracker, "a", "thread:1")
		in(t, tracker, "b", "thread:2", "site")
		p.want(2*time.Second, "site +b, thread:1 +a, thread:2 +b")
		for i := range 5 {
			in(t, tracker, "c", presence.Topic(fmt.Sprint("thread:3", i)))
		}
		p.want(2*time.Second, "thread:* !")
		if got := statsOf(tracker); got.Left != 5 {
			t.Errorf("got %d topics left, want 5", got.Left)
		}
		if got := record(t, store, "p/"); len(got) != 5 {
			t.Errorf("got the positions %v, want the three topics, the site and the kind", got)
		}
		noError(t, tracker.SignOut(t.Context(), "c"))
		in(t, tracker, "d", "thread:31")
		p.want(30*time.Second, "")
		first.goes(tracker, "a")
		p.want(5*time.Second, "thread:1 -a, thread:30 +c -c, thread:31 +c -c +d")
		p.want(5*time.Minute, "thread:* !")
		if got := statsOf(tracker); got.Left != 0 {
			t.Errorf("got %d topics left, want none", got.Left)
		}
		in(t, tracker, "e", "thread:31")
		p.want(2*time.Second, "thread:31 +e")
	})
}

// A store whose reads are slow makes the leader of many topics late, but takes the lead from nobody.
func TestDeliverKindSlowStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newTwin(t, memstore.New(), allThreads...)
		time.Sleep(2 * time.Second)
		p.faults.Break(presencetest.Fault{Delay: 100 * time.Millisecond}, presencetest.CallLog, presencetest.CallSnapshot)
		const topics = 200 // 20 s of reads
		for i := range topics {
			in(t, p.b, fmt.Sprint("u", i), presence.Topic(fmt.Sprint("thread:", i)))
		}
		time.Sleep(10 * time.Second)
		if n := len(p.all()); n < 50 || n == topics {
			t.Errorf("got %d events after ten seconds, want about half", n)
		}
		time.Sleep(30 * time.Second)
		if n := len(p.all()); n != topics || slices.Contains(p.by, "b") {
			t.Errorf("got %d events, want %d of a alone", n, topics)
		}
		for i := range 4 * topics { // so much happens that one round never reaches the last topic
			time.Sleep(50 * time.Millisecond)
			choose(t, p.b, presence.UserID(fmt.Sprint("u", i%topics)), []presence.Status{presence.Busy, presence.Away}[i/topics%2])
			if i == topics {
				in(t, p.b, "late", presence.Topic(fmt.Sprint("thread:", topics-1)))
			}
		}
		if n := len(p.all()); n != topics+1 {
			t.Errorf("got %d events, want the join in the last topic too", n)
		}
	})
}

// Topics with guests alone take no room, and cost no events.
func TestDeliverKindGuests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, tracker := newProgram(t, memstore.New(), deliver.Options{MaxTopics: 1}, allThreads...)
		for i := range 2_500 { // pages of the list
			tracker.SeenGuest(presence.Topic(fmt.Sprintf("thread:%04d", i)), fmt.Sprint("guest", i))
		}
		time.Sleep(time.Second)
		in(t, tracker, "alice", "thread:2400")
		p.want(5*time.Second, "thread:2400 +alice")
		if got := statsOf(tracker); got.Left != 0 || got.Gaps != 0 {
			t.Errorf("got %+v, want no topics left, and no gaps", got)
		}
	})
}

// A tenant whose visitors open many topics leaves room for those of others.
func TestDeliverKindShares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, tracker := newProgram(t, memstore.New(), deliver.Options{MaxTopics: 8},
			deliver.AllOf("thread").In("acme"), deliver.AllOf("room").In("acme"), deliver.AllOf("thread").In("globex"))
		open := func(tenant string, topics ...presence.Topic) {
			v := presence.Visitor{Tenant: tenant, User: presence.User{ID: "u", Name: "U"}}.Inside()
			for _, topic := range topics {
				openPage(t, tracker, track.ConnectOptions{Visitor: v, Topics: []presence.Topic{topic.In(tenant)}})
			}
		}
		for i := range 10 {
			open("acme", presence.Topic(fmt.Sprint("thread:", i)), presence.Topic(fmt.Sprint("room:", i)))
		}
		time.Sleep(2 * time.Second)
		if got := strings.Count(p.read(), "+"); got != 4 {
			t.Errorf("got %d joins of the tenant, want its share, 4", got)
		}
		open("globex", "thread:1", "thread:2", "thread:3", "thread:4")
		p.want(2*time.Second, "globex/thread:1 +globex\x1du, globex/thread:2 +globex\x1du, globex/thread:3 +globex\x1du, globex/thread:4 +globex\x1du")
	})
}
