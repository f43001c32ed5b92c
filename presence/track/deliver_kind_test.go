package track_test

import (
	"context"
	"errors"
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

// inOrder returns what a program was told, with one line for each topic.
func (p *program) inOrder() string {
	of := make(map[string][]string)
	for line := range strings.FieldsSeq(p.read()) {
		what, topic, _ := strings.Cut(line, "@")
		of[topic] = append(of[topic], what)
	}
	var all []string
	for topic, lines := range of {
		all = append(all, topic+" "+strings.Join(lines, " "))
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

func (p *program) wantInOrder(after time.Duration, want string) {
	p.t.Helper()
	time.Sleep(after)
	if got := p.inOrder(); got != want {
		p.t.Errorf("got %q, want %q", got, want)
	}
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
// looks, in order, and of no others. Of a topic that is over nothing is kept.
func TestDeliverKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		tracker := start(t, store, quiet)
		in(t, tracker, "early", "thread:1")
		in(t, tracker, "other", "site", "threads", "thread", "threa:1", "thread9", "room:1")
		of := openPage(t, tracker, track.ConnectOptions{Visitor: visitor("other").Inside(), Topics: []presence.Topic{presence.Topic("thread:1").In("acme")}})
		p := &program{t: t, of: allThreads}
		time.Sleep(time.Second)
		p.deliver("a", tracker, deliver.Options{})
		time.Sleep(time.Second)
		in(t, tracker, "brief", "thread:2").goes(tracker, "brief") // before the consumer has begun
		p.wantInOrder(begins, "thread:1 +early, thread:2 +brief -brief")

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
			p.wantInOrder(2*time.Second, "thread: +alice -alice, thread:7 +alice +bob -alice -bob +alice -alice")
		}
		of.conn.Close()
		time.Sleep(10 * time.Minute) // the topics are forgotten
		if got, want := strings.Join(record(t, store, "p/"), " "), "p/thread:* p/thread:1"; got != want {
			t.Errorf("got the positions %s, want %s", got, want)
		}
		in(t, tracker, "alice", "thread:7").goes(tracker, "alice")
		p.wantInOrder(2*time.Second, "thread:7 +alice -alice")
		if got := tracker.Stats().Deliveries["program"]; got.Gaps != 0 || got.Left != 0 || got.Dropped != 0 {
			t.Errorf("got %+v, want no gaps", got)
		}
	})
}

// Of tenants each has its own kinds, and a topic that is named too is told once.
func TestDeliverKindsOfTenants(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, memstore.New(), quiet)
		p := &program{t: t, of: []presence.Topic{"thread:1", deliver.AllOf("thread").In("acme"), deliver.AllOf("thread"), deliver.AllOf("room")}}
		p.deliver("a", tracker, deliver.Options{})
		time.Sleep(begins)
		for _, tenant := range []string{"", "acme", "globex"} {
			v := presence.Visitor{Tenant: tenant, User: presence.User{ID: "alice", Name: "ALICE"}}.Inside()
			openPage(t, tracker, track.ConnectOptions{Visitor: v, Topics: []presence.Topic{presence.Topic("thread:1").In(tenant), presence.Topic("room:a:b").In(tenant)}})
		}
		p.wantInOrder(3*time.Second, "acme/thread:1 +acme\x1dalice, room:a:b +alice, thread:1 +alice")
	})
}

func TestDeliverKindArguments(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, memstore.New(), quiet)
		never := func(context.Context, deliver.Event) error { return nil }
		over, cancel := context.WithCancel(t.Context())
		cancel()
		for topic, want := range map[presence.Topic]error{
			"*": presence.ErrInvalidTopic, ":*": presence.ErrInvalidTopic, "thread:4*": presence.ErrInvalidTopic, "thread:*:*": presence.ErrInvalidTopic, "a:b:*": presence.ErrInvalidTopic,
			"a b:*": presence.ErrInvalidTopic, "@devices:*": presence.ErrInvalidTopic, "acme/:*": presence.ErrInvalidTopic, "ACME/thread:*": presence.ErrInvalidTopic,
			deliver.AllOf(strings.Repeat("a", 128)): presence.ErrInvalidTopic, deliver.AllOf(strings.Repeat("a", 127)): context.Canceled, "acme/thread:*": context.Canceled,
		} {
			if err := tracker.Deliver(over, "program", []presence.Topic{topic}, deliver.Options{}, never); !errors.Is(err, want) {
				t.Errorf("%q: got %v, want %v", topic, err, want)
			}
		}
		for n, want := range map[int]error{-1: context.Canceled, 10_000: context.Canceled, 10_001: presence.ErrInvalidConfig} {
			if err := tracker.Deliver(over, "program", allThreads, deliver.Options{MaxTopics: n}, never); !errors.Is(err, want) {
				t.Errorf("MaxTopics %d: got %v, want %v", n, err, want)
			}
		}
	})
}

// The consumer is restarted. After a short time nothing is missing; after a long one there is a gap
// of the kind, since topics may have come and gone, and then all that differs.
func TestDeliverKindRestart(t *testing.T) {
	for away, want := range map[time.Duration]string{
		15 * time.Second: "thread:1 -goes +comes, thread:2 +brief -brief, thread:3 +late",
		10 * time.Minute: "thread:* !, thread:1 -goes +comes, thread:3 +late",
	} {
		bubble(t, away.String(), func(t *testing.T) {
			tracker := start(t, memstore.New(), quiet)
			p := &program{t: t, of: allThreads}
			stop := p.deliver("a", tracker, deliver.Options{})
			time.Sleep(begins)
			in(t, tracker, "stays", "thread:1")
			goes := in(t, tracker, "goes", "thread:1")
			p.wantInOrder(2*time.Second, "thread:1 +stays +goes")
			stop()
			goes.goes(tracker, "goes")
			in(t, tracker, "comes", "thread:1")
			in(t, tracker, "brief", "thread:2").goes(tracker, "brief")
			time.Sleep(away)
			in(t, tracker, "late", "thread:3")
			p.deliver("a", tracker, deliver.Options{})
			p.wantInOrder(begins, want)
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
			cfg := quiet
			cfg.Age = time.Minute
			a, b := start(t, faults, cfg), start(t, store, cfg)
			p := &program{t: t, of: allThreads}
			p.deliver("a", a, deliver.Options{})
			time.Sleep(begins)
			faults.Break(presencetest.Fault{Err: errDown}, presencetest.CallTopics)
			in(t, b, "brief", "thread:1").goes(b, "brief")
			time.Sleep(away)
			faults.Heal()
			p.wantInOrder(2*time.Second, want)
			in(t, b, "alice", "thread:1")
			p.wantInOrder(2*time.Second, "thread:1 +alice")
		})
	}
}

// The store is wiped: the kind has a gap, and so has each topic in which somebody was.
func TestDeliverKindWipe(t *testing.T) {
	for dies, want := range map[bool]string{
		false: "thread:* !, thread:0 ! _u0, thread:1 ! +new, thread:2 +newer",
		true:  "thread:* !, thread:0 +u2, thread:1 +new +u3 +u1, thread:2 +newer", // as TestDeliverWipe
	} {
		bubble(t, fmt.Sprintf("dies=%v", dies), func(t *testing.T) {
			store := newSwapStore()
			p := newTwin(t, store, allThreads...)
			var pages []*page
			for i := range 4 {
				pages = append(pages, in(t, p.b, fmt.Sprint("u", i), presence.Topic(fmt.Sprint("thread:", i%2))))
				time.Sleep(time.Second)
			}
			p.wantInOrder(time.Minute, "thread:0 +u0 +u2, thread:1 +u1 +u3")
			if dies {
				p.dies()
			}
			store.wipe()
			pages[0].conn.Close() // nobody restores u0
			time.Sleep(10 * time.Millisecond)
			in(t, p.b, "new", "thread:1")
			in(t, p.b, "newer", "thread:2")
			p.wantInOrder(time.Minute, want)
			if got := strings.Join(record(t, store, "t/"), " "); got != "t/thread:0/u2 t/thread:1/new t/thread:1/u1 t/thread:1/u3 t/thread:2/newer" {
				t.Errorf("got the record %s", got)
			}
			pages[1].goes(p.b, "u1")
			p.wantInOrder(2*time.Second, "thread:1 -u1")
		})
	}
}

// Over the bound topics wait, are counted, and have a gap of the kind: as it begins, and as it is
// over. A topic that gets room is told of from its beginning.
func TestDeliverKindBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := quiet
		cfg.Age = time.Minute
		store := memstore.New()
		tracker := start(t, store, cfg)
		p := &program{t: t, of: append([]presence.Topic{presence.Site}, allThreads...)}
		p.deliver("a", tracker, deliver.Options{MaxTopics: 2})
		time.Sleep(begins)
		first := in(t, tracker, "a", "thread:1")
		in(t, tracker, "b", "thread:2", "site")
		p.wantInOrder(2*time.Second, "site +b, thread:1 +a, thread:2 +b")
		for i := range 5 {
			in(t, tracker, "c", presence.Topic(fmt.Sprint("thread:3", i)))
		}
		p.wantInOrder(2*time.Second, "thread:* !")
		if got := tracker.Stats().Deliveries["program"]; got.Left != 5 {
			t.Errorf("got %d topics left, want 5", got.Left)
		}
		if got := record(t, store, "p/"); len(got) != 4 {
			t.Errorf("got the positions %v, want the two topics, the site and the kind", got)
		}
		noError(t, tracker.SignOut(t.Context(), "c"))
		in(t, tracker, "d", "thread:31")
		p.wantInOrder(30*time.Second, "")
		first.goes(tracker, "a")
		p.wantInOrder(5*time.Second, "thread:1 -a, thread:30 +c -c, thread:31 +c -c +d")
		p.wantInOrder(5*time.Minute, "thread:* !")
		if got := tracker.Stats().Deliveries["program"]; got.Left != 0 {
			t.Errorf("got %d topics left, want none", got.Left)
		}
		in(t, tracker, "e", "thread:31")
		p.wantInOrder(2*time.Second, "thread:31 +e")
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
	})
}

// Topics with guests alone take no room, and cost no events.
func TestDeliverKindGuests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, memstore.New(), quiet)
		p := &program{t: t, of: allThreads}
		p.deliver("a", tracker, deliver.Options{MaxTopics: 1})
		time.Sleep(begins)
		for i := range 2_500 { // pages of the list
			tracker.SeenGuest(presence.Topic(fmt.Sprintf("thread:%04d", i)), fmt.Sprint("guest", i))
		}
		time.Sleep(time.Second)
		in(t, tracker, "alice", "thread:2400")
		p.wantInOrder(5*time.Second, "thread:2400 +alice")
		if got := tracker.Stats().Deliveries["program"]; got.Left != 0 || got.Gaps != 0 {
			t.Errorf("got %+v, want no topics left, and no gaps", got)
		}
	})
}

// A user who is erased is in no record of a kind.
func TestDeliverKindErased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		p, tracker := newProgram(t, store, allThreads...)
		in(t, tracker, "alice", "thread:1")
		p.wantInOrder(2*time.Second, "thread:1 +alice")
		noError(t, tracker.Erase(t.Context(), "alice"))
		time.Sleep(10 * time.Second)
		p.read()
		if got := record(t, store, "t/"); len(got) != 0 {
			t.Errorf("got %v, want nobody", got)
		}
	})
}

// A tenant whose visitors open many topics leaves room for those of others.
func TestDeliverKindShares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, memstore.New(), quiet)
		p := &program{t: t, of: []presence.Topic{deliver.AllOf("thread").In("acme"), deliver.AllOf("room").In("acme"), deliver.AllOf("thread").In("globex")}}
		p.deliver("a", tracker, deliver.Options{MaxTopics: 8})
		time.Sleep(begins)
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
		p.wantInOrder(2*time.Second, "globex/thread:1 +globex\x1du, globex/thread:2 +globex\x1du, globex/thread:3 +globex\x1du, globex/thread:4 +globex\x1du")
	})
}

// A topic to which somebody comes back, and for which there is no room then, waits where it was.
func TestDeliverKindWaitsWhereItWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, memstore.New(), quiet)
		p := &program{t: t, of: allThreads}
		p.deliver("a", tracker, deliver.Options{MaxTopics: 1})
		time.Sleep(begins)
		in(t, tracker, "a", "thread:1").goes(tracker, "a")
		p.wantInOrder(3*time.Second, "thread:1 +a -a")
		holds := in(t, tracker, "b", "thread:2")
		p.wantInOrder(2*time.Second, "thread:2 +b")
		in(t, tracker, "c", "thread:1")
		p.wantInOrder(30*time.Second, "thread:* !")
		holds.goes(tracker, "b")
		p.wantInOrder(20*time.Second, "thread:* !, thread:1 +c, thread:2 -b")
	})
}
