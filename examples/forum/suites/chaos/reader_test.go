package chaos_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httputil"
	"strconv"
	"sync"
	"time"

	"github.com/rollcall-go/rollcall/examples/forum/internal/forumtest"
)

// A chaosReader is one page's stream: a bare socket and a goroutine. It comes
// back whatever happens, to any node, when the server said and with the id of
// the last event. It keeps the roster that its events make, and notes each event
// that does not follow from what it had.
type chaosReader struct {
	fleet *fleet
	name  string                         // empty: a guest
	query string                         // what it reads; empty: the site's roster
	agent string                         // the name of its browser; empty: none
	check func(*forumtest.Roster) string // says what must not be in a roster; nil: nothing is looked for
	away  *absence                       // of its user; nil: nobody asks

	mu      sync.Mutex
	conn    net.Conn  // nil: it has none
	node    int       // the index of the node it reads from, or read from last
	up      bool      // events come
	since   time.Time // and when they began to
	parted  bool      // it does not come back
	roster  *forumtest.Roster
	cursor  string
	lastID  string
	retry   time.Duration
	fresh   bool           // nothing came on this stream yet
	left    map[string]int // how often it saw each user leave
	came    map[string]int // and come, by diffs
	leaves  []string       // and where, lately
	earlier []string       // the same, before all was last well
	missed  map[string]int // how often a state elsewhere held a user no more
	back    map[string]int // or again
	faults  []string
	figures
}

// figures are what readers count.
type figures struct{ opened, refused, states, diffs, bytes int }

func newChaosReader(f *fleet, name string) *chaosReader {
	return &chaosReader{fleet: f, name: name, roster: f.library.Empty, left: make(map[string]int), came: make(map[string]int), missed: make(map[string]int), back: make(map[string]int)}
}

// run reads until ctx ends, or the reader parted.
func (r *chaosReader) run(ctx context.Context) {
	parting := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(parting)
		r.part()
	})
	defer func() {
		switch {
		case !stop():
			<-parting // or it would part from the page that is opened next
		case ctx.Err() != nil:
			r.part() // stop was faster
		}
	}()
	for ctx.Err() == nil {
		r.read()
		r.mu.Lock()
		wait, parted := r.retry, r.parted
		if r.up {
			r.away.begin(r.fleet.nodes[r.node], r.since)
		}
		r.up, r.conn = false, nil
		r.mu.Unlock()
		if parted {
			return
		}
		if wait == 0 {
			wait = 50*time.Millisecond + rand.N(200*time.Millisecond)
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
}

// part closes the page.
func (r *chaosReader) part() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.parted = true
	if r.conn != nil {
		r.conn.Close()
	}
}

// leaveIt makes the stream that is open the last one. It does not end it.
func (r *chaosReader) leaveIt() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.parted = true
	if r.conn != nil && !r.up {
		r.conn.Close()
	}
}

// open reports whether the reader has a connection.
func (r *chaosReader) open() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.conn != nil
}

// reopen makes a page that was closed one that may be opened.
func (r *chaosReader) reopen() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.parted = false
}

// read reads one stream to its end.
func (r *chaosReader) read() {
	node := rand.IntN(len(r.fleet.nodes))
	addr := r.fleet.front
	if addr == "" {
		addr = r.fleet.nodes[node].Addr
	}
	conn, err := net.DialTimeout("tcp", addr, 2*time.Second)
	if err != nil {
		return
	}
	defer conn.Close()
	r.mu.Lock()
	if r.parted {
		r.mu.Unlock()
		return
	}
	r.conn, r.node, r.fresh = conn, node, true
	request := "GET /presence/events?" + cmp.Or(r.query, "topic=site&limit=1000") + " HTTP/1.1\r\nHost: forum\r\n"
	if r.name != "" {
		request += "Cookie: " + forumtest.CookieName + "=" + r.name + "\r\n"
	}
	if r.agent != "" {
		request += "User-Agent: " + r.agent + "\r\n"
	}
	if r.lastID != "" {
		request += "Last-Event-ID: " + r.lastID + "\r\n"
	}
	r.mu.Unlock()
	if _, err := io.WriteString(conn, request+"\r\n"); err != nil {
		return
	}
	asked := time.Now()
	lines := bufio.NewReaderSize(conn, 2<<10)
	res, err := http.ReadResponse(lines, nil)
	if err != nil {
		return
	}
	r.mu.Lock()
	switch {
	case res.StatusCode != http.StatusOK:
		r.refused++
	case r.parted: // before it began
		res.StatusCode = 0
	default:
		r.opened++
		r.up, r.since = true, time.Now()
		r.away.end(node, asked)
		r.fleet.waited.add(node, asked, r.name != "")
	}
	r.mu.Unlock()
	if res.StatusCode != http.StatusOK {
		return
	}
	if len(res.TransferEncoding) > 0 {
		lines = bufio.NewReader(httputil.NewChunkedReader(lines))
	}
	r.listen(lines)
}

// listen takes events until the stream ends.
func (r *chaosReader) listen(lines *bufio.Reader) {
	var typ, id, data, long []byte
	for {
		line, err := lines.ReadSlice('\n')
		if err == bufio.ErrBufferFull {
			long = append(long, line...)
			continue
		}
		if err != nil {
			return
		}
		if len(long) > 0 {
			long = append(long, line...)
			line = long
		}
		field, value, _ := bytes.Cut(bytes.TrimSuffix(line, []byte("\n")), []byte(": "))
		switch string(field) {
		case "event":
			typ = append(typ[:0], value...)
		case "id":
			id = append(id[:0], value...)
		case "data":
			data = append(data[:0], value...)
		case "retry":
			if ms, err := strconv.Atoi(string(value)); err == nil {
				r.mu.Lock()
				r.retry = time.Duration(ms) * time.Millisecond
				r.mu.Unlock()
			}
		case "":
			r.take(typ, id, data)
			typ, id, data = typ[:0], id[:0], data[:0]
			if cap(data) > 4<<10 { // it was a state; thousands of readers keep no such memory
				data = nil
			}
		}
		long = nil
	}
}

// take applies an event.
func (r *chaosReader) take(typ, id, data []byte) {
	e := r.fleet.library.Event(typ, data)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bytes += len(typ) + len(id) + len(data)
	if len(id) > 0 {
		r.lastID = string(id)
	}
	if e == nil {
		return
	}
	if e.Typ == "state" {
		r.states++
	} else {
		r.diffs++
		if e.Prev != r.cursor {
			r.fault("a diff goes on from %s, and the reader stands at %s", e.Prev, r.cursor)
		}
	}
	step := r.fleet.library.Apply(r.roster, e)
	for _, fault := range step.Faults {
		r.fault("at node %d: %s", r.node, fault)
	}
	moved := r.fresh && e.Typ == "state" // to a node that knows less, or more
	r.fresh = false
	for _, user := range step.Left {
		if moved {
			r.missed[user]++
		} else {
			r.left[user]++
		}
		r.leaves = append(r.leaves, fmt.Sprintf("%s %s: %s at node %d", time.Now().Format("05.000"), user, e.Typ, r.node))
	}
	if moved {
		for user := range step.To.Users {
			if _, there := r.roster.Users[user]; !there {
				r.back[user]++
			}
		}
	}
	for user := range e.Joins {
		if _, there := r.roster.Users[user]; !there {
			r.came[user]++
		}
	}
	r.roster, r.cursor = step.To, e.Cursor
	if r.check != nil {
		if wrong := r.check(r.roster); wrong != "" {
			r.fault("%s", wrong)
		}
	}
}

// fault notes what must not be. The caller holds mu.
func (r *chaosReader) fault(format string, args ...any) {
	if len(r.faults) < 5 {
		r.faults = append(r.faults, time.Now().Format("05.000 ")+fmt.Sprintf(format, args...))
	}
}
