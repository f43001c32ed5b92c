package client

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/r3labs/sse/v2"

	"github.com/rollcall-go/rollcall/presence"
)

// errEnough: the caller's loop has ended.
var errEnough = errors.New("the loop has ended")

// Bounds of the times that a server may set.
const (
	firstPatience = 45 * time.Second // until the server has sent its heartbeat period
	minPatience   = 5 * time.Second
	maxHeartbeat  = 10 * time.Minute
	minRetry      = 100 * time.Millisecond
	maxRetry      = 10 * time.Minute
)

// A connection is one of a follower's connections, which come one after another.
type connection struct {
	*follower
	yield    func(Event) bool
	end      context.CancelCauseFunc
	ended    bool
	patience time.Duration
	watchdog *time.Timer // ends the connection when no event arrives
}

// connect makes one connection and yields its events until it ends. It returns the reason of the end: io.EOF
// if the server ended the connection.
func (f *follower) connect(ctx context.Context, yield func(Event) bool) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	c := &connection{follower: f, yield: yield, end: end, patience: firstPatience}
	c.watchdog = time.AfterFunc(c.patience, func() { end(ErrSilent) })
	defer c.watchdog.Stop()

	client := sse.NewClient(f.request(), sse.ClientMaxBufferSize(f.options.MaxEvent))
	client.Connection = f.options.HTTP
	client.ReconnectStrategy = never{}
	client.ResponseValidator = func(_ *sse.Client, resp *http.Response) error { return check(resp) }
	for name, value := range f.options.Header {
		client.Headers[name] = value
	}
	err := client.SubscribeRawWithContext(ctx, c.message)
	var request *url.Error
	switch {
	case context.Cause(ctx) != nil:
		return context.Cause(ctx)
	case errors.Is(err, bufio.ErrTooLong):
		return fmt.Errorf("%w: it has more than %d bytes", ErrTooLarge, f.options.MaxEvent)
	case errors.As(err, &request):
		return request.Err // without the URL, which may contain a secret
	}
	return cmp.Or(err, io.EOF)
}

// never is a backoff policy of r3labs's client with one try. The follower reconnects itself, because the
// client does not after a stream that ended without an error.
type never struct{}

func (never) NextBackOff() time.Duration { return -1 }
func (never) Reset()                     {}

// message handles one message. r3labs's client calls it from the goroutine of the
// caller's loop, so it may yield.
func (c *connection) message(m *sse.Event) {
	if c.ended { // the client may still have messages
		return
	}
	c.watchdog.Stop() // the caller's loop may take any time
	if ms, err := strconv.Atoi(string(m.Retry)); err == nil {
		c.retry = min(max(time.Duration(min(ms, int(maxRetry.Milliseconds())))*time.Millisecond, minRetry), maxRetry)
	}
	if err := c.handle(string(m.Event), m.Data); err != nil {
		c.ended = true
		c.end(err)
		return
	}
	c.watchdog.Reset(c.patience)
}

// handle yields one event, or returns why the connection ends.
func (c *connection) handle(kind string, data []byte) error {
	switch kind {
	case "welcome", string(presence.EventState), string(presence.EventDiff), string(presence.EventCount), string(presence.EventHeartbeat):
	default:
		return nil // a signal, or an event of a later version
	}
	w, err := decode(data)
	if err != nil {
		return err
	}
	event, err := c.event(kind, w)
	if err != nil {
		return err
	}
	if !c.yield(event) {
		return errEnough
	}
	return nil
}

// event returns an event, and moves the topic's cursor.
func (c *connection) event(kind string, w eventJSON) (Event, error) {
	if kind == "welcome" {
		beat := time.Duration(min(max(w.Heartbeat, 0), maxHeartbeat.Seconds()) * float64(time.Second))
		c.patience = max(3*beat, minPatience)
		return Welcome{Connection: w.Connection, Heartbeat: beat, Grace: time.Duration(min(max(w.Grace, 0), maxHeartbeat.Seconds()) * float64(time.Second))}, nil
	}
	had, ok := c.cursors[w.Topic]
	if !ok || w.Cursor == "" {
		return nil, fmt.Errorf("%w: an event of topic %.140q, at %.40q", ErrMalformed, w.Topic, w.Cursor)
	}
	var event Event
	gap := had == ""
	switch presence.EventType(kind) {
	case presence.EventState:
		gap = false
		event = State{Totals: w.totals(), Users: members(w.Users), Truncated: w.Truncated}
	case presence.EventDiff:
		gap = gap || w.Prev != had
		event = Diff{Topic: w.Topic, Cursor: w.Cursor, Total: w.Total, Joins: members(w.Joins), Leaves: departures(w.Leaves)}
	case presence.EventCount:
		event = Count{w.totals()}
	case presence.EventHeartbeat:
		event, gap = Heartbeat{w.totals()}, gap || w.Cursor != had
	}
	if gap {
		c.cursors[w.Topic] = ""
		return nil, fmt.Errorf("%w: of topic %s", ErrGap, w.Topic)
	}
	c.cursors[w.Topic] = w.Cursor
	c.tries = 0
	return event, nil
}
