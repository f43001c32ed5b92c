package track

import (
	"bytes"
	"hash/fnv"
	"math/bits"
	"slices"
	"strconv"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/internal/wire"
)

// A watchList is the people whom one connection watches: what its reader was told about each, and who may
// have changed since. It is a source with one reader. It keeps no events: the reader pulls one diff with the
// current state of everybody who has changed. So a slow reader never has more than its list, people who come
// and go meanwhile cancel out, and 200 people who come at once are one write.
//
// A list of 500 people takes 9 KB, and 4 KB in the entries of its people.
type watchList struct {
	people *peopleHere
	viewer presence.UserID
	out    *outlet

	// people.mu guards these. The slots and over are changed with mu held too, so that either
	// mutex is enough to look at them.
	number  uint32
	over    bool              // the list has ended
	marked  bool              // the list is in people.marked
	follows bool              // the list also has the viewer's contacts
	named   []presence.UserID // users that the page named, if the list follows the contacts
	read    uint64            // the number of the read of the contacts whose answer the list has
	slots   []watchSlot

	mu      outletMutex     // which is the outlet's, too
	said    []relationState // the state of the viewer's relation to each slot's person
	changed []uint64        // one bit for each slot: the person may have changed since the reader was told
	dropped []toldPerson    // people whom the reader has, and who are no longer on the list
	holds   bool            // release comes

	// The goroutine that reads the connection changes these, with mu held.
	sum   uint64 // of what the reader was told: see cursor
	total int
	at    presence.Cursor

	asked askedList // relations.mu guards it
}

// A watchSlot is one person on a list.
type watchSlot struct {
	person *watched
	told   uint32 // the seenPerson.hash that the reader has; 0: none. The list's mu guards it
	seat   uint32 // index among the person's followers. people.mu guards it
}

// A toldPerson is a person whom the reader has, and who is no longer on the list.
type toldPerson struct {
	id   presence.UserID
	told uint32
}

func newWatchList(p *peopleHere, viewer presence.UserID, topic presence.Topic) *watchList {
	l := &watchList{people: p, viewer: viewer}
	l.out = newOutlet(topic, p.stats, &l.mu)
	l.setSum(0, 0)
	return l
}

// size returns the number of people on the list.
func (l *watchList) size() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.slots)
}

// hashOf returns the hash of a person's JSON. It is never 0.
func hashOf(json []byte) uint32 {
	h := fnv.New64a()
	h.Write(json)
	sum := h.Sum64()
	return max(uint32(sum^sum>>32), 1)
}

// spread turns a hash into 64 bits, so that a sum of several identifies them.
func spread(told uint32) uint64 {
	if told == 0 {
		return 0
	}
	x := uint64(told) * 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// setSum sets what the reader has. The cursor is a hash of that: readers who see the same have the same
// cursor, on every node and after every loss of the store's data. A version of backend.DevicesTopic would not
// do, because it changes when a hidden user comes (rule P2).
func (l *watchList) setSum(sum uint64, total int) {
	if l.at == "" || sum != l.sum {
		tag := peopleTag
		if topic := l.out.topic; topic != presence.PeopleTopic {
			tag = string(presence.NewCursor(topic, ""))
		}
		var b [32]byte
		l.at = presence.Cursor(strconv.AppendUint(append(b[:0], tag...), sum, 36))
	}
	l.sum, l.total = sum, total
}

// peopleTag is the start of the cursors of PeopleTopic, for the empty tenant: see newCursor.
var peopleTag = string(presence.NewCursor(presence.PeopleTopic, ""))

// showsLocked returns the hash of a person as the reader may see the person now; 0: the reader may not. It
// alone decides who is in the events (rule P3).
func (l *watchList) showsLocked(slot int, now *seenPerson) uint32 {
	if relation, known := l.said[slot].relation(); now.here && now.visibility.ShownTo(relation, known) {
		return now.hash
	}
	return 0
}

// mark is markLocked.
func (l *watchList) mark(slot int) (news bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.markLocked(slot)
}

// noteLocked is markLocked, and wakes the reader. The reader looks once the caller lets go of the mutex, so several
// changes are one event.
func (l *watchList) noteLocked(slot int) {
	if l.markLocked(slot) {
		l.out.wakeLocked()
	}
}

// wake makes the reader look at the list, because of a change that came at a moment.
func (l *watchList) wake(came time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.out.arrived = came
	l.out.wakeLocked()
}

// markLocked notes that a person may have changed. It reports whether the reader must be woken.
func (l *watchList) markLocked(slot int) bool {
	s := &l.slots[slot]
	now := s.person.now.Load()
	if now.here && now.visibility.NeedsRelation() && l.said[slot].needed() {
		l.people.relations.want(l)
	}
	shown := l.showsLocked(slot, now)
	if shown == s.told || shown == 0 && l.holdsLocked(slot, now) {
		return false
	}
	l.changed[slot/64] |= 1 << (slot % 64)
	return true
}

// replaceLocked replaces the people. People whom the reader has, and who are no longer on the list, leave
// with the next diff.
func (l *watchList) replaceLocked(slots []watchSlot, said []relationState, gone []watchSlot) {
	for _, s := range gone {
		if s.told != 0 {
			l.dropped = append(l.dropped, toldPerson{s.person.id, s.told})
		}
	}
	l.slots, l.said, l.changed = slots, said, make([]uint64, (len(slots)+63)/64)
	if len(l.dropped) > 0 {
		dropped := make(map[presence.UserID]uint32, len(l.dropped))
		for _, d := range l.dropped {
			dropped[d.id] = d.told
		}
		for i := range slots {
			if told := dropped[slots[i].person.id]; told != 0 { // the person is on the list again before the reader looked
				slots[i].told = told
				delete(dropped, slots[i].person.id)
			}
		}
		l.dropped = slices.DeleteFunc(l.dropped, func(d toldPerson) bool { return dropped[d.id] == 0 })
	}
	for i := range slots {
		l.markLocked(i)
	}
}

func (l *watchList) outlet() *outlet { return l.out }

// latest returns the list itself, whose cursor and total change only when the reader reads. Only the
// goroutine that reads the connection may call it.
func (l *watchList) latest() sourceView { return l }

func (l *watchList) cursor() presence.Cursor { return l.at }

func (l *watchList) figures() figures {
	if l.people.stale.Load() {
		return figures{1}
	}
	return figures{}
}

// end implements ender.
func (l *watchList) end() { l.people.end(l) }

// differs reports whether a cursor differs from that of what the list shows now.
func (l *watchList) differs(from presence.Cursor) bool {
	id, ok := from.Version(l.out.topic)
	if !ok {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_, sum := l.seenLocked()
	return strconv.FormatUint(sum, 36) != string(id)
}

// seenLocked returns the hash of each person as the reader may see them now, and their sum.
func (l *watchList) seenLocked() (seen []uint32, sum uint64) {
	seen = make([]uint32, len(l.slots))
	for i := range l.slots {
		seen[i] = l.showsLocked(i, l.slots[i].person.now.Load())
		sum += spread(seen[i])
	}
	return seen, sum
}

// resumeLocked implements resumer. A reader that already has what it would see now gets nothing,
// and any other a state.
func (l *watchList) resumeLocked(from presence.Cursor, _ int) (missed *sharedEvent, ok bool) {
	id, ok := from.Version(l.out.topic)
	if !ok {
		return nil, false
	}
	seen, sum := l.seenLocked()
	if strconv.FormatUint(sum, 36) != string(id) {
		return nil, false
	}
	total := 0
	for i, hash := range seen {
		l.slots[i].told = hash
		if hash != 0 {
			l.said[i].told()
			total++
		}
	}
	clear(l.changed) // changes after the loop above are marked after this
	l.dropped = nil
	l.setSum(sum, total)
	return nil, true
}

// stateEvent returns a state event with all users of the list whom the reader may see. It ignores
// the limit, since the page chose how many users it watches. The caller holds mu.
func (l *watchList) stateEvent(int) *sharedEvent {
	const head = 192 // more bytes than come before the users
	size := head
	for i := range l.slots {
		size += len(l.slots[i].person.now.Load().json) + 1
	}
	b, sum, total := make([]byte, head, size+32), uint64(0), 0
	for i := range l.slots {
		now := l.slots[i].person.now.Load()
		hash := l.showsLocked(i, now)
		if l.slots[i].told = hash; hash == 0 {
			continue
		}
		l.said[i].told() // for the reader, a later join is a change of this state
		if sum += spread(hash); total > 0 {
			b = append(b, ',')
		}
		b = append(b, now.json...)
		total++
	}
	clear(l.changed)
	l.dropped = nil
	l.setSum(sum, total)
	b = append(b, `},"truncated":false}`...)
	var before [head]byte // now the cursor is known
	begins := append(l.appendFigures(appendHead(before[:0], l.out.topic, l.at)), `,"users":{`...)
	data := b[head-len(begins):]
	copy(data, begins)
	return newSharedEvent(frame{Event: presence.Event{Type: presence.EventState, Topic: l.out.topic, Cursor: l.at, Data: data}})
}

func (l *watchList) appendFigures(b []byte) []byte {
	b = appendInt(b, "total", l.total)
	if l.people.stale.Load() {
		b = append(b, `,"stale":true`...)
	}
	return b
}

func (l *watchList) heartbeatEvent() *sharedEvent {
	data := append(l.appendFigures(appendHead(nil, l.out.topic, l.at)), '}')
	return newSharedEvent(frame{Event: presence.Event{Type: presence.EventHeartbeat, Topic: l.out.topic, Cursor: l.at, Data: data}})
}

// one returns 1 for a person who is shown, and 0 for the hash 0.
func one(hash uint32) int {
	if hash == 0 {
		return 0
	}
	return 1
}

// A change of a list, for one diff.
type watchChange struct {
	slot int
	now  *seenPerson
	hash uint32
}

// pullLocked implements puller. It returns one diff with the current state of all who have changed, and false
// if nobody has.
func (l *watchList) pullLocked(scratch []byte) (presence.Event, bool) {
	var few [8]watchChange // most diffs are of one person, and allocate only their bytes
	changes, sum, total, size := few[:0], l.sum, l.total, 0
	for word, left := range l.changed {
		for ; left != 0; left &= left - 1 {
			slot := 64*word + bits.TrailingZeros64(left)
			s := &l.slots[slot]
			now := s.person.now.Load()
			hash := l.showsLocked(slot, now)
			if hash == s.told || hash == 0 && l.holdsLocked(slot, now) {
				continue
			}
			changes = append(changes, watchChange{slot, now, hash})
			sum += spread(hash) - spread(s.told)
			if size += len(s.person.id) + 64; hash != 0 {
				size += len(now.json)
			}
			total += one(hash) - one(s.told)
		}
		l.changed[word] = 0
	}
	for _, d := range l.dropped {
		sum -= spread(d.told)
		total--
		size += len(d.id) + 16
	}
	if len(changes)+len(l.dropped) == 0 {
		return presence.Event{}, false
	}
	prev := l.at
	l.setSum(sum, total)
	b := appendHead(slices.Grow(scratch, size+160), l.out.topic, l.at)
	b = append(append(append(b, `,"prev":"`...), prev...), '"')
	b = appendInt(b, "total", total)
	b = l.appendJoinsLocked(append(b, `,"joins":{`...), changes)
	b = l.appendLeavesLocked(append(b, `},"leaves":{`...), changes)
	b = append(b, "}}"...)
	for _, c := range changes {
		l.slots[c.slot].told = c.hash
		if l.said[c.slot].told(); c.hash == 0 {
			l.said[c.slot].left()
		}
	}
	l.dropped = nil
	return presence.Event{Type: presence.EventDiff, Topic: l.out.topic, Cursor: l.at, ID: l.at, Data: b}, true
}

// overLocked implements puller.
func (l *watchList) overLocked() bool { return l.over }

func (l *watchList) appendJoinsLocked(b []byte, changes []watchChange) []byte {
	n := 0
	for _, c := range changes {
		if c.hash == 0 {
			continue
		}
		if n++; n > 1 {
			b = append(b, ',')
		}
		if b = append(b, c.now.json...); l.said[c.slot]&relationGains != 0 {
			setSince(b[len(b)-len(c.now.json):], time.Now())
		}
	}
	return b
}

// setSince changes the since in a person's JSON. A viewer who gains sight of a person by a contact or a block
// sees the person join now (rule P6).
func setSince(person []byte, now time.Time) {
	const key = `"since":"` // cannot be inside a JSON string, where a quote is escaped
	if i := bytes.Index(person, []byte(key)); i >= 0 {
		var text [len(wire.TimeLayout)]byte
		copy(person[i+len(key):], now.UTC().AppendFormat(text[:0], wire.TimeLayout)) // the length stays the same
	}
}

func (l *watchList) appendLeavesLocked(b []byte, changes []watchChange) []byte {
	n := 0
	leave := func(id presence.UserID, seen time.Time) {
		if n++; n > 1 {
			b = append(b, ',')
		}
		b = append(wire.AppendString(b, string(id.Local())), ":{"...)
		if !seen.IsZero() {
			b = wire.AppendTime(append(b, `"last_seen":`...), seen)
		}
		b = append(b, '}')
	}
	for _, c := range changes {
		if c.hash == 0 {
			leave(l.slots[c.slot].person.id, l.lastSeenLocked(c.slot, c.now))
		}
	}
	for _, d := range l.dropped {
		leave(d.id, time.Time{})
	}
	return b
}

// lastSeenLocked returns when a person who left was last seen. It is zero if that is unknown, if the viewer
// may not know it, or if the person is still there and only hidden (rules P5, P6).
func (l *watchList) lastSeenLocked(slot int, now *seenPerson) time.Time {
	relation, known := l.said[slot].certain()
	if now.here || !now.visibility.SeenBy(relation, known) {
		return time.Time{}
	}
	return now.left
}
