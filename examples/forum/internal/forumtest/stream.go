package forumtest

import (
	"bufio"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"
)

// An Event is an event of a stream, with the fields that these tests read.
type Event struct {
	Type   string
	Topic  string
	Cursor string
	Total  int
	Users  map[string]any
	Joins  map[string]any
	Leaves map[string]any
	Stale  bool
	Unread int
	Items  []Item

	Signals []Signal
	App     string

	Connection string
}

// An Item is an item of a feed.
type Item struct{ ID, Text, URL, State string }

// A Signal is a signal in a topic.
type Signal struct {
	Type, From, Name string
	For              float64
	Data             map[string]any
}

// A Stream is a visitor's live stream.
type Stream struct {
	t     *testing.T
	Close context.CancelFunc
	lines *bufio.Scanner

	Connection string // its token
}

// Stream opens a stream, and waits until it is open.
func (v *Visitor) Stream(query string) *Stream {
	v.T.Helper()
	ctx, cancel := context.WithCancel(v.T.Context())
	v.T.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, v.URL+"/presence/events?"+query, nil)
	if err != nil {
		v.T.Fatal(err)
	}
	maps.Copy(req.Header, v.Header)
	req.Host = v.Host
	res, err := v.Client.Do(req)
	if err != nil {
		v.T.Fatal(err)
	}
	v.T.Cleanup(func() { res.Body.Close() })
	if res.StatusCode != http.StatusOK {
		v.T.Fatalf("stream of %s: got %d, want 200", query, res.StatusCode)
	}
	s := &Stream{t: v.T, Close: cancel, lines: bufio.NewScanner(res.Body)}
	s.lines.Buffer(nil, 1<<20)
	welcome, ok := s.Next()
	if !ok || welcome.Type != "welcome" {
		v.T.Fatalf("first event: got %+v, want welcome", welcome)
	}
	s.Connection = welcome.Connection
	return s
}

// RawStream returns the text of a stream's first events.
func (v *Visitor) RawStream(query string, events int) string {
	v.T.Helper()
	ctx, cancel := context.WithTimeout(v.T.Context(), Patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, v.URL+"/presence/events?"+query, nil)
	if err != nil {
		v.T.Fatal(err)
	}
	maps.Copy(req.Header, v.Header)
	req.Host = v.Host
	res, err := v.Client.Do(req)
	if err != nil {
		v.T.Fatal(err)
	}
	defer res.Body.Close()
	var text strings.Builder
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 1<<20)
	for events > 0 && lines.Scan() {
		text.WriteString(lines.Text() + "\n")
		if strings.HasPrefix(lines.Text(), "data: ") {
			events--
		}
	}
	return text.String()
}

// Next returns the next event, and false at the end.
func (s *Stream) Next() (Event, bool) {
	s.t.Helper()
	var e Event
	for s.lines.Scan() {
		field, value, _ := strings.Cut(s.lines.Text(), ": ")
		switch field {
		case "event":
			e.Type = value
		case "data":
			if err := json.Unmarshal([]byte(value), &e); err != nil {
				s.t.Fatalf("data of %s: %v in %s", e.Type, err, value)
			}
		case "":
			if e.Type != "" {
				return e, true
			}
		}
	}
	return Event{}, false
}

// Until reads on to the first event that matches, and returns it.
func (s *Stream) Until(what string, matches func(Event) bool) Event {
	s.t.Helper()
	defer time.AfterFunc(Patience, s.Close).Stop()
	for {
		e, ok := s.Next()
		if !ok {
			s.t.Fatalf("the stream ended before %s", what)
		}
		if matches(e) {
			return e
		}
	}
}

func (s *Stream) Join(id string) Event {
	s.t.Helper()
	return s.Until("the join of "+id, func(e Event) bool { return Has(e.Joins, id) || Has(e.Users, id) })
}

func (s *Stream) Leave(id string) Event {
	s.t.Helper()
	return s.Until("the leave of "+id, func(e Event) bool { return Has(e.Leaves, id) })
}

// Drain reads the stream to its end.
func (s *Stream) Drain() {
	defer time.AfterFunc(Patience, s.Close).Stop()
	for _, ok := s.Next(); ok; _, ok = s.Next() {
	}
}

func Has(users map[string]any, id string) bool {
	_, ok := users[id]
	return ok
}
