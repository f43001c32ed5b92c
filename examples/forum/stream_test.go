package main

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"
)

// An event is one of a stream, with the fields that these tests look at.
type event struct {
	Type   string
	Topic  string
	Total  int
	Users  map[string]any
	Joins  map[string]any
	Leaves map[string]any
	Stale  bool

	Connection string
}

// A stream is a visitor's live stream.
type stream struct {
	t     *testing.T
	close context.CancelFunc
	lines *bufio.Scanner

	connection string // its token
}

// stream opens a stream, and waits until it is there.
func (v *visitor) stream(query string) *stream {
	v.t.Helper()
	ctx, cancel := context.WithCancel(v.t.Context())
	v.t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, v.url+"/presence/events?"+query, nil)
	if err != nil {
		v.t.Fatal(err)
	}
	res, err := v.client.Do(req)
	if err != nil {
		v.t.Fatal(err)
	}
	v.t.Cleanup(func() { res.Body.Close() })
	if res.StatusCode != http.StatusOK {
		v.t.Fatalf("stream of %s: got %d, want 200", query, res.StatusCode)
	}
	s := &stream{t: v.t, close: cancel, lines: bufio.NewScanner(res.Body)}
	s.lines.Buffer(nil, 1<<20)
	welcome, ok := s.next()
	if !ok || welcome.Type != "welcome" {
		v.t.Fatalf("first event: got %+v, want welcome", welcome)
	}
	s.connection = welcome.Connection
	return s
}

// rawStream returns the text of a stream's first events.
func (v *visitor) rawStream(query string, events int) string {
	v.t.Helper()
	ctx, cancel := context.WithTimeout(v.t.Context(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, v.url+"/presence/events?"+query, nil)
	if err != nil {
		v.t.Fatal(err)
	}
	res, err := v.client.Do(req)
	if err != nil {
		v.t.Fatal(err)
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

// next returns the next event, and false at the end.
func (s *stream) next() (event, bool) {
	s.t.Helper()
	var e event
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
	return event{}, false
}

// until reads on to the first event that matches, and returns it.
func (s *stream) until(what string, matches func(event) bool) event {
	s.t.Helper()
	defer time.AfterFunc(patience, s.close).Stop()
	for {
		e, ok := s.next()
		if !ok {
			s.t.Fatalf("the stream ended before %s", what)
		}
		if matches(e) {
			return e
		}
	}
}

func (s *stream) join(id string) event {
	s.t.Helper()
	return s.until("the join of "+id, func(e event) bool { return has(e.Joins, id) || has(e.Users, id) })
}

func (s *stream) leave(id string) event {
	s.t.Helper()
	return s.until("the leave of "+id, func(e event) bool { return has(e.Leaves, id) })
}

// drain reads to the end.
func (s *stream) drain() {
	defer time.AfterFunc(patience, s.close).Stop()
	for _, ok := s.next(); ok; _, ok = s.next() {
	}
}

func has(users map[string]any, id string) bool {
	_, ok := users[id]
	return ok
}
