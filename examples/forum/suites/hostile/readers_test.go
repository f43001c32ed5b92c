package hostile_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rollcall-go/rollcall/examples/forum/internal/forumtest"
)

// A calmReader is an ordinary visitor with one page open, a guest or a user. It
// keeps the roster that its events make, and notes what an ordinary visitor must
// never see. It does not come back: that would hide what cut it.
type calmReader struct {
	name    string // empty: a guest
	library *forumtest.Library
	stream  *forumtest.BareStream
	closing chan struct{}

	mu     sync.Mutex
	roster *forumtest.Roster
	cursor string
	states int
	diffs  int
	joined map[int]time.Time // when it saw each of the writer's users join
	last   int               // the latest of them
	left   map[int]bool      // which of them it saw leave
	ended  bool
	faults []string
}

func openReader(c *forumtest.BareClient, name string, library *forumtest.Library, closing chan struct{}) (*calmReader, error) {
	r := &calmReader{name: name, library: library, closing: closing, roster: library.Empty, joined: make(map[int]time.Time), left: make(map[int]bool)}
	cookie := ""
	if name != "" {
		cookie = forumtest.UserCookie(name)
	}
	stream, status, err := c.Stream("topic=site&limit=1000", cookie, true)
	if err != nil {
		return nil, fmt.Errorf("a reader: status %d: %w", status, err)
	}
	r.stream = stream
	return r, nil
}

// run reads until the stream ends.
func (r *calmReader) run() {
	for {
		typ, data, err := r.stream.Next()
		if err != nil {
			r.mu.Lock()
			select {
			case <-r.closing: // the test is over
			default:
				r.fault("the stream ended: %v", err)
			}
			r.ended = true
			r.mu.Unlock()
			r.stream.Conn.Close()
			return
		}
		if e := r.library.Event([]byte(typ), []byte(data)); e != nil {
			r.take(e, time.Now())
		} else if typ != "heartbeat" {
			r.mu.Lock()
			r.fault("got the event %q", typ)
			r.mu.Unlock()
		}
	}
}

// take applies a state or a diff.
func (r *calmReader) take(e *forumtest.RosterEvent, now time.Time) {
	step := r.library.Apply(r.currentRoster(), e)
	r.mu.Lock()
	defer r.mu.Unlock()
	if e.Typ == "state" {
		r.states++
	} else {
		r.diffs++
		if e.Prev != r.cursor {
			r.fault("a diff goes on from %s, and the reader stands at %s", e.Prev, r.cursor)
		}
	}
	for _, fault := range step.Faults {
		r.fault("%s", fault)
	}
	r.roster, r.cursor = step.To, e.Cursor
	if e.Typ == "state" {
		return
	}
	latest := r.last
	for user := range e.Joins {
		if n, ok := writersUser(user); ok {
			if n < r.last {
				r.fault("%s joined after %s", user, writerName(r.last))
			}
			r.joined[n] = now
			latest = max(latest, n)
		}
	}
	r.last = latest
	for user := range e.Leaves {
		if n, ok := writersUser(user); ok {
			r.left[n] = true
		}
	}
}

func (r *calmReader) currentRoster() *forumtest.Roster {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.roster
}

// reading reports whether the reader's stream is still open.
func (r *calmReader) reading() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.ended
}

// fault notes what must not be. The caller holds mu.
func (r *calmReader) fault(format string, args ...any) {
	if len(r.faults) < 3 {
		r.faults = append(r.faults, fmt.Sprintf(format, args...))
	}
}

// calmFaults returns what readers saw that they must not see, and how many saw it.
func calmFaults(readers []*calmReader) []string {
	seen := make(map[string]int)
	for _, r := range readers {
		r.mu.Lock()
		for _, fault := range r.faults {
			seen[fault]++
		}
		r.faults = nil
		r.mu.Unlock()
	}
	var lines []string
	for _, fault := range slices.Sorted(maps.Keys(seen)) {
		if lines = append(lines, fmt.Sprintf("%d readers: %s", seen[fault], fault)); len(lines) == 10 {
			return append(lines, fmt.Sprintf("and %d other faults", len(seen)-len(lines)))
		}
	}
	return lines
}

// A calmWriter makes joins and leaves at a steady pace: each of its users opens a
// stream, and signs out some joins later.
type calmWriter struct {
	client forumtest.BareClient
	pause  time.Duration // between two joins

	mu      sync.Mutex
	joins   []time.Time // when the user with this number began to join
	streams []*forumtest.BareStream
	gone    int // users with lower numbers have signed out
	refused []string
}

// writerStays is how many users of the writer are there at a time.
const writerStays = 10

func writerName(n int) string { return fmt.Sprintf("writer-%d", n) }

// writersUser returns the number of one of the writer's users.
func writersUser(name string) (n int, ok bool) {
	if !strings.HasPrefix(name, "writer-") {
		return 0, false
	}
	_, err := fmt.Sscanf(name, "writer-%d", &n)
	return n, err == nil
}

// step lets the next user join, and the one that has been there for the longest
// leave.
func (w *calmWriter) step() {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := len(w.joins)
	w.joins = append(w.joins, time.Now())
	stream, status, err := w.client.Stream("topic=site&limit=1", forumtest.UserCookie(writerName(n)), true)
	if err != nil {
		w.refused = append(w.refused, fmt.Sprintf("the join of %s: status %d, %v", writerName(n), status, err))
	} else {
		go func() {
			for {
				if _, _, err := stream.Next(); err != nil {
					return
				}
			}
		}()
	}
	w.streams = append(w.streams, stream)
	if n >= writerStays {
		w.leave(n - writerStays)
	}
}

// leave signs a user out. The caller holds mu.
func (w *calmWriter) leave(n int) {
	status, _, _, err := w.client.Do(http.MethodPost, "/logout", forumtest.UserCookie(writerName(n)), "")
	if err != nil || status != http.StatusSeeOther {
		w.refused = append(w.refused, fmt.Sprintf("the sign-out of %s: status %d, %v", writerName(n), status, err))
	}
	if w.streams[n] != nil {
		w.streams[n].Conn.Close()
	}
	w.gone = n + 1
}

// run steps at the writer's pace until stop is closed.
func (w *calmWriter) run(stop chan struct{}) {
	tick := time.NewTicker(w.pause)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
			w.step()
		}
	}
}

// here returns which of the writer's users are online.
func (w *calmWriter) here() (names []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for n := w.gone; n < len(w.joins); n++ {
		names = append(names, writerName(n))
	}
	return names
}

// number is how many users have joined.
func (w *calmWriter) number() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.joins)
}

// refusals returns what the forum refused to the writer.
func (w *calmWriter) refusals() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	refused := w.refused
	w.refused = nil
	return refused
}

// latency returns how long the joins from one number to another took to reach the
// readers: the time that half of them took, that which 99 % took, and how many
// never came, or never ended, for a reader whose stream is still open.
func (w *calmWriter) latency(readers []*calmReader, from, to int) (half, p99 time.Duration, missing int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var took []time.Duration
	for _, r := range readers {
		r.mu.Lock()
		for n := from; n < to; n++ {
			at, joined := r.joined[n]
			if joined {
				took = append(took, at.Sub(w.joins[n]))
			}
			if !r.ended && (!joined || n < w.gone && !r.left[n]) {
				missing++
			}
		}
		r.mu.Unlock()
	}
	if len(took) == 0 {
		return 0, 0, missing
	}
	slices.Sort(took)
	return took[len(took)/2], took[len(took)*99/100], missing
}
