package track_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/presence"
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

// read returns what was told since the last call, with "+" for joins, "-" for leaves, "_" for
// leaves without last seen and "!" for gaps, and checks what always holds.
func (p *program) read() string {
	p.t.Helper()
	synctest.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	var lines []string
	for _, d := range p.told {
		switch d.Type {
		case deliver.Join:
			lines = append(lines, "+"+string(d.User.ID))
		case deliver.Leave:
			if d.LastSeen.IsZero() {
				lines = append(lines, "_"+string(d.User.ID))
				if d.Seconds != 0 {
					p.t.Errorf("got %+v, want no seconds without last seen", d)
				}
				break
			}
			lines = append(lines, "-"+string(d.User.ID))
			if got := d.LastSeen.Sub(d.Since).Seconds(); math.Abs(got-d.Seconds) > 0.001 || got < 0 {
				p.t.Errorf("got %+v, want the seconds from since to last seen", d)
			}
		case deliver.Gap:
			lines = append(lines, "!")
		}
		if p.of != nil {
			lines[len(lines)-1] += "@" + string(d.Topic)
		}
		if d.Type != deliver.Gap && d.User.Name != strings.ToUpper(string(d.User.ID.Local())) {
			p.t.Errorf("got %+v, want the user's name", d)
		}
		if d.ID == "" || d.At.IsZero() || d.Topic == "" || d.Try == 0 {
			p.t.Errorf("got %+v, want an ID, a topic, a moment and a try", d)
		}
	}
	p.told = nil
	return strings.Join(lines, " ")
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

var quiet = track.Config{Logger: slog.New(slog.DiscardHandler)}

// begins is how long a new consumer needs at most.
const begins = 6 * time.Second

// A new consumer is told all that happens from its first position on, also if each node that was there ends, or
// crashes, a second later.
func TestDeliverNewConsumerLosesItsNode(t *testing.T) {
	crashed := presencetest.Fault{Err: errDown}
	for _, tt := range []struct {
		name string
		ends func(p *program, a *track.Tracker, faults *presencetest.Faults)
	}{
		{"it closes", func(p *program, a *track.Tracker, _ *presencetest.Faults) {
			p.deliver("a", a, deliver.Options{})
			time.Sleep(time.Second)
			noError(p.t, a.Close(p.t.Context()))
		}},
		{"it crashes", func(p *program, a *track.Tracker, faults *presencetest.Faults) {
			p.deliver("a", a, deliver.Options{})
			time.Sleep(time.Second)
			faults.Break(crashed)
		}},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			store := memstore.New()
			faults := presencetest.NewFaults(store)
			a, b := start(t, faults, quiet), start(t, store, quiet)
			early := openPage(t, b, track.ConnectOptions{Visitor: visitor("early")})
			time.Sleep(time.Second)
			p := &program{t: t}
			tt.ends(p, a, faults)
			brief := openPage(t, b, track.ConnectOptions{Visitor: visitor("brief")})
			early.conn.Close()
			noError(t, b.SignOut(t.Context(), "early"))
			time.Sleep(time.Second)
			noError(t, b.SignOut(t.Context(), "brief"))
			brief.conn.Close()
			time.Sleep(5 * time.Second)
			p.deliver("b", b, deliver.Options{})
			p.want(2*begins, "+early +brief -early -brief")
			openPage(t, b, track.ConnectOptions{Visitor: visitor("alice")})
			p.want(time.Second, "+alice")
		})
	}
}

func TestDeliver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, memstore.New(), quiet)
		early := openPage(t, tracker, track.ConnectOptions{Visitor: visitor("early")})
		p := &program{t: t}
		time.Sleep(time.Second)
		p.deliver("a", tracker, deliver.Options{})
		time.Sleep(time.Second)
		brief := openPage(t, tracker, track.ConnectOptions{Visitor: visitor("brief")})
		time.Sleep(time.Second)
		noError(t, tracker.SignOut(t.Context(), "brief"))
		brief.conn.Close()
		p.want(begins, "+early +brief -brief") // also what happened before the record was made

		alice := openPage(t, tracker, track.ConnectOptions{Visitor: visitor("alice")})
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
		early.conn.Close()
		p.want(15*time.Second, "-early")
		time.Sleep(time.Hour) // the topic is forgotten, and starts from Origin
		openPage(t, tracker, track.ConnectOptions{Visitor: visitor("late")})
		p.want(time.Second, "+late")
		if got := tracker.Stats().Deliveries["program"]; !got.Leads || got.Told != 9 || got.Gaps != 0 || got.Backlog != 0 || got.Failed != 0 {
			t.Errorf("got %+v, want 9 told, and nothing else", got)
		}
	})
}

// Each event has an ID of its own, and its repetition has the same.
func TestDeliverTakeOver(t *testing.T) {
	for _, dies := range []bool{false, true} {
		bubble(t, fmt.Sprintf("dies=%v", dies), func(t *testing.T) {
			store := memstore.New()
			faults := presencetest.NewFaults(store)
			a, b := start(t, faults, quiet), start(t, store, quiet)
			p := &program{t: t}
			stop := p.deliver("a", a, deliver.Options{})
			time.Sleep(begins)
			p.deliver("b", b, deliver.Options{})
			openPage(t, b, track.ConnectOptions{Visitor: visitor("alice")})
			p.want(time.Second, "+alice")
			bob := openPage(t, b, track.ConnectOptions{Visitor: visitor("bob")})
			p.want(time.Second, "+bob")
			within := 3 * time.Second
			if dies { // as a node that can reach nobody any more
				faults.Break(presencetest.Fault{Err: errDown})
				within = 9 * time.Second
			} else {
				stop()
			}
			bob.conn.Close()
			noError(t, b.SignOut(t.Context(), "bob"))
			openPage(t, b, track.ConnectOptions{Visitor: visitor("carol")})
			p.want(within, "-bob +carol")
			if !b.Stats().Deliveries["program"].Leads {
				t.Error("want b to lead")
			}
			faults.Heal()
			openPage(t, b, track.ConnectOptions{Visitor: visitor("dave")})
			p.want(10*time.Second, "+dave")
			if by := p.by; by[len(by)-1] != "b" || by[0] != "a" || a.Stats().Deliveries["program"].Leads {
				t.Errorf("got %v, want a to stand by from then on", by)
			}
		})
	}
}
