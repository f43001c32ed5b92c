package handlers_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// An event is one of a stream, as a browser would see it.
type event struct {
	typ, id, retry string
	data           payload
}

// payload holds the fields of all kinds of events.
type payload struct {
	Connection string   `json:"connection"`
	Heartbeat  float64  `json:"heartbeat"`
	Grace      float64  `json:"grace"`
	Beat       *float64 `json:"beat"`

	Topic  string                     `json:"topic"`
	Cursor string                     `json:"cursor"`
	Prev   string                     `json:"prev"`
	Total  int                        `json:"total"`
	Guests int                        `json:"guests"`
	Recent int                        `json:"recent"`
	Users  map[string]json.RawMessage `json:"users"`
	Joins  map[string]json.RawMessage `json:"joins"`
	Leaves map[string]json.RawMessage `json:"leaves"`

	Window    int      `json:"window"`
	Order     []string `json:"order"`
	Out       []string `json:"out"`
	Truncated bool     `json:"truncated"`
	Stale     bool     `json:"stale"`

	Refused  []string `json:"refused"`
	Warnings []string `json:"warnings"`

	Unread *int   `json:"unread"`
	Unseen *int   `json:"unseen"`
	Items  []item `json:"items"`
	More   *bool  `json:"more"`

	Signals []said `json:"signals"`

	Title  string `json:"title"`
	Detail string `json:"detail"`
}

// A said is one signal of an event.
type said struct {
	Type       string
	V          int
	From, Name string
	For        float64
	Data       json.RawMessage
}

// An item is one of a feed.
type item struct {
	ID    string
	Pos   int64
	Text  string
	State string
}

// A listener is the reading end of a stream, over whatever transport.
type listener struct {
	source
	t    *testing.T
	resp *http.Response // of a stream of Server-Sent Events
	last string         // the latest id, as a browser remembers it
}

// A source is a transport as a client has it.
type source interface {
	next() (event, bool) // false at the stream's end
	close()
}

// next returns the next event, or false at the stream's end.
func (l *listener) next() (event, bool) {
	l.t.Helper()
	e, ok := l.source.next()
	if e.id != "" {
		l.last = e.id
	}
	return e, ok
}

// listen opens a stream of Server-Sent Events.
func (s *site) listen(r request) *listener {
	s.t.Helper()
	resp := s.do(r)
	if resp.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(resp.Body)
		s.t.Fatalf("%s: got status %d (%s), want 200", r.path, resp.StatusCode, body)
	}
	l := newListener(s.t, resp)
	s.t.Cleanup(l.close)
	return l
}

func newListener(t *testing.T, resp *http.Response) *listener {
	scan := bufio.NewScanner(resp.Body)
	scan.Buffer(nil, 1<<20)
	return &listener{t: t, resp: resp, source: &sseSource{t: t, body: resp.Body, scan: scan}}
}

// sseSource reads Server-Sent Events. A retry that stands alone at the end comes
// as an event without a type.
type sseSource struct {
	t    *testing.T
	body io.Closer
	scan *bufio.Scanner
}

func (s *sseSource) close() { s.body.Close() }

func (s *sseSource) next() (event, bool) {
	s.t.Helper()
	var e event
	for s.scan.Scan() {
		field, value, _ := strings.Cut(s.scan.Text(), ": ")
		switch field {
		case "event":
			e.typ = value
		case "id":
			e.id = value
		case "retry":
			e.retry = value
		case "data":
			if err := json.Unmarshal([]byte(value), &e.data); err != nil {
				s.t.Fatalf("event data %q: %v", value, err)
			}
		case "":
			return e, true
		default:
			s.t.Fatalf("got the line %q, which is none of ours", s.scan.Text())
		}
	}
	if err := s.scan.Err(); err != nil && !errors.Is(err, net.ErrClosed) {
		s.t.Logf("the stream was cut: %v", err)
	}
	return e, e.retry != ""
}

// want returns the next event that is no heartbeat, which must be of a type.
func (l *listener) want(typ string) event {
	l.t.Helper()
	for {
		e, ok := l.next()
		switch {
		case !ok:
			l.t.Fatalf("the stream has ended, want %s", typ)
		case e.typ == typ:
			return e
		case e.typ == "heartbeat" || e.retry != "":
			continue
		default:
			l.t.Fatalf("got %s, want %s", e.typ, typ)
		}
	}
}

// started reads what every stream begins with: the welcome, and then a state
// of each topic.
func (l *listener) started(states int) *listener {
	l.t.Helper()
	l.want("welcome")
	for range states {
		l.want("state")
	}
	return l
}

// quiet fails if anything but heartbeats comes until d has passed.
func (l *listener) quiet(d time.Duration) {
	l.t.Helper()
	until := time.Now().Add(d)
	for time.Now().Before(until) {
		if e, ok := l.next(); !ok || e.typ != "heartbeat" {
			l.t.Fatalf("got %+v (%v) after %v, want nothing but heartbeats for %v", e, ok, d-time.Until(until), d)
		}
	}
}

// drain reads a stream until its end, so that the server never waits for it.
func (l *listener) drain() (ended <-chan struct{}) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for _, ok := l.next(); ok; _, ok = l.next() {
		}
	}()
	return done
}

// feed is drain for who wants the events that are no heartbeats.
func (l *listener) feed() <-chan event {
	events := make(chan event, 100)
	go func() {
		defer close(events)
		for e, ok := l.next(); ok; e, ok = l.next() {
			if e.typ != "heartbeat" && e.retry == "" {
				events <- e
			}
		}
	}()
	return events
}
