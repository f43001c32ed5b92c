package simtest_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"

	"github.com/rollcall-go/rollcall/presence"
)

// openEvents reads Server-Sent Events, as EventSource does.
func (p *page) openEvents(ctx context.Context, at *process) (stream, error) {
	resp, cancel, err := at.site.get(ctx, p, "events", nil)
	if err != nil {
		return nil, err
	}
	s := newWire(cancel)
	p.w.running.Go(func() {
		defer resp.Body.Close()
		defer cancel()
		s.over(s.readEvents(resp.Body))
	})
	return s, nil
}

func (s *wire) readEvents(from io.Reader) error {
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, 1<<20)
	var e presence.Event
	for lines.Scan() {
		name, value, _ := bytes.Cut(lines.Bytes(), []byte(": "))
		switch string(name) {
		case "event":
			e.Type = presence.EventType(value)
		case "id":
			e.ID = presence.Cursor(value)
		case "data":
			e.Data = bytes.Clone(value)
		case "":
			if e.Data != nil {
				if err := s.event(e); err != nil {
					return err
				}
			}
			e = presence.Event{}
		}
	}
	if lines.Err() != nil {
		return lines.Err()
	}
	return io.EOF
}

// event takes an event of either transport that has a welcome.
func (s *wire) event(e presence.Event) error {
	if e.Type != "welcome" && e.Type != "token" {
		s.take(e)
		return nil
	}
	var d struct{ Connection presence.Token }
	if err := json.Unmarshal(e.Data, &d); err != nil {
		return err
	}
	s.welcome(d.Connection)
	return nil
}
