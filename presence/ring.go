package presence

import "slices"

// A ring is a topic's log of frames, encoded once. A reader is a position in
// it, so that a reader costs the same however slow it is. The replica's mutex
// guards it.
type ring struct {
	frames []frame
	base   uint64 // the position of frames[0]
	bytes  int
	runs   map[uint64]*Run // what comes after a position, for those who stand there
}

// Bounds of a ring.
const (
	ringFrames = 1024
	ringBytes  = 1 << 20
	ringRuns   = 64 // remembered at once: who stands elsewhere has one made
)

// runBytes bounds a run, if it is more than one event, so that a reader far
// behind is served in pieces, and what it holds up is small.
const runBytes = 64 << 10

// end is the position after the latest frame.
func (r *ring) end() uint64 { return r.base + uint64(len(r.frames)) }

// holds reports whether all that came after a position is still there.
func (r *ring) holds(pos uint64) bool { return pos >= r.base && pos <= r.end() }

// after returns the next frames from a position on, nil where there are none.
func (r *ring) after(pos uint64) *Run {
	if pos == r.end() {
		return nil
	}
	if run := r.runs[pos]; run != nil {
		return run
	}
	n, size := 0, 0
	frames := r.frames[pos-r.base:]
	for n < len(frames) && (n == 0 || size+len(frames[n].Data) <= runBytes) {
		size += len(frames[n].Data)
		n++
	}
	run := newRun(slices.Clone(frames[:n])...)
	if r.runs == nil {
		r.runs = make(map[uint64]*Run)
	}
	if len(r.runs) < ringRuns {
		r.runs[pos] = run
	}
	return run
}

func (r *ring) push(f frame) {
	clear(r.runs)
	r.frames = append(r.frames, f)
	r.bytes += len(f.Data)
	drop := 0
	for len(r.frames)-drop > 1 && (len(r.frames)-drop > ringFrames || r.bytes > ringBytes) {
		r.bytes -= len(r.frames[drop].Data)
		drop++
	}
	r.drop(drop)
}

// drop forgets the oldest n frames.
func (r *ring) drop(n int) {
	clear(r.frames[:n])
	r.frames = r.frames[n:] // append moves them, when the room runs out
	r.base += uint64(n)
}

// restart leaves nobody who read until now a way to go on but a state.
func (r *ring) restart() {
	*r = ring{base: r.end() + 1}
}
