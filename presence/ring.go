package presence

// A frame is one event of a topic's log, as bytes for pages and as entries for
// Go programs.
type frame struct {
	Event
	net  net   // of a diff
	view *View // of a state
}

// A ring is a topic's log of frames, encoded once. A reader is a position in
// it, so that a reader costs the same however slow it is. The replica's mutex
// guards it.
type ring struct {
	frames []frame
	base   uint64 // the position of frames[0]
	bytes  int
}

// Bounds of a ring.
const (
	ringFrames = 1024
	ringBytes  = 1 << 20
)

// end is the position after the latest frame.
func (r *ring) end() uint64 { return r.base + uint64(len(r.frames)) }

// holds reports whether all that came after a position is still there.
func (r *ring) holds(pos uint64) bool { return pos >= r.base && pos <= r.end() }

// after returns the frames from a position on. The slice is the caller's as
// long as it holds the replica's mutex.
func (r *ring) after(pos uint64) []frame { return r.frames[pos-r.base:] }

func (r *ring) push(f frame) {
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
	r.base, r.frames, r.bytes = r.end()+1, nil, 0
}
