package bridge

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/r3labs/sse/v2"

	"github.com/rollcall-go/rollcall/internal/wait"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/track"
)

// A feed publishes one topic into one stream. It reads the topic as any connection does, so
// events that it has not read yet cost no memory.
type feed struct {
	connect func(context.Context, track.ConnectOptions) (*track.Connection, error) // the tracker's
	tracker *track.Tracker
	server  *sse.Server
	topic   presence.Topic
	stream  string
	limit   int
	wanted  wait.Wakeup // receives after a client has subscribed

	id     uint64    // of the latest event
	stated time.Time // when the latest state was published
	events []presence.Event
}

const (
	statePace = time.Second            // the least time between two states for new subscribers
	fullPace  = 250 * time.Millisecond // the time between two tries while the stream is full
	minRetry  = 250 * time.Millisecond // the wait after a connection has ended or could not begin
	maxRetry  = 5 * time.Second        // the longest wait, after several failures
)

func newFeed(tracker *track.Tracker, server *sse.Server, topic presence.Topic, stream string, limit int) *feed {
	return &feed{connect: tracker.Connect, tracker: tracker, server: server, topic: topic, stream: stream, limit: limit, wanted: wait.NewWakeup()}
}

// wantState makes the feed publish a state soon. It never blocks.
func (f *feed) wantState() {
	f.wanted.Wake()
}

// run publishes until ctx ends or the tracker closes. If its connection ends for another reason, or cannot
// begin, run connects again after a wait. The wait doubles with each try. After a connection that has lasted
// it is short again.
func (f *feed) run(ctx context.Context) error {
	for pause := minRetry; ; pause = min(2*pause, maxRetry) {
		conn, err := f.connect(ctx, track.ConnectOptions{Topics: []presence.Topic{f.topic}, Observe: true, Limit: f.limit})
		if err == nil {
			began := time.Now()
			err = f.pump(ctx, conn)
			conn.Close()
			if time.Since(began) > maxRetry {
				pause = minRetry
			}
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, presence.ErrClosed):
			return err
		case !errors.Is(err, presence.ErrStoreOut):
			f.tracker.Config().Logger.Warn("presence: the reader of a bridge has ended, and begins again", "topic", f.topic, "error", err, "wait", pause)
		}
		wait.For(ctx, pause)
	}
}

// pump publishes the events of a connection until the connection or ctx ends. While the
// stream is full it drops the connection's events, and then publishes a state.
func (f *feed) pump(ctx context.Context, conn *track.Connection) error {
	silence := f.tracker.Config().Heartbeat()
	timer := time.NewTimer(silence)
	defer timer.Stop()
	full, wanted := false, false
	for {
		if full || wanted && time.Since(f.stated) >= statePace {
			conn.WantState(f.topic)
			wanted = false
		}
		f.events = conn.Events(f.events[:0])
		published := slices.ContainsFunc(f.events, func(e presence.Event) bool { return e.Type != presence.EventSignal })
		full = !f.publish()

		ready, wait := conn.Ready(), silence
		switch {
		case full:
			ready, wait = nil, fullPace
		case wanted:
			wait = statePace - time.Since(f.stated)
		}
		if full || wanted || published {
			timer.Reset(wait)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-conn.Done():
			return conn.Err()
		case <-f.wanted:
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

// publish gives the events to the server, and reports whether the stream had room for all.
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
