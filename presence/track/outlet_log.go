package track

import (
	"slices"

	"github.com/rollcall-go/rollcall/presence"
)

// A frameLog has a source's latest events, each encoded once. A reader is only a position in the log, so a
// slow reader costs no more than a fast one. The outlet's mutex guards it.
type frameLog struct {
	frames  []frame
	base    uint64 // the position of frames[0]
	bytes   int
	encoded []encodedLog // the encoded frames, one entry for each Form, in the order of first use
}

// Bounds of a log.
const (
	maxFrames   = 1024
	maxLogBytes = 1 << 20
)

// maxReadBytes bounds what a reader gets at once, unless a single event is larger. So a reader far behind is
// served in parts, and holds the lock only for a short time.
const maxReadBytes = 64 << 10

// end is the position after the latest frame.
func (l *frameLog) end() uint64 { return l.base + uint64(len(l.frames)) }

// holds reports whether the log has all frames after a position.
func (l *frameLog) holds(pos uint64) bool { return pos >= l.base && pos <= l.end() }

// before returns the frame that ends at a position.
func (l *frameLog) before(pos uint64) *frame { return &l.frames[pos-l.base-1] }

// after returns the next frames after a position. The slice is valid while the caller holds the outlet's
// mutex.
func (l *frameLog) after(pos uint64) []frame {
	frames := l.frames[pos-l.base:]
	n, size := 0, 0
	for n < len(frames) && (n == 0 || size+len(frames[n].Data) <= maxReadBytes) {
		size += len(frames[n].Data)
		n++
	}
	return frames[:n]
}

// onlySignals reports whether the next n frames after a position are signals. n is at least one.
func (l *frameLog) onlySignals(pos uint64, n int) bool {
	frames := l.frames[pos-l.base:][:n]
	for i := range frames { // by index, because a frame is large to copy
		if frames[i].Type != presence.EventSignal {
			return false
		}
	}
	return true
}

// encodedAfter returns the next frames after a position, in a Form, and their number. All readers share the
// bytes: do not change them.
func (l *frameLog) encodedAfter(pos uint64, form *Form) (n int, b []byte) {
	e := l.encodedAs(form)
	for i := len(e.starts); i < len(l.frames); i++ {
		e.push(l.frames[i].Event)
	}
	return e.after(int(pos - l.base))
}

// shares returns the Form whose bytes a reader with a Form can share after a position, or nil if its base
// would write one of the frames differently.
func (l *frameLog) shares(pos uint64, form *Form) *Form {
	if form == nil || form.base == nil {
		return form
	}
	for _, f := range l.after(pos) {
		if !form.same(f.Event) {
			return nil
		}
	}
	return form.base
}

// encodedAs returns the encoded frames of a Form. If there are maxForms already, it replaces the last one.
func (l *frameLog) encodedAs(form *Form) *encodedLog {
	for i := range l.encoded {
		if l.encoded[i].form == form {
			return &l.encoded[i]
		}
	}
	if len(l.encoded) == maxForms {
		l.encoded = l.encoded[:maxForms-1]
	}
	l.encoded = append(l.encoded, encodedLog{form: form})
	return &l.encoded[len(l.encoded)-1]
}

// push adds a frame, and drops the oldest ones over the bounds.
func (l *frameLog) push(f frame) {
	f.Event = alone(f.Event)
	l.frames = append(l.frames, f)
	l.bytes += f.size()
	drop := 0
	for len(l.frames)-drop > 1 && (len(l.frames)-drop > maxFrames || l.bytes > maxLogBytes) {
		l.bytes -= l.frames[drop].size()
		drop++
	}
	l.drop(drop)
}

// drop removes the oldest n frames.
func (l *frameLog) drop(n int) {
	clear(l.frames[:n])
	l.frames = l.frames[n:] // append moves the frames to a new array when the room runs out
	l.base += uint64(n)
	for i := range l.encoded {
		e := &l.encoded[i]
		e.starts = e.starts[min(n, len(e.starts)):]
	}
}

// restart drops all frames. Each reader gets a state next.
func (l *frameLog) restart() {
	*l = frameLog{base: l.end() + 1}
}

// An encodedLog has the frames of a log in one Form, one after the other, so that everything that a reader
// missed is one slice. Frames are encoded when a reader asks for them.
type encodedLog struct {
	form   *Form
	bytes  []byte // only appended to, so slices that readers have do not change
	moved  int    // bytes dropped before bytes[0]
	starts []int  // where each frame begins, counting the dropped bytes
}

func (l *encodedLog) push(e presence.Event) {
	if need := len(e.Data) + framing; cap(l.bytes)-len(l.bytes) < need {
		l.makeRoom(need)
	}
	l.starts = append(l.starts, l.moved+len(l.bytes))
	l.bytes = l.form.put(l.bytes, e)
}

// makeRoom moves the frames that are still in the log to a new array with room for as many bytes again.
func (l *encodedLog) makeRoom(need int) {
	dropped := len(l.bytes)
	if len(l.starts) > 0 {
		dropped = l.starts[0] - l.moved
	}
	kept := l.bytes[dropped:]
	l.bytes = append(make([]byte, 0, 2*(len(kept)+need)), kept...)
	l.moved += dropped
}

// after returns whole frames from the frame i on, up to maxReadBytes, and their number.
func (l *encodedLog) after(i int) (n int, b []byte) {
	if i == len(l.starts) {
		return 0, nil
	}
	begin, end := l.starts[i], l.moved+len(l.bytes)
	n = len(l.starts) - i
	if end-begin > maxReadBytes && n > 1 {
		over, _ := slices.BinarySearch(l.starts[i:], begin+maxReadBytes+1) // the first frame that begins beyond maxReadBytes
		n = max(over-1, 1)
		end = l.starts[i+n]
	}
	return n, l.bytes[begin-l.moved : end-l.moved : end-l.moved]
}
