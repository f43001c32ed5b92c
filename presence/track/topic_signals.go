package track

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/internal/wire"
)

// topicSignals are the signals that a replica has received, and decide which of them are told. A replica that never
// received one has none. The outlet's mutex guards them.
type topicSignals struct {
	topic     presence.Topic
	countOnly bool // readers know no users, so only the site's own signals are told
	stats     *signalCounters
	pending   signalQueue
	merging   mergeWindow
	bytes     allowance
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
		r.signals = &topicSignals{topic: r.out.topic, countOnly: r.kind.CountOnly, stats: &r.stats.signals}
	}
	r.signals.put(all, &r.ledger)
	r.scheduleSignalsLocked()
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
		w.timer = time.AfterFunc(left, func() { r.endWindow(w, r.publishSignalsLocked) })
	}
}

// publishSignalsLocked publishes the pending signals as one event.
func (r *replica) publishSignalsLocked() {
	now := time.Now()
	if told := r.signals.take(&r.ledger, now); len(told) > 0 {
		r.signals.watch(now, r.endStanding)
		said := frame{Event: signalEvent(r.out.topic, r.cursor, told, &r.ledger)}
		r.out.publishLocked(said)
		r.windows.signal(said)
	}
	r.scheduleSignalsLocked()
}

// put adds signals to the pending ones.
func (t *topicSignals) put(all []presence.Signal, l *ledger) {
	for _, s := range all {
		switch {
		case !t.shows(s.From, l):
			t.stats.unseen.Add(1)
		case !t.pending.put(s):
			t.stats.full.Add(1)
		}
	}
}

// shows reports whether a signal may come from a sender: from the site, or from a user whom the roster
// has or is about to have (rule S1).
func (t *topicSignals) shows(from presence.UserID, l *ledger) bool {
	if from == "" || t.countOnly {
		return from == ""
	}
	return l.get(from) != nil
}

// take returns the pending signals that are told now, and remembers the standing ones. If readers do not know a
// sender yet, the signal waits for the diff with the sender, because signals do not hurry diffs.
func (t *topicSignals) take(l *ledger, now time.Time) (told []presence.Signal) {
	t.merging.stop()
	t.merging.latest = now
	for _, s := range t.pending.takeAll() {
		switch {
		case !t.shows(s.From, l):
			t.stats.unseen.Add(1)
		case s.From != "" && senderOf(s.From, l) == nil:
			t.pending.put(s)
		case !t.bytes.spend(len(appendSignal(nil, s, l)), signalBytes, signalBytes, now):
			t.stats.large.Add(1)
		default:
			told = append(told, s)
		}
	}
	for _, s := range told {
		if !t.keep(s, now) {
			t.stats.crowd.Add(1)
		}
	}
	return told
}

// senderOf returns the entry of a signal's sender as readers have it; nil: they do not have the user.
func senderOf(id presence.UserID, l *ledger) *entry { return l.roster.get(id) }

// signalEvent returns the event of signals. It does not move the cursor (rule S4).
func signalEvent(topic presence.Topic, at presence.Cursor, all []presence.Signal, l *ledger) presence.Event {
	return presence.Event{Type: presence.EventSignal, Topic: topic, Cursor: at, Data: encodeSignals(topic, all, l)}
}

// encodeSignals returns the data of a signal event.
func encodeSignals(topic presence.Topic, all []presence.Signal, l *ledger) []byte {
	b := append(make([]byte, 0, 128+96*len(all)), `{"topic":"`...)
	b = append(b, topic.Local()...)
	b = append(b, `","signals":[`...)
	for i, s := range all {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendSignal(b, s, l)
	}
	return append(b, "]}"...)
}

// appendSignal appends a signal in the form for pages, with the sender's name in the roster. Its data are on
// one line, and at most as long as the sender's.
func appendSignal(b []byte, s presence.Signal, l *ledger) []byte {
	b = append(b, `{"type":"`...)
	b = append(append(b, s.Type...), '"')
	b = appendInt(b, "v", s.V)
	if s.From != "" {
		b = wire.AppendString(append(b, `,"from":`...), string(s.From.Local()))
		if e := senderOf(s.From, l); e != nil {
			b = wire.AppendString(append(b, `,"name":`...), e.DisplayName())
		}
	}
	if s.For != 0 {
		b = strconv.AppendFloat(append(b, `,"for":`...), seconds(s.For), 'f', -1, 64)
	}
	if len(s.Data) > 0 {
		var data bytes.Buffer
		_ = json.Compact(&data, s.Data) // it was validated on arrival
		b = append(append(b, `,"data":`...), oneLine.Replace(data.String())...)
	}
	return append(b, '}')
}

// oneLine escapes the line breaks that JSON allows in strings: some readers of event streams end a line there.
var oneLine = strings.NewReplacer("\u2028", `\u2028`, "\u2029", `\u2029`)
