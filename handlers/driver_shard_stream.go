package handlers

import (
	"bytes"
	"container/heap"
	"net"
	"slices"
	"time"
)

// A wire is a stream with its socket, as a shard drives it.
type wire struct {
	*stream
	conn net.Conn
	fd   int // of conn

	rest  []byte    // what the socket had no room for; while there is some, nothing else is said or heard
	until time.Time // when rest is to be gone, or the client, if parting; zero: some time

	due   time.Time // when it has something to do, or before
	place int       // in the agenda

	busy    bool // an errand is under way
	parting bool // the last word was said
	gone    bool
}

// partTime is how long a client has, once the last word was said, to take it and
// to close its end.
const partTime = time.Second

// readsAtOnce bounds what is read of one client before others have their turn.
const readsAtOnce = 16

// next returns when the stream has something to do, if nothing happens before.
func (w *wire) next(now time.Time) time.Time {
	next := now.Add(w.heartbeat)
	if len(w.rest) == 0 && !w.busy {
		next = w.stream.next(now)
	}
	if w.parting || len(w.rest) > 0 && !w.until.IsZero() && w.until.Before(next) {
		next = w.until
	}
	if !w.answerBy.IsZero() && w.answerBy.Before(next) {
		next = w.answerBy
	}
	return next
}

// take begins to drive a stream.
func (sh *shard) take(w *wire, sent []byte) {
	if sh.poller.add(w.fd) != nil { // there are too many for the system
		go func() {
			defer w.close()
			defer sh.h.rescue()
			w.attendHijacked(w.visit.context(), w.conn, sent)
		}()
		return
	}
	sh.wires[w.stream.conn], sh.byFD[w.fd] = w, w
	w.due = w.next(sh.now)
	heap.Push(&sh.agenda, w)
	sh.group.Add(w.stream.conn)
	sh.serve(w)
	if len(sent) > 0 && !w.gone {
		sh.hear(w, sent)
	}
}

// serve says what has come up, if that is possible now.
func (sh *shard) serve(w *wire) {
	if w.parting || w.gone {
		return
	}
	if why := w.stream.conn.Err(); why != nil {
		sh.part(w, why)
		return
	}
	if w.busy || len(w.rest) > 0 {
		return
	}
	if out, shared := w.turn(sh.now, &sh.batch); len(out) > 0 {
		sh.write(w, out, shared)
	}
}

// write writes what there is room for, and keeps the rest.
func (sh *shard) write(w *wire, out []byte, shared bool) {
	n, err := write(w.fd, out)
	sh.h.counters.bytes.Add(uint64(n))
	if err != nil {
		sh.drop(w)
		return
	}
	if n == len(out) {
		return
	}
	w.rest = out[n:]
	if !shared {
		w.rest = bytes.Clone(w.rest)
	}
	sh.h.counters.behind.Add(1)
	if !w.parting {
		w.until = time.Time{}
		if d := sh.h.cfg.WriteDeadline; d > 0 {
			w.until = sh.now.Add(d)
		}
		sh.expect(w)
	}
}

// flush goes on with what there was no room for.
func (sh *shard) flush(w *wire) {
	n, err := write(w.fd, w.rest)
	sh.h.counters.bytes.Add(uint64(n))
	if err != nil {
		sh.drop(w)
		return
	}
	if w.rest = w.rest[n:]; len(w.rest) > 0 {
		return
	}
	w.rest = nil
	sh.h.counters.behind.Add(-1)
	if w.parting {
		closeWrite(w.fd)
		return
	}
	sh.serve(w)
	sh.read(w)
}

// look takes what the poller says of a stream's socket.
func (sh *shard) look(w *wire, e edge) {
	if e.writable && len(w.rest) > 0 {
		sh.flush(w)
	}
	if e.hungUp && !w.gone && (w.busy || len(w.rest) > 0) {
		sh.drop(w) // what it said last is not waited for
		return
	}
	if e.readable {
		sh.read(w)
	}
}

// read hears what the client has sent. The end of that is goodbye: a page that is
// closed sends nothing else.
func (sh *shard) read(w *wire) {
	for range readsAtOnce {
		if w.gone || !w.parting && (w.busy || len(w.rest) > 0) {
			return
		}
		n, err := read(w.fd, sh.in[:])
		if err != nil {
			sh.drop(w)
			return
		}
		if n == 0 {
			return
		}
		if !w.parting {
			sh.hear(w, sh.in[:n])
		}
	}
	sh.unread = append(sh.unread, w)
}

// hear obeys what the client says, and answers.
func (sh *shard) hear(w *wire, p []byte) {
	e, err := w.hear(p, sh.now)
	if err != nil {
		sh.part(w, err)
		return
	}
	sh.serve(w)
	if e == nil {
		if w.asked != nil && !w.gone {
			sh.expect(w)
		}
		return
	}
	w.busy = true
	go func() {
		after := sh.send(e)
		sh.do(w, func() {
			w.busy = false
			switch {
			case w.gone || w.parting:
			case after == nil: // it panicked
				sh.drop(w)
			default:
				after()
				sh.hear(w, nil)
				sh.read(w)
			}
		}, false)
	}()
}

// send runs an errand, and returns nil where it panics.
func (sh *shard) send(e errand) (after func()) {
	defer sh.h.rescue()
	return e()
}

// part ends a stream that we end: it says why, and gives the client a short while
// to hear it.
func (sh *shard) part(w *wire, why error) {
	w.parting, w.answerBy = true, time.Time{}
	w.stream.conn.Close()
	w.until = sh.now.Add(partTime)
	sh.expect(w)
	bye := w.farewell(why)
	if len(w.rest) > 0 {
		w.rest = slices.Concat(w.rest, bye)
		return
	}
	if sh.write(w, bye, false); !w.gone && len(w.rest) == 0 {
		closeWrite(w.fd)
	}
	sh.read(w) // what is left unread makes the kernel throw away our last word
}

// expect moves a stream forward in the agenda.
func (sh *shard) expect(w *wire) {
	if next := w.next(sh.now); next.Before(w.due) {
		w.due = next
		heap.Fix(&sh.agenda, w.place)
	}
}

// drop ends a stream at once.
func (sh *shard) drop(w *wire) {
	if w.gone {
		return
	}
	w.gone = true
	if len(w.rest) > 0 {
		sh.h.counters.behind.Add(-1)
	}
	delete(sh.wires, w.stream.conn)
	delete(sh.byFD, w.fd)
	heap.Remove(&sh.agenda, w.place)
	w.conn.Close()
	w.close()
}
