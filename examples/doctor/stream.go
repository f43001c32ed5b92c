package main

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/rollcall-go/rollcall/internal/wait"
)

// maxStreamed bounds what one stream may send, in bytes, and maxLine one line of it.
const (
	maxStreamed = 8 << 20
	maxLine     = maxBody
)

// A welcome is what a stream or a poll says of itself.
type welcome struct {
	Connection string   `json:"connection"`
	Heartbeat  float64  `json:"heartbeat"` // seconds
	User       string   `json:"user"`
	Refused    []string `json:"refused"`
	Warnings   []string `json:"warnings"`
}

// heartbeat is how long the site keeps silent at most.
func (w *welcome) heartbeat() time.Duration {
	if w == nil || w.Heartbeat <= 0 || w.Heartbeat > 3600 {
		return 15 * time.Second
	}
	return time.Duration(w.Heartbeat * float64(time.Second))
}

// A stream is the stream that the doctor keeps open. Its fields may be read once the channel
// beside them is closed.
type stream struct {
	answered chan struct{} // the header has come, or never will
	answer   answer        // the header; the body only of a refusal

	welcomed chan struct{} // the first event has come, or never will
	welcome  *welcome      // nil: there was none

	done   chan struct{}
	opened time.Time
	ended  time.Time
	last   time.Time     // of the last event
	gap    time.Duration // the longest between two events
	whole  bool          // the doctor ended it
	told   bool          // the site ended it: it told when to come back
	events int
}

func newStream() *stream {
	return &stream{answered: make(chan struct{}), welcomed: make(chan struct{}), done: make(chan struct{})}
}

// openTime is how long a stream may take until its first event.
const openTime = 15 * time.Second

// hold opens the stream, and reads it for the time of the options from the first event on.
func (l *stream) hold(ctx context.Context, s *site) {
	answered, welcomed := sync.OnceFunc(func() { close(l.answered) }), sync.OnceFunc(func() { close(l.welcomed) })
	defer close(l.done)
	defer welcomed()
	defer answered()
	within, cancel := context.WithCancel(ctx)
	defer cancel()
	over := time.AfterFunc(openTime, cancel)
	defer over.Stop()
	l.opened = time.Now()
	defer func() { l.ended, l.whole = time.Now(), within.Err() != nil }()
	var resp *http.Response
	for tries := 0; ; tries++ {
		if resp = l.open(within, s); l.answer.err != nil {
			return
		}
		if tooMany(resp.StatusCode, resp.Header) {
			s.net.hasty.Add(1)
		} else if resp.StatusCode != http.StatusServiceUnavailable {
			break
		}
		if tries == 2 {
			break
		}
		resp.Body.Close()
		if !wait.For(within, time.Second) {
			return
		}
	}
	defer resp.Body.Close()
	if !l.flows() {
		l.answer.body, _ = io.ReadAll(io.LimitReader(resp.Body, maxLine))
		return
	}
	answered()
	body := io.LimitReader(resp.Body, maxStreamed)
	if resp.Header.Get("Content-Encoding") == "gzip" {
		unpacked, err := gzip.NewReader(body)
		if err != nil {
			return
		}
		body = io.LimitReader(unpacked, maxStreamed)
	}
	l.read(body, func() { over.Reset(s.hold); welcomed() })
}

// open sends the request of a stream.
func (l *stream) open(ctx context.Context, s *site) *http.Response {
	r, err := s.me.request(ctx, wish{url: s.at("events", s.follow()...), header: map[string]string{
		"Accept": "text/event-stream", "Accept-Encoding": "gzip",
	}})
	if err != nil {
		l.answer.err = err
		return nil
	}
	l.opened, l.last = time.Now(), time.Now()
	resp, err := s.me.client.Do(r)
	if err != nil {
		l.answer.err = reason(err)
		return nil
	}
	if resp.StatusCode == http.StatusSwitchingProtocols { // the end of ctx would not end the body
		resp.Body.Close()
		l.answer.err = errSwitched
	}
	l.answer.status, l.answer.header, l.answer.proto = resp.StatusCode, resp.Header, resp.Proto
	return resp
}

// flows reports whether the answer, which has come, is a stream of events.
func (l *stream) flows() bool {
	return l.answer.err == nil && l.answer.status == http.StatusOK &&
		strings.HasPrefix(l.answer.header.Get("Content-Type"), "text/event-stream")
}

// read reads events until the stream ends.
func (l *stream) read(body io.Reader, welcomed func()) {
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, maxLine)
	kind := ""
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		l.told = name == "retry"
		switch name {
		case "event":
			kind = value
		case "data":
			if w := new(welcome); kind == "welcome" && l.welcome == nil && json.Unmarshal([]byte(value), w) == nil {
				l.welcome = w
				welcomed()
			}
		case "":
			if kind != "" {
				now := time.Now()
				l.gap = max(l.gap, now.Sub(l.last))
				l.last = now
				l.events++
			}
			kind = ""
		}
	}
	if lines.Err() != nil {
		l.told = false
	}
}

// greeted waits for the first event, for openTime at most, and reports whether it has come.
func (l *stream) greeted(ctx context.Context) bool {
	return waits(ctx, l.welcomed) && l.welcome != nil
}

// opens waits until the stream is answered, for openTime at most, and reports whether it was
// answered by a stream.
func (l *stream) opens(ctx context.Context) bool { return waits(ctx, l.answered) && l.flows() }

// header waits for that of the stream.
func (l *stream) header(ctx context.Context) http.Header {
	waits(ctx, l.answered)
	return l.answer.header
}

// waits waits for a channel of the stream to be closed, and reports whether it is.
func waits(ctx context.Context, closed <-chan struct{}) bool {
	select {
	case <-closed:
		return true
	case <-ctx.Done():
		return false
	}
}
