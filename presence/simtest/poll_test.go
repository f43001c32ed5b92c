package simtest_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"

	"github.com/rollcall-go/rollcall/presence"
)

var errStrange = errors.New("its user has signed out")

// openPolls reads by long polling: each poll is a connection of its own.
func (p *page) openPolls(ctx context.Context, at *process) (stream, error) {
	ctx, cancel := context.WithCancel(ctx)
	cursor := p.resumes()
	resp, end, err := p.poll(ctx, at, cursor)
	if err != nil {
		cancel()
		return nil, err
	}
	s := newWire(cancel)
	p.w.running.Go(func() {
		defer cancel()
		for {
			cursor, err = s.answer(resp)
			end()
			if err == nil && p.strange.Load() {
				err = errStrange
			}
			if err == nil {
				resp, end, err = p.poll(ctx, at, cursor)
			}
			if err != nil {
				s.over(err)
				return
			}
		}
	})
	return s, nil
}

func (p *page) poll(ctx context.Context, at *process, cursor presence.Cursor) (*http.Response, context.CancelFunc, error) {
	return at.site.get(ctx, p, "poll", url.Values{"cursor": {string(cursor)}, "wait": {"5"}})
}

// answer takes the answer to a poll. It returns the cursor of the next one.
func (s *wire) answer(resp *http.Response) (presence.Cursor, error) {
	defer resp.Body.Close()
	var a struct {
		Cursor presence.Cursor
		Events []struct {
			Event presence.EventType
			Data  json.RawMessage
		}
		Heartbeats []json.RawMessage
	}
	if err := json.NewDecoder(resp.Body).Decode(&a); err != nil {
		return "", err
	}
	for i, e := range a.Events {
		event := presence.Event{Type: e.Event, Data: e.Data}
		if i == len(a.Events)-1 {
			event.ID = a.Cursor
		}
		s.take(event)
	}
	for _, data := range a.Heartbeats {
		s.take(presence.Event{Type: presence.EventHeartbeat, Data: data})
	}
	return a.Cursor, nil
}
