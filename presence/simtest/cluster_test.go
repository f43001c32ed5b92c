package simtest_test

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/presencetest"
)

// In a cluster each topic has a server of its own, and so have the leases of nodes, and the
// notices with what users chose. One of them can lose its data, or its latest writes, while the
// others go on; and what reaches all of them reaches each at a moment of its own. nodeLeases and
// notices are names of parts in acts.
const (
	nodeLeases = "nodes"
	notices    = "notices"
)

var clusterFailures = []string{"lose part", "part lags", "read only", "topic late", "flush"}

// clusterActs returns what fails in a game with a cluster.
func (g game) clusterActs(rnd *rand.Rand, length time.Duration) (acts []act) {
	parts := g.parts()
	for range 1 + rnd.IntN(4) {
		a := act{at: upTo(rnd, length), who: rnd.IntN(g.nodes), with: parts[rnd.IntN(len(parts))]}
		if len(g.acts) > 0 && rnd.IntN(2) == 0 {
			a.at = g.acts[rnd.IntN(len(g.acts))].at + upTo(rnd, time.Second)
		}
		switch a.do = clusterFailures[rnd.IntN(len(clusterFailures))]; a.do {
		case "part lags": // as lag
			a.d = min(50*time.Millisecond+upTo(rnd, g.ttl()/6), min(g.ttl(), nodeTTL)/6)
		case "lose part":
			if rnd.IntN(len(parts)+1) == 0 {
				a.with = notices
			}
		case "flush":
			a.d, a.with = upTo(rnd, 2*time.Second), ""
		case "read only":
			a.d, a.with = 100*time.Millisecond+upTo(rnd, g.ttl()/2), ""
		case "topic late":
			a.d, a.with = 50*time.Millisecond+upTo(rnd, 3*time.Second), parts[1+rnd.IntN(len(parts)-1)]
		}
		if renewals := a.do == "part lags" || a.do == "read only"; renewals && g.lags(append(acts, g.acts...), a.at) {
			continue
		}
		acts = append(acts, a)
	}
	return acts
}

// lags reports whether the server loses its latest writes around a moment. A failure close to it
// that takes one more renewal of a lease would take more than the leases can do without.
func (g game) lags(acts []act, at time.Duration) bool {
	return slices.ContainsFunc(acts, func(a act) bool {
		return (a.do == "lag" || a.do == "part lags") && (a.at-at).Abs() < 2*g.ttl()
	})
}

// failsInCluster does an act of clusterActs.
func (w *world) failsInCluster(a act) {
	switch a.do {
	case "lose part":
		w.losePart(a.with)
	case "flush":
		for _, part := range append(w.game.parts(), notices) {
			at := upTo(w.chance, a.d)
			w.fails(a.do, func() {
				time.Sleep(at)
				w.losePart(part)
				w.note("%s is lost", part)
			})
		}
	case "part lags":
		had := w.server.part(a.with)
		w.fails(a.do, func() {
			time.Sleep(a.d)
			w.losesSome()
			w.server.put(a.with, had)
			w.server.takenOver()
			w.note("%s is back at what it had", a.with)
		})
	case "read only": // what was written is still told
		w.storeFails(a.do, "readonly", presencetest.Fault{Err: errAway}, a.d)
	case "topic late": // what happens elsewhere is told first
		if p := w.at(a.who % w.game.nodes); p != nil {
			p.link.hold(presence.Topic(a.with))
			well := p.suffers()
			w.fails(a.do, func() {
				time.Sleep(a.d)
				p.link.release(presence.Topic(a.with))
				well()
			})
		}
	default:
		panic("nobody can " + a.do)
	}
}

// parts are those that can lose their latest writes.
func (g game) parts() []string {
	parts := []string{nodeLeases}
	for _, topic := range g.topics() {
		parts = append(parts, string(topic))
	}
	return parts
}

// losePart loses all data of a part.
func (w *world) losePart(name string) {
	if name == notices {
		w.server.loseNotices()
		w.loses()
		return
	}
	w.losesSome()
	w.server.put(name, reflect.Value{})
}

// losesSome is for when the store has lost data that are no notices.
func (w *world) losesSome() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lost = true
}

// writes are the calls that a server refuses while it is read only.
var writes = []presencetest.Call{
	presencetest.CallApply, presencetest.CallSweep, presencetest.CallAge, presencetest.CallTrim, presencetest.CallPublish,
	presencetest.CallPutStatus, presencetest.CallSend, presencetest.CallPoll, presencetest.CallClaimConsumer, presencetest.CallCommitConsumer,
}

// part returns a copy of what the server has of a topic, or of the leases of nodes.
func (s *server) part(name string) reflect.Value {
	lockOf(s.Store, "mu").Lock()
	defer lockOf(s.Store, "mu").Unlock()
	has := s.field("nodes")
	if name != nodeLeases {
		has = s.field("topics").MapIndex(reflect.ValueOf(presence.Topic(name)))
	}
	if !has.IsValid() {
		return has
	}
	return make(copier).of(has)
}

// put replaces it; by nothing if there is no value.
func (s *server) put(name string, value reflect.Value) {
	lockOf(s.Store, "mu").Lock()
	defer lockOf(s.Store, "mu").Unlock()
	switch nodes := s.field("nodes"); {
	case name != nodeLeases:
		s.field("topics").SetMapIndex(reflect.ValueOf(presence.Topic(name)), value)
	case value.IsValid():
		nodes.Set(value)
	default:
		nodes.Set(reflect.MakeMap(nodes.Type()))
	}
}

// loseNotices loses the log of notices, and what users chose.
func (s *server) loseNotices() {
	s.mu.Lock()
	defer s.mu.Unlock()
	lockOf(s.Store, "bus", "mu").Lock()
	defer lockOf(s.Store, "bus", "mu").Unlock()
	chosen := s.field("chosen")
	chosen.Set(reflect.MakeMap(chosen.Type()))
	s.log, s.replicated = nil, 0
	s.losses.Add(1)
}

func (s *server) field(name string) reflect.Value {
	return open(reflect.ValueOf(s.Store).Elem().FieldByName(name))
}

// hold makes the diffs of a topic wait until release.
func (l *link) hold(topic presence.Topic) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held == nil {
		l.held = make(map[presence.Topic][]parcel)
	}
	l.held[topic] = append(l.held[topic], parcel{deliver: func() {}})
}

// release delivers them.
func (l *link) release(topic presence.Topic) {
	l.mu.Lock()
	defer l.mu.Unlock()
	waits := l.held[topic]
	delete(l.held, topic)
	if l.broken {
		return
	}
	for _, p := range waits {
		l.deliverLocked(p)
	}
}

// deliverOfLocked delivers a diff of a topic, or holds it.
func (l *link) deliverOfLocked(topic presence.Topic, p parcel) {
	if waits, held := l.held[topic]; held {
		l.held[topic] = append(waits, p)
		return
	}
	l.deliverLocked(p)
}
