package bridge

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/r3labs/sse/v2"

	"github.com/rollcall-go/rollcall/presence"
)

// A feed publishes one topic into one stream. It is a reader of the topic like
// any other, so what it has not taken costs nothing.
type feed struct {
	connect func(context.Context, presence.ConnectOptions) (*presence.Connection, error) // the tracker's
	tracker *presence.Tracker
	server  *sse.Server
	topic   presence.Topic
	stream  string
	limit   int
	came    chan struct{} // somebody subscribed

	id     uint64    // of the latest event
	stated time.Time // when the latest state was published
	events []presence.Event
}

const (
	stateEvery = time.Second            // at most, for those who subscribe
	retryEvery = 250 * time.Millisecond // while the stream is full
	leastRetry = 250 * time.Millisecond // after a connection has ended, or could not begin
	mostRetry  = 5 * time.Second        // the same, after several
)

func newFeed(tracker *presence.Tracker, server *sse.Server, topic presence.Topic, stream string, limit int) *feed {
	return &feed{connect: tracker.Connect, tracker: tracker, server: server, topic: topic, stream: stream, limit: limit, came: make(chan struct{}, 1)}
}

// welcome makes the feed publish a state soon. It never blocks.
func (f *feed) welcome() {
	select {
	case f.came <- struct{}{}:
	default:
	}
}

// run publishes until ctx ends or the tracker closes. Whatever else ends its
// connection, or keeps it from beginning, it connects again, after a wait that doubles
// as long as that does not last: nobody else would begin the stream again.
func (f *feed) run(ctx context.Context) error {
	for wait := leastRetry; ; wait = min(2*wait, mostRetry) {
		conn, err := f.connect(ctx, presence.ConnectOptions{Topics: []presence.Topic{f.topic}, Observe: true, Limit: f.limit})
		if err == nil {
			began := time.Now()
			err = f.pump(ctx, conn)
			conn.Close()
			if time.Since(began) > mostRetry {
				wait = leastRetry
			}
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, presence.ErrClosed):
			return err
		case !errors.Is(err, presence.ErrStoreOut):
			f.tracker.Config().Logger.Warn("presence: the reader of a bridge has ended, and begins again", "topic", f.topic, "error", err, "wait", wait)
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
	}
}

// pump publishes what a connection reads, until one of them ends. While the
// stream is full it takes nothing from the connection but, in the end, a state.
func (f *feed) pump(ctx context.Context, conn *presence.Connection) error {
	silence := f.tracker.Config().Heartbeat()
	timer := time.NewTimer(silence)
	defer timer.Stop()
	full, wanted := false, false
	for {
		if full || wanted && time.Since(f.stated) >= stateEvery {
			conn.WantState(f.topic)
			wanted = false
		}
		f.events = conn.Events(f.events[:0])
		published := len(f.events) > 0
		full = !f.publish()

		ready, wait := conn.Ready(), silence
		switch {
		case full:
			ready, wait = nil, retryEvery
		case wanted:
			wait = stateEvery - time.Since(f.stated)
		}
		if full || wanted || published {
			timer.Reset(wait)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-conn.Done():
			return conn.Err()
		case <-f.came:
			wanted = true
		case <-ready:
		case <-timer.C:
			if !full && !wanted {
				f.events = conn.Heartbeats(f.events[:0])
				full = !f.publish()
				timer.Reset(silence)
			}
		}
	}
}

// publish gives the events to the server, and reports whether it took them all.
func (f *feed) publish() bool {
	for _, e := range f.events {
		f.id++
		ok := f.server.TryPublish(f.stream, &sse.Event{
			ID: strconv.AppendUint(nil, f.id, 10), Event: []byte(e.Type), Data: e.Data,
		})
		if !ok {
			return false
		}
		if e.Type == presence.EventState {
			f.stated = time.Now()
		}
	}
	return true
}
