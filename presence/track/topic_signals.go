package track

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/internal/wire"
)

// topicSignals are the signals that a replica has received. A replica that never received one has none. The
// outlet's mutex guards it.
type topicSignals struct {
	pending signalQueue
	merging mergeWindow
	bytes   allowance
	standing
}

// signalBytes is how many bytes of a topic's log its signals take a second (rule S4): less than
// a twentieth of the log, so that a reader ten seconds behind still finds its diffs.
const signalBytes = 50 << 10

// hear takes a broadcast from the store. It waits for the outlet's mutex only.
func (r *replica) hear(data []byte) {
	b, err := readBroadcast(data)
	if err != nil {
		r.stats.signals.invalid.Add(1)
	}
	if !b.sent.IsZero() && r.ages.tooLate(b.node, b.sent, time.Now()) {
		r.stats.signals.late.Add(1)
		return
	}
	all := b.signals
	if len(all) == 0 || r.heard != nil { // devices send no signals
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || !r.ledger.loaded() {
		return
	}
	if r.signals == nil {
		r.signals = &topicSignals{}
	}
	for _, s := range all {
		switch {
		case !r.showsLocked(s.From):
			r.stats.signals.unseen.Add(1)
		case !r.signals.pending.put(s):
			r.stats.signals.full.Add(1)
		}
	}
	r.scheduleSignalsLocked()
}

// showsLocked reports whether a signal may come from a sender: from the site, or from a user whom the roster
// has or is about to have (rule S1).
func (r *replica) showsLocked(from presence.UserID) bool {
	if from == "" || r.kind.CountOnly {
		return from == ""
	}
	e, known := r.ledger.find(from)
	return e != nil || !known // unknown: the store is being asked, and the signal waits
}

// nameLocked returns the entry of a user as readers have it; nil: they do not have the user.
func (r *replica) nameLocked(from presence.UserID) *entry {
	if e := r.ledger.roster.get(from); e != nil || !r.ledger.partial() {
		return e
	}
	e, _ := r.ledger.asked.get(from)
	return e
}

// scheduleSignalsLocked publishes the pending signals: at once after a quiet moment, otherwise at the end of
// the window.
func (r *replica) scheduleSignalsLocked() {
	w := &r.signals.merging
	switch left := w.opens(signalWindow); {
	case r.signals.pending.empty():
	case left <= 0:
		r.publishSignalsLocked()
	case w.timer == nil:
		w.timer = time.AfterFunc(left, r.endSignalWindow)
	}
}

func (r *replica) endSignalWindow() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.signals.merging.timer != nil && !r.closed {
		r.publishSignalsLocked()
	}
}

// publishSignalsLocked publishes the pending signals as one event. If readers do not know a sender yet, the
// signal waits for the diff with the sender, because signals do not hurry diffs.
func (r *replica) publishSignalsLocked() {
	sig := r.signals
	sig.merging.stop()
	now := time.Now()
	var told []presence.Signal
	for _, s := range sig.pending.takeAll() {
		switch {
		case !r.showsLocked(s.From):
			r.stats.signals.unseen.Add(1)
		case s.From != "" && r.nameLocked(s.From) == nil:
			sig.pending.put(s)
		default:
			told = append(told, s)
		}
	}
	sig.merging.latest = now
	r.tellSignalsLocked(told, now)
	r.scheduleSignalsLocked()
}

// tellSignalsLocked publishes signals, and remembers the standing ones.
func (r *replica) tellSignalsLocked(told []presence.Signal, now time.Time) {
	told = slices.DeleteFunc(told, func(s presence.Signal) bool {
		fits := r.signals.bytes.spend(len(r.appendSignal(nil, s)), signalBytes, signalBytes, now)
		if !fits {
			r.stats.signals.large.Add(1)
		}
		return !fits
	})
	if len(told) == 0 {
		return
	}
	for _, s := range told {
		if !r.signals.keep(s, now) {
			r.stats.signals.crowd.Add(1)
		}
	}
	r.watchStandingLocked(now)
	said := frame{Event: r.signalEvent(told)}
	r.out.publishLocked(said)
	r.windows.signal(said)
}

// signalEvent returns the event of signals. It does not move the cursor (rule S4).
func (r *replica) signalEvent(all []presence.Signal) presence.Event {
	return presence.Event{Type: presence.EventSignal, Topic: r.out.topic, Cursor: r.cursor, Data: r.encodeSignals(all)}
}

// encodeSignals returns the data of a signal event.
func (r *replica) encodeSignals(all []presence.Signal) []byte {
	b := append(make([]byte, 0, 128+96*len(all)), `{"topic":"`...)
	b = append(b, r.out.topic.Local()...)
	b = append(b, `","signals":[`...)
	for i, s := range all {
		if i > 0 {
			b = append(b, ',')
		}
		b = r.appendSignal(b, s)
	}
	return append(b, "]}"...)
}

// appendSignal appends a signal in the form for pages, with the sender's name in the roster. Its data are on
// one line, and at most as long as the sender's.
func (r *replica) appendSignal(b []byte, s presence.Signal) []byte {
	b = append(b, `{"type":"`...)
	b = append(append(b, s.Type...), '"')
	b = appendInt(b, "v", s.V)
	if s.From != "" {
		b = wire.AppendString(append(b, `,"from":`...), string(s.From.Local()))
		if e := r.nameLocked(s.From); e != nil {
			b = wire.AppendString(append(b, `,"name":`...), e.DisplayName())
		}
	}
	if s.For != 0 {
		b = strconv.AppendFloat(append(b, `,"for":`...), seconds(s.For), 'f', -1, 64)
	}
	if len(s.Data) > 0 {
		data := bytes.NewBuffer(append(b, `,"data":`...))
		_ = json.Compact(data, s.Data) // it was validated on arrival
		b = data.Bytes()
	}
	return append(b, '}')
}
