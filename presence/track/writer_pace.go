package track

import (
	"math"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// How often a topic is written depends on its load. Each batch with a change is a script and a message to
// every node, however many changes it has. While changes are few, each is written after flushInterval. While
// they are many, the batches of a topic are up to 50 ms apart, so that a node sends about twenty messages a
// second. Readers at other nodes see a change within 60 ms and the merge window (p99). The first change after
// such a pause does not wait.
//
// Example: 5 users a second come to thread:1, and each is written after 3 ms. 60 users a second come to
// thread:2: its batches are 28 ms apart. 1,000 a second come to the site: its batches are 50 ms apart, with
// 50 users each.
//
// Heartbeats change nothing that anybody sees. They are paced together, for all topics, so that those of many
// topics are one script.
const (
	// flushInterval is how long operations are collected for one batch to the store.
	flushInterval = 3 * time.Millisecond

	calmOps   = 10                    // operations a second up to which each waits only for flushInterval
	busyOps   = 100                   // operations a second from which on the interval is the longest
	flushMost = 50 * time.Millisecond // the longest interval
	opsWithin = time.Second           // what was written this long ago counts a third

	// A batch is written if callers wait for it and no further caller came for this long, because all callers
	// that would come are waiting already.
	flushLull = 20 * time.Millisecond

	paceKept = 5 * time.Second // the pace of a topic is forgotten after so long without a write
)

// A pace remembers the rate of a topic's operations. Each topic has one.
type pace struct {
	ops float32   // operations a second at the latest write
	at  time.Time // of the latest write, by the monotonic clock; zero: never
}

// wrote returns the pace after a write of some operations.
func (p pace) wrote(ops int, at time.Time) pace {
	if !p.at.IsZero() {
		p.ops *= float32(math.Exp(-float64(at.Sub(p.at)) / float64(opsWithin)))
	}
	return pace{p.ops + float32(ops), at}
}

// next returns when collecting for the next write may begin.
func (p pace) next() time.Time {
	if p.at.IsZero() {
		return time.Time{}
	}
	load := min(1, max(0, (p.ops-calmOps)/(busyOps-calmOps)))
	return p.at.Add(max(0, time.Duration(load*float32(flushMost))-flushInterval))
}

// A writerPace has the pace of each topic's changes, and of all heartbeats.
type writerPace struct {
	topics map[presence.Topic]pace
	beats  pace
	pruned time.Time
}

// wrote notes what is being written of a topic.
func (w *writerPace) wrote(topic presence.Topic, ops []backend.Op, now time.Time) {
	beats := 0
	for i := range ops {
		if ops[i].Kind == backend.OpHeartbeat {
			beats++
		}
	}
	if beats > 0 {
		w.beats = w.beats.wrote(beats, now)
	}
	if changes := len(ops) - beats; changes > 0 {
		w.topics[topic] = w.topics[topic].wrote(changes, now)
	}
	if now.Sub(w.pruned) < paceKept {
		return
	}
	w.pruned = now
	for topic, t := range w.topics {
		if now.Sub(t.at) >= paceKept {
			delete(w.topics, topic)
		}
	}
}

// due returns when a topic is due, as far as is known now.
func (w *writerPace) due(topic presence.Topic, d *dirty) time.Time {
	if !d.changes {
		return later(w.beats.next(), d.after)
	}
	due := w.topics[topic].next()
	if lull := d.touched.Add(flushLull); d.awaited && lull.Before(due) {
		due = lull
	}
	return later(due, d.after)
}
