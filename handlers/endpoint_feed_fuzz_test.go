package handlers_test

import (
	"errors"
	"testing"

	"github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/internal/problem"
	"github.com/rollcall-go/rollcall/presence/feed"
)

// wantRefused fails unless an error is one that a visitor is told as a bad request.
func wantRefused(t *testing.T, body []byte, err, invalid error) {
	t.Helper()
	var p *problem.Problem
	if !errors.Is(err, invalid) && (!errors.As(err, &p) || p.Status != 400 || len(p.Detail) > 400) {
		t.Errorf("%q: got the error %v, want a short one of a bad request", body, err)
	}
}

// Whatever a body says, it is refused, or it is a mark that a Store takes, within its bounds.
func FuzzMark(f *testing.F) {
	for _, body := range []string{
		`{"topic":"inbox","as":"read","pos":[41,42]}`, `{"as":"archived","about":"thread:1","upto":7}`, `{"as":"seen"}`, `{"as":"unread","upto":9223372036854775807}`,
		`{"as":"seen","as":"read","pos":[1],"pos":[null]}`, `{"topic":"inbox:bob","as":"seen"}`, `{"as":"read","pos":[-1,1e3]}`, `null`, `{"\u0061s":"seen"}`, `{"as":"seen","upto":0}`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		m, err := handlers.ParseMark(body)
		if err != nil {
			wantRefused(t, body, err, feed.ErrInvalidMark)
			return
		}
		if err := m.Validate(); err != nil {
			t.Errorf("%q: got the mark %+v, which is none: %v", body, m, err)
		}
		for _, pos := range append(m.Pos, max(m.UpTo, 1)) {
			if pos < 1 {
				t.Errorf("%q: got the place %d, want places from 1", body, pos)
			}
		}
		if m.UpTo < 0 || m.Seen && m.As != feed.Unread {
			t.Errorf("%q: got the mark %+v", body, m)
		}
	})
}

// Whatever a body says, it is refused, or it is a mute that a Store takes.
func FuzzMute(f *testing.F) {
	for _, body := range []string{
		`{"scope":"about:thread:1","how":"all"}`, `{"scope":"*","how":"mail","for":3600}`, `{"scope":"type:reply","how":"nothing"}`,
		`{"scope":"*","how":"nothing","for":1}`, `{"scope":"*","how":"all","for":1e9}`, `{"scope":"type:\u0000","how":"all"}`, `[]`, `{"how":"all"}`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		m, err := handlers.ParseMute(body)
		if err != nil {
			wantRefused(t, body, err, feed.ErrInvalidMute)
			return
		}
		if err := m.Validate(); err != nil || m.How == feed.MuteNothing && !m.Until.IsZero() {
			t.Errorf("%q: got the mute %+v (%v)", body, m, err)
		}
	})
}
