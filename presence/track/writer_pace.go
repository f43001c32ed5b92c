package track

import (
	"math"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// How often a topic is written to grows with load. Each batch with a change is a script and a
// message to every node, however many changes it holds. While changes are few, each is written
// after flushInterval. While they are many, a topic's next batch waits until a while
// after the one before: at most 50 ms, so that a node makes about twenty messages a second. A change
// is promised at other nodes' readers within 60 ms and the merge window (p99).
// Whatever comes after quiet for that long waits for nothing.
//
// Example: 5 users a second come to thread:1, and each is written after 3 ms. 60 users a second
// come to thread:2: its batches are 28 ms apart. 1,000 a second come to the site: its batches
// are 50 ms apart, with 50 users each.
//
// Heartbeats change nothing that anybody sees. They are paced together, for all topics, so that
// those of many topics are one script.
const (
	// flushInterval is how long what happens is collected for one batch to the store.
	flushInterval = 3 * time.Millisecond

	calmOps   = 10                    // a second, up to which each waits for flushInterval only
	busyOps   = 100                   // a second, from which on the interval is the longest
	flushMost = 50 * time.Millisecond // the longest interval
	opsWithin = time.Second           // what was written so long ago counts a third

	// Callers who wait for their write get it once nobody came for this long: all who would
	// come wait with them.
	flushLull = 20 * time.Millisecond

	paceKept = 5 * time.Second // the pace of a topic that was not written to for so long is forgotten
)

// A pace remembers how many operations were written lately, and when. Each topic has one.
type pace struct {
	ops float32   // a second, when it was written last
	at  time.Time // that moment, of the monotonic clock; zero: never
}

// wrote notes a write of some operations.
func (p pace) wrote(ops int, at time.Time) pace {
	if !p.at.IsZero() {
		p.ops *= float32(math.Exp(-float64(at.Sub(p.at)) / float64(opsWithin)))
	}
	return pace{p.ops + float32(ops), at}
}

// next returns when the next write may begin to collect.
func (p pace) next() time.Time {
	if p.at.IsZero() {
		return time.Time{}
	}
	load := min(1, max(0, (p.ops-calmOps)/(busyOps-calmOps)))
	return p.at.Add(max(0, time.Duration(load*float32(flushMost))-flushInterval))
}

// A writerPace is the pace of each topic's changes, and of all heartbeats.
type writerPace struct {
	topics map[presence.Topic]pace
	beats  pace
	pruned time.Time
}

// plan sets when a topic's operations are due, after one was added to them.
func (w *writerPace) plan(topic presence.Topic, p *pending, kind backend.OpKind) {
	p.touched = time.Now()
	var due time.Time
	if kind == backend.OpHeartbeat {
		due = w.beats.next()
	} else {
		p.changes = true
		due = w.topics[topic].next()
	}
	if !p.planned || due.Before(p.due) {
		p.planned, p.due = true, due
	}
}

// wrote notes what is written now.
func (w *writerPace) wrote(topics map[presence.Topic]*pending, now time.Time) {
	beats := 0
	for topic, p := range topics {
		changes := 0
		for i := range p.ops {
			switch p.ops[i].Kind {
			case 0:
			case backend.OpHeartbeat:
				beats++
			default:
				changes++
			}
		}
		if changes == 0 {
			continue
		}
		w.topics[topic] = w.topics[topic].wrote(changes, now)
	}
	if beats > 0 {
		w.beats = w.beats.wrote(beats, now)
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

// dueAt returns when the operations are to be written, for all that is known now.
func (p *pending) dueAt() time.Time {
	due := p.due
	if lull := p.touched.Add(flushLull); len(p.acks) > 0 && p.changes && lull.Before(due) {
		due = lull
	}
	if p.after.After(due) {
		due = p.after
	}
	return due
}
