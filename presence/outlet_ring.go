package presence

import "slices"

// A ring is a topic's log of frames, encoded once. A reader is a position in
// it, so that a reader costs the same however slow it is. The replica's mutex
// guards it.
type ring struct {
	frames []frame
	base   uint64 // the position of frames[0]
	bytes  int
	formed [forms]formed // the frames again, as transports send them
}

// Bounds of a ring.
const (
	ringFrames = 1024
	ringBytes  = 1 << 20
)

// size is about what a frame costs in memory: its data, and who is behind it,
// which the data of a count do not show.
func (f frame) size() int {
	const each = 256
	return len(f.Data) + each*(len(f.net.joins)+len(f.net.leaves))
}

// pieceBytes bounds what a reader gets at once, if it is more than one event, so
// that one who is far behind is served in pieces, and what it holds up is small.
const pieceBytes = 64 << 10

// end is the position after the latest frame.
func (r *ring) end() uint64 { return r.base + uint64(len(r.frames)) }

// holds reports whether all that came after a position is still there.
func (r *ring) holds(pos uint64) bool { return pos >= r.base && pos <= r.end() }

// after returns the next frames from a position on. The slice is the caller's as
// long as it holds the replica's mutex.
func (r *ring) after(pos uint64) []frame {
	frames := r.frames[pos-r.base:]
	n, size := 0, 0
	for n < len(frames) && (n == 0 || size+len(frames[n].Data) <= pieceBytes) {
		size += len(frames[n].Data)
		n++
	}
	return frames[:n]
}

// formedAfter returns how many frames come next from a position on, and their
// bytes as a transport sends them: those that all others get too, so they must
// not be changed.
func (r *ring) formedAfter(pos uint64, form int, put Framer) (n int, b []byte) {
	f := &r.formed[form]
	for i := len(f.starts); i < len(r.frames); i++ {
		f.push(r.frames[i].Event, put)
	}
	return f.after(int(pos - r.base))
}

func (r *ring) push(f frame) {
	f.ID = f.Cursor
	f.net.stayed = nil // nobody asks a frame
	r.frames = append(r.frames, f)
	r.bytes += f.size()
	drop := 0
	for len(r.frames)-drop > 1 && (len(r.frames)-drop > ringFrames || r.bytes > ringBytes) {
		r.bytes -= r.frames[drop].size()
		drop++
	}
	r.drop(drop)
}

// drop forgets the oldest n frames.
func (r *ring) drop(n int) {
	clear(r.frames[:n])
	r.frames = r.frames[n:] // append moves them, when the room runs out
	r.base += uint64(n)
	for i := range r.formed {
		f := &r.formed[i]
		f.starts = f.starts[min(n, len(f.starts)):]
	}
}

// restart leaves nobody who read until now a way to go on but a state.
func (r *ring) restart() {
	*r = ring{base: r.end() + 1}
}

// A formed is a ring's frames as one transport sends them, one behind the other,
// so that whatever a reader has missed is one slice. It is made when somebody
// reads.
type formed struct {
	bytes  []byte // only ever appended to, so what was given out stays as it is
	moved  int    // bytes that were dropped before
	starts []int  // where each frame begins, and those dropped before count
}

func (f *formed) push(e Event, put Framer) {
	if need := len(e.Data) + framing; cap(f.bytes)-len(f.bytes) < need {
		f.makeRoom(need)
	}
	f.starts = append(f.starts, f.moved+len(f.bytes))
	f.bytes = put(f.bytes, e)
}

// makeRoom moves what is still needed to a larger place, or the same again.
func (f *formed) makeRoom(need int) {
	dead := len(f.bytes)
	if len(f.starts) > 0 {
		dead = f.starts[0] - f.moved
	}
	live := f.bytes[dead:]
	f.bytes = append(make([]byte, 0, 2*(len(live)+need)), live...)
	f.moved += dead
}

// after returns up to pieceBytes from the frame i on, whole frames, and their
// number.
func (f *formed) after(i int) (n int, b []byte) {
	if i == len(f.starts) {
		return 0, nil
	}
	begin, end := f.starts[i], f.moved+len(f.bytes)
	n = len(f.starts) - i
	if end-begin > pieceBytes {
		over, _ := slices.BinarySearch(f.starts[i:], begin+pieceBytes+1) // the first frame that begins too late
		if n > 1 {
			n = max(over-1, 1)
			end = f.starts[i+n]
		}
	}
	return n, f.bytes[begin-f.moved : end-f.moved : end-f.moved]
}
