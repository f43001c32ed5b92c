package handlers

import (
	"bytes"
	"container/heap"
	"net"
	"slices"
	"time"
)

// A shardStream is a stream and its socket, as a shard drives them.
type shardStream struct {
	*stream
	socket net.Conn
	fd     int // the descriptor of socket
	phase  phase

	unsent   []byte    // output for which the socket had no room
	deadline time.Time // when unsent must be written; of an ending stream: when the client must have closed; zero: none

	due   time.Time // when the stream has something to do, or earlier
	place int       // index in the agenda
}

// A phase is what a shardStream is doing. While unsent holds bytes, a stream of any phase writes only those,
// and an open stream does not read.
//
//	phase    input           new output  next phases
//	open     read            written     waiting: a message needs the store or the site
//	                                     ending, gone
//	waiting  left unread     held back   open: the errand is done
//	                                     ending, gone
//	ending   read, ignored   none        gone: the client closed, or partTime has passed
//	gone     none            none        none
//
// An open or waiting stream ends if the handler has a reason that the client should
// know (age, rights, a sign-out, the end of the tracker, a broken rule). Any stream is
// gone at once if the client closes, or does not take its output in time.
type phase uint8

const (
	phaseOpen phase = iota
	phaseWaiting
	phaseEnding
	phaseGone
)

// nextPhases holds a bit for each phase that may follow.
var nextPhases = [...]uint8{
	phaseOpen:    1<<phaseWaiting | 1<<phaseEnding | 1<<phaseGone,
	phaseWaiting: 1<<phaseOpen | 1<<phaseEnding | 1<<phaseGone,
	phaseEnding:  1 << phaseGone,
	phaseGone:    0,
}

// move changes the phase. It panics for a move that is not in the table above.
func (s *shardStream) move(to phase) {
	if nextPhases[s.phase]&(1<<to) == 0 {
		panic("handlers: a stream made an impossible move")
	}
	s.phase = to
}

// behind reports whether the client has not taken all output.
func (s *shardStream) behind() bool { return len(s.unsent) > 0 }

// free reports whether the stream may read input and write new output.
func (s *shardStream) free() bool { return s.phase == phaseOpen && !s.behind() }

// partTime is how long a client has, after the last bytes of a stream, to read them and
// to close its end.
const partTime = time.Second

// readsAtOnce bounds the reads from one client in a round, so that other clients have their turn.
const readsAtOnce = 16

// next returns when the stream must be served if no input or event comes before.
func (s *shardStream) next(now time.Time) time.Time {
	next := now.Add(s.heartbeat)
	if s.free() {
		next = s.stream.next(now)
	}
	if s.phase == phaseEnding || s.behind() && !s.deadline.IsZero() && s.deadline.Before(next) {
		next = s.deadline
	}
	if by := s.recheck.by; !by.IsZero() && by.Before(next) {
		next = by
	}
	return next
}

// start begins to drive a stream.
func (sh *shard) start(s *shardStream, input []byte) {
	if sh.poller.watch(s.fd) != nil { // the system cannot watch that many sockets
		go func() {
			defer s.close()
			defer s.streams.faults.recoverStream()
			s.runHijacked(s.request.context(), s.socket, input)
		}()
		return
	}
	sh.streams[s.conn], sh.byFD[s.fd] = s, s
	s.due = s.next(sh.now)
	heap.Push(&sh.agenda, s)
	sh.group.Add(s.conn)
	sh.writeNew(s)
	if len(input) > 0 && s.phase == phaseOpen {
		sh.receive(s, input)
	}
}

// writeNew writes what is new to the client, if the stream may write now.
func (sh *shard) writeNew(s *shardStream) {
	if s.phase >= phaseEnding {
		return
	}
	if why := s.conn.Err(); why != nil {
		sh.end(s, why)
		return
	}
	if !s.free() {
		return
	}
	if out, shared := s.turn(sh.now, &sh.batch); len(out) > 0 {
		sh.write(s, out, shared)
	}
}

// write writes as much as the socket has room for, and keeps the rest.
func (sh *shard) write(s *shardStream, out []byte, shared bool) {
	n, err := write(s.fd, out)
	s.streams.counters.bytes.Add(uint64(n))
	if err != nil {
		s.streams.counters.failed.Add(1)
		sh.drop(s)
		return
	}
	if n == len(out) {
		return
	}
	s.unsent = out[n:]
	if !shared {
		s.unsent = bytes.Clone(s.unsent)
	}
	s.streams.counters.behind.Add(1)
	if s.phase != phaseEnding {
		s.deadline = time.Time{}
		if d := s.streams.cfg.WriteDeadline; d > 0 {
			s.deadline = sh.now.Add(d)
		}
		sh.reschedule(s)
	}
}

// flush writes unsent, and continues the stream once all of it is written.
func (sh *shard) flush(s *shardStream) {
	n, err := write(s.fd, s.unsent)
	s.streams.counters.bytes.Add(uint64(n))
	if err != nil {
		s.streams.counters.failed.Add(1)
		sh.drop(s)
		return
	}
	if s.unsent = s.unsent[n:]; s.behind() {
		return
	}
	s.unsent = nil
	s.streams.counters.behind.Add(-1)
	if s.phase == phaseEnding {
		closeWrite(s.fd)
		return
	}
	sh.writeNew(s)
	sh.read(s)
}

// handleEdge handles what the poller reports about a stream's socket.
func (sh *shard) handleEdge(s *shardStream, e edge) {
	if e.writable && s.behind() {
		sh.flush(s)
	}
	if e.hungUp && s.phase != phaseGone && (s.phase == phaseWaiting || s.behind()) {
		if s.behind() {
			s.streams.counters.failed.Add(1)
		}
		sh.drop(s) // without reading the last input
		return
	}
	if e.readable {
		sh.read(s)
	}
}

// read handles what the client has sent. EOF ends the stream: a closed tab sends
// nothing before it.
func (sh *shard) read(s *shardStream) {
	for range readsAtOnce {
		if !s.free() && s.phase != phaseEnding {
			return
		}
		n, err := read(s.fd, sh.in[:])
		if err != nil {
			sh.drop(s)
			return
		}
		if n == 0 {
			return
		}
		if s.phase != phaseEnding {
			sh.receive(s, sh.in[:n])
		}
	}
	sh.unread = append(sh.unread, s)
}

// receive handles input, and writes the answers. An errand runs in a goroutine of its own, and the stream
// waits for it.
func (sh *shard) receive(s *shardStream, input []byte) {
	e, err := s.receive(input, sh.now)
	if err != nil {
		sh.end(s, err)
		return
	}
	sh.writeNew(s)
	if e == nil {
		if s.snapshots != nil && s.phase != phaseGone {
			sh.reschedule(s)
		}
		return
	}
	if s.phase == phaseOpen {
		s.move(phaseWaiting)
	}
	go func() {
		after := e.run(sh.faults)
		sh.post(s, func() { sh.errandDone(s, after) }, false)
	}()
}

// errandDone goes on with a stream that waited for an errand.
func (sh *shard) errandDone(s *shardStream, after func()) {
	switch {
	case s.phase != phaseWaiting:
	case after == nil:
		sh.drop(s)
	default:
		s.move(phaseOpen)
		after()
		s.hear(sh.now) // nothing was read while the errand ran
		sh.receive(s, nil)
		sh.read(s)
	}
}

// onDue does what is due for a stream.
func (sh *shard) onDue(s *shardStream) {
	late := !s.deadline.IsZero() && !sh.now.Before(s.deadline)
	switch {
	case late && s.phase == phaseEnding:
		sh.drop(s)
	case late && s.behind():
		s.streams.counters.slowCut.Add(1)
		sh.end(s, errSlow) // a client that reads again learns the reason
	case s.phase == phaseEnding:
	case s.free() && s.silent(sh.now):
		sh.end(s, errLost)
	case s.aged(sh.now):
		sh.end(s, errAge)
	case s.unanswered(sh.now):
		sh.end(s, errRight)
	default:
		if s.recheck.begins(sh.now, s.heartbeat) {
			s.streams.rights.ask(s.request, s.lastEvents.topics(), func(ok bool) {
				sh.post(s, func() { sh.onRights(s, ok) }, false)
			})
		}
		sh.writeNew(s)
	}
}

// onRights ends a stream whose visitor may no longer see its topics.
func (sh *shard) onRights(s *shardStream, ok bool) {
	if s.recheck.answered(); !ok && s.phase < phaseEnding {
		sh.end(s, errRight)
	}
}

// end tells the client why its stream ends, and gives it partTime to read that.
func (sh *shard) end(s *shardStream, why error) {
	s.move(phaseEnding)
	s.recheck.answered()
	s.closeConn(sh.now)
	s.deadline = sh.now.Add(partTime)
	sh.reschedule(s)
	last := s.lastBytes(why)
	if s.behind() {
		s.unsent = slices.Concat(s.unsent, last)
		return
	}
	if sh.write(s, last, false); s.phase != phaseGone && !s.behind() {
		closeWrite(s.fd)
	}
	sh.read(s) // with unread input, the kernel would discard the last bytes
}

// reschedule moves a stream forward in the agenda.
func (sh *shard) reschedule(s *shardStream) {
	if next := s.next(sh.now); next.Before(s.due) {
		s.due = next
		heap.Fix(&sh.agenda, s.place)
	}
}

// drop closes a stream's socket at once.
func (sh *shard) drop(s *shardStream) {
	if s.phase == phaseGone {
		return
	}
	s.move(phaseGone)
	if s.behind() {
		s.streams.counters.behind.Add(-1)
	}
	delete(sh.streams, s.conn)
	delete(sh.byFD, s.fd)
	heap.Remove(&sh.agenda, s.place)
	s.socket.Close()
	s.close()
}
