package main

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/rollcall-go/rollcall/internal/wait"
)

// A poll is the answer to a long poll.
type poll struct {
	answer
	welcome
	cursor string
	given  bool // it is what the endpoints answer
}

// ask polls the page's topics as a visitor: the answer comes at once without a cursor, and else after the
// wait if nothing happens.
func (s *site) ask(ctx context.Context, v *visitor, cursor string, wait time.Duration) *poll {
	params := s.follow("wait", strconv.Itoa(int(wait/time.Second)))
	if cursor != "" {
		params = append(params, "cursor", cursor)
	}
	p := &poll{answer: v.do(ctx, wish{url: s.at("poll", params...), wait: wait})}
	if p.err != nil || p.status != http.StatusOK {
		return p
	}
	var body struct {
		Cursor            string
		Refused, Warnings []string
	}
	if json.Unmarshal(p.body, &body) == nil && body.Cursor != "" {
		p.given, p.cursor, p.Refused, p.Warnings = true, body.Cursor, body.Refused, body.Warnings
	}
	return p
}

// notes returns what the site says of the visitor's streams: in the answer to a poll, or else
// in the welcome of the stream. Nil: nothing is known.
func (s *site) notes(ctx context.Context) *welcome {
	if p := s.poll(); p.given {
		return &p.welcome
	}
	if s.live.greeted(ctx) {
		return s.live.welcome
	}
	return nil
}

// A silence is how long the site let a visitor wait.
type silence struct {
	longest time.Duration // of an answer that came
	cut     time.Duration // after which another answer came instead; 0: none
	by      string        // what that was
}

// mostSilent is how long a proxy must let an answer wait.
const mostSilent = 20 * time.Second

// listen polls until an answer took mostSilent, or the time for the stream is over. On a busy
// site events come before.
func (s *site) listen(ctx context.Context) (heard silence) {
	last := s.poll()
	if !last.given {
		return heard
	}
	end := last.sent.Add(s.hold)
	for {
		hold := min(time.Until(end), mostSilent+time.Second).Truncate(time.Second)
		if hold < time.Second || !last.given {
			return heard
		}
		p := s.ask(ctx, s.me, last.cursor, hold)
		switch {
		case ctx.Err() != nil || p.busy():
			return heard
		case !p.given:
			if p.took > time.Second && (p.err != nil || p.detail() == "") {
				heard.cut, heard.by = p.took, p.what()
			}
			return heard
		}
		if heard.longest = max(heard.longest, p.took); heard.longest >= mostSilent {
			return heard
		}
		if p.took < time.Second && !wait.For(ctx, time.Second) {
			return heard
		}
		last = p
	}
}
