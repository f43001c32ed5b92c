package track_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
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

// A program is what the consumers of a test were told, on whatever node.
type program struct {
	t    *testing.T
	name string           // of the consumer; empty: "program"
	of   []presence.Topic // what it is told of; none: the site
	mu   sync.Mutex
	told []deliver.Event
	by   []string // which node told each
	fail func(deliver.Event) error
	stop func() // ends the first call of Deliver
}

// deliver lets a node deliver to the program until stop is called.
func (p *program) deliver(node string, tracker *track.Tracker, o deliver.Options) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		topics := p.of
		if topics == nil {
			topics = []presence.Topic{presence.Site}
		}
		err := tracker.Deliver(ctx, cmp.Or(p.name, "program"), topics, o, func(_ context.Context, d deliver.Event) error {
			p.mu.Lock()
			fail := p.fail
			p.mu.Unlock()
			if fail != nil {
				if err := fail(d); err != nil {
					return err
				}
			}
			p.mu.Lock()
			defer p.mu.Unlock()
			p.told, p.by = append(p.told, d), append(p.by, node)
			return nil
		})
		if !errors.Is(err, context.Canceled) && !errors.Is(err, presence.ErrClosed) {
			p.t.Errorf("Deliver: got %v", err)
		}
	}()
	stop = sync.OnceFunc(func() {
		cancel()
		<-ended
	})
	p.t.Cleanup(stop)
	return stop
}

// fails lets fail decide about events from now on.
func (p *program) fails(fail func(deliver.Event) error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fail = fail
}

// read returns what was told since the last call, with "+" for joins, "-" for leaves, "_" for
// leaves without last seen and "!" for gaps, and checks what always holds. A program of several topics has what was
// told of each of them.
func (p *program) read() string {
	p.t.Helper()
	synctest.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	lines := make(map[presence.Topic]string)
	for _, d := range p.told {
		sign := map[deliver.EventType]string{deliver.Join: "+", deliver.Leave: "-", deliver.Gap: "!"}[d.Type]
		want := 0.0
		if d.Type == deliver.Leave {
			if want = d.LastSeen.Sub(d.Since).Seconds(); d.LastSeen.IsZero() {
				sign, want = "_", 0
			}
		}
		if d.Seconds < 0 || math.Abs(d.Seconds-want) > 0.001 {
			p.t.Errorf("got %+v, want the seconds from since to last seen", d)
		}
		lines[d.Topic] = strings.TrimSpace(lines[d.Topic] + " " + sign + string(d.User.ID))
		if d.Type != deliver.Gap && d.User.Name != strings.ToUpper(string(d.User.ID.Local())) {
			p.t.Errorf("got %+v, want the user's name", d)
		}
		if d.ID == "" || d.At.IsZero() || d.Topic == "" || d.Try == 0 {
			p.t.Errorf("got %+v, want an ID, a topic, a moment and a try", d)
		}
	}
	p.told = nil
	if p.of == nil {
		return lines[presence.Site]
	}
	var all []string
	for _, topic := range slices.Sorted(maps.Keys(lines)) {
		all = append(all, string(topic)+" "+lines[topic])
	}
	return strings.Join(all, ", ")
}

// want waits for a while, and compares.
func (p *program) want(after time.Duration, want string) {
	p.t.Helper()
	time.Sleep(after)
	if got := p.read(); got != want {
		p.t.Errorf("got %q, want %q", got, want)
	}
}

// all returns what was told so far, without forgetting it.
func (p *program) all() []deliver.Event {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.told)
}

// newProgram returns a program, and the one node that delivers to it.
func newProgram(t *testing.T, store backend.Store, o deliver.Options, of ...presence.Topic) (*program, *track.Tracker) {
	cfg := quiet
	cfg.Age = time.Minute // topics are soon forgotten
	p, tracker := &program{t: t, of: of}, start(t, store, cfg)
	p.stop = p.deliver("a", tracker, o)
	time.Sleep(begins)
	return p, tracker
}

// statsOf returns the figures of the program on a node.
func statsOf(tracker *track.Tracker) deliver.Stats { return tracker.Stats().Deliveries["program"] }

// A twin is two nodes that deliver to a program. a leads; it reaches the store by way of faults.
type twin struct {
	*program
	a, b   *track.Tracker
	faults *presencetest.Faults
	others *presencetest.Faults // the way of b
}

func newTwin(t *testing.T, store backend.Store, of ...presence.Topic) *twin {
	faults, others := presencetest.NewFaults(store), presencetest.NewFaults(store)
	p := &twin{program: &program{t: t, of: of}, a: start(t, faults, quiet), b: start(t, others, quiet), faults: faults, others: others}
	p.stop = p.deliver("a", p.a, deliver.Options{})
	time.Sleep(begins)
	p.deliver("b", p.b, deliver.Options{})
	return p
}

// dies lets node a reach nobody any more.
func (p *twin) dies() { p.faults.Break(presencetest.Fault{Err: errDown}) }

var quiet = track.Config{Logger: slog.New(slog.DiscardHandler)}

// begins is how long a new consumer needs at most.
const begins = 6 * time.Second

// A new consumer is told all that happens from its first position on, also if each node that was there crashes a second
// later.
func TestDeliverNewConsumerLosesItsNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		faults := presencetest.NewFaults(store)
		a, b := start(t, faults, quiet), start(t, store, quiet)
		early := in(t, b, "early")
		time.Sleep(time.Second)
		p := &program{t: t}
		p.deliver("a", a, deliver.Options{})
		time.Sleep(time.Second)
		faults.Break(presencetest.Fault{Err: errDown})
		brief := in(t, b, "brief")
		early.goes(b, "early")
		time.Sleep(time.Second)
		brief.goes(b, "brief")
		time.Sleep(5 * time.Second)
		p.deliver("b", b, deliver.Options{})
		p.want(2*begins, "+early +brief -early -brief")
		in(t, b, "alice")
		p.want(time.Second, "+alice")
	})
}

func TestDeliver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, tracker := newProgram(t, memstore.New(), deliver.Options{})
		alice := in(t, tracker, "alice")
		p.want(time.Second, "+alice")
		noError(t, tracker.SetStatus(t.Context(), "alice", presence.Busy))
		p.want(time.Second, "") // no event
		noError(t, tracker.SetStatus(t.Context(), "alice", presence.Invisible))
		p.want(time.Second, "-alice")
		noError(t, tracker.SetStatus(t.Context(), "alice", presence.Online))
		p.want(time.Second, "+alice")
		time.Sleep(5 * time.Minute)
		alice.conn.Close()
		time.Sleep(15 * time.Second)
		if all := p.all(); len(all) != 1 || math.Abs(all[0].Seconds-301) > 3 {
			t.Errorf("got %+v, want a leave after 301 seconds", all)
		}
		p.want(0, "-alice")
		time.Sleep(time.Hour) // the topic is forgotten, and starts from Origin
		in(t, tracker, "late")
		p.want(time.Second, "+late")
		if got := statsOf(tracker); !got.Leads || got.Told != 5 || got.Gaps != 0 || got.Backlog != 0 || got.Failed != 0 {
			t.Errorf("got %+v, want 5 told, and nothing else", got)
		}
	})
}

// Another node goes on where the first one was, if that one ends or dies.
func TestDeliverTakeOver(t *testing.T) {
	for _, dies := range []bool{false, true} {
		bubble(t, fmt.Sprintf("dies=%v", dies), func(t *testing.T) {
			store := memstore.New()
			p := newTwin(t, store)
			in(t, p.b, "alice")
			p.want(time.Second, "+alice")
			bob := in(t, p.b, "bob")
			p.want(time.Second, "+bob")
			within := 3 * time.Second
			if dies {
				p.dies()
				within = 9 * time.Second
			} else {
				p.stop()
			}
			bob.goes(p.b, "bob")
			in(t, p.b, "carol")
			p.want(within, "-bob +carol")
			if !statsOf(p.b).Leads {
				t.Error("want b to lead")
			}
			if got := strings.Join(record(t, store, "t/"), " "); got != "t/site/alice t/site/carol" {
				t.Errorf("got %s in the record, want who is there", got)
			}
			p.faults.Heal()
			in(t, p.b, "dave")
			p.want(10*time.Second, "+dave")
			if by := p.by; by[len(by)-1] != "b" || by[0] != "a" || statsOf(p.a).Leads {
				t.Errorf("got %v, want a to stand by from then on", by)
			}
		})
	}
}
