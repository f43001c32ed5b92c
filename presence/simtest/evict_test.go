package simtest_test

import (
	"math/rand/v2"
	"reflect"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// A server that is full evicts keys, one by one. Of a topic that lost a part of its users a store
// must notice that itself, as redisstore does and memstore need not; so here a key is the log of
// a topic, the leases of nodes, the statuses that users chose, or the record of a consumer.
var evictable = []string{"log", nodeLeases, "statuses", "record"}

// evictActs returns what is evicted.
func (g game) evictActs(rnd *rand.Rand, length time.Duration) (acts []act) {
	for range 1 + rnd.IntN(4) {
		acts = append(acts, act{at: upTo(rnd, length), do: "evict", with: evictable[rnd.IntN(len(evictable))]})
	}
	return acts
}

// evict loses one key.
func (w *world) evict(key string) {
	w.losesSome()
	switch key {
	case nodeLeases:
		w.server.put(nodeLeases, reflect.Value{})
	case "record":
		lockOf(w.server.Store, "consumers", "mu").Lock()
		defer lockOf(w.server.Store, "consumers", "mu").Unlock()
		open(w.server.field("consumers").Elem().FieldByName("byName")).Clear()
	case "statuses":
		lockOf(w.server.Store, "bus", "mu").Lock()
		defer lockOf(w.server.Store, "bus", "mu").Unlock()
		w.server.field("chosen").Clear()
	case "log":
		lockOf(w.server.Store, "mu").Lock()
		defer lockOf(w.server.Store, "mu").Unlock()
		for _, topic := range w.game.topics() {
			if t := w.server.field("topics").MapIndex(reflect.ValueOf(presence.Topic(topic))); t.IsValid() {
				open(t.Elem().FieldByName("log")).SetZero()
				open(t.Elem().FieldByName("changes")).SetZero()
			}
		}
	}
}
