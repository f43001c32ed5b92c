package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// Options say how to follow. The zero value is usable.
type Options struct {
	// Cursors are where to go on, by topic: those of the latest events of another
	// time. Default: none; the first event of a topic is its state.
	Cursors map[presence.Topic]presence.Cursor
	// Limit is how many users a state holds, up to 1000. Default: the site's, 100.
	Limit int
	// Hold holds the user who is signed in by Header online in the topics, as a
	// page does. Default: it only watches.
	Hold bool
	// Header goes with each request, such as a cookie. Default: none.
	Header map[string]string
	// HTTP makes the requests. Its Timeout must be zero: it would end each
	// stream. Default: a client over http.DefaultTransport.
	HTTP *http.Client
	// MaxEvent bounds one event, in bytes: a state of 1,000 users may well have
	// some hundred KB. Nothing else is held in memory; but r3labs's reader looks
	// through all of an event whenever more of it comes. Default: 4 MiB.
	MaxEvent int
	// MaxWait bounds the wait between two tries, unless the server asks for
	// more. Default: 30 s.
	MaxWait time.Duration
}

func (o Options) withDefaults() Options {
	if o.HTTP == nil {
		o.HTTP = &http.Client{}
	}
	o.MaxEvent = cmp.Or(o.MaxEvent, 4<<20)
	o.MaxWait = cmp.Or(o.MaxWait, 30*time.Second)
	return o
}

// Follow yields what happens in topics of a site whose endpoints are below a URL,
// such as https://example.com/presence. It ends when ctx does, when the loop
// breaks, or with an error where another try would be no use: a [*StatusError]
// (of a topic that may not be seen, say), or what is wrong with the arguments.
//
// When the connection breaks it yields a [Lost], waits, and comes back with its
// cursors: the next event is one diff of all that was missed, or a state. The wait
// is what the server asks for, or grows from half a second to MaxWait, each with
// jitter, so that a restarted server is not met by all at once.
//
// The loop body holds up the stream: a slow one gets merged diffs or a state.
//
//	for event, err := range client.Follow(ctx, "https://example.com/presence", topics, client.Options{}) {
//		…
//	}
func Follow(ctx context.Context, site string, topics []presence.Topic, o Options) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		f, err := newFollower(site, topics, o)
		if err == nil {
			err = f.follow(ctx, func(e Event) bool { return yield(e, nil) })
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

// A follower is one call of Follow.
type follower struct {
	options Options
	url     *url.URL
	cursors map[presence.Topic]presence.Cursor // of each topic; "": wants a state
	retry   time.Duration                      // what the server asks for
	tries   int                                // since something came
}

// Waits before the server has said anything.
const (
	retryDefault = 2 * time.Second // after a stream that ended well
	retryFirst   = 500 * time.Millisecond
)

func newFollower(site string, topics []presence.Topic, o Options) (*follower, error) {
	u, err := url.Parse(site)
	if err != nil {
		return nil, err
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("%q is no URL of a site: it must begin with http:// or https://", site)
	}
	if len(topics) == 0 {
		return nil, fmt.Errorf("%w: there is none", presence.ErrInvalidTopic)
	}
	f := &follower{
		options: o.withDefaults(), url: u.JoinPath("events"),
		cursors: make(map[presence.Topic]presence.Cursor), retry: retryDefault,
	}
	for _, topic := range topics {
		if _, err := presence.ParseTopic(string(topic)); err != nil {
			return nil, err
		}
		f.cursors[topic] = o.Cursors[topic]
	}
	return f, nil
}

// follow makes one connection after another. It returns nil when ctx ended or
// yield wants no more.
func (f *follower) follow(ctx context.Context, yield func(Event) bool) error {
	for {
		err := f.connect(ctx, yield)
		var status *StatusError
		switch {
		case ctx.Err() != nil || errors.Is(err, errEnough):
			return nil
		case errors.As(err, &status) && status.final():
			return status
		case errors.Is(err, ErrTooLarge), errors.Is(err, ErrMalformed):
			for topic := range f.cursors { // a state may do
				f.cursors[topic] = ""
			}
		}
		wait := f.wait(err)
		if !yield(Lost{Err: err, Wait: wait}) || !sleep(ctx, wait) {
			return nil
		}
	}
}

// wait returns how long to wait after a connection that ended with err.
func (f *follower) wait(err error) time.Duration {
	var status *StatusError
	if errors.As(err, &status) && status.RetryAfter > 0 {
		return status.RetryAfter + rand.N(status.RetryAfter/4+1)
	}
	if errors.Is(err, io.EOF) && f.tries == 0 {
		return f.retry/2 + rand.N(f.retry/2+1)
	}
	wait := min(retryFirst<<min(f.tries, 20), f.options.MaxWait)
	f.tries++
	return wait/2 + rand.N(wait/2+1)
}

// request returns the URL of the next connection.
func (f *follower) request() string {
	u := *f.url
	q := u.Query()
	for _, topic := range slices.Sorted(maps.Keys(f.cursors)) {
		q.Add("topic", string(topic))
		if cursor := f.cursors[topic]; cursor != "" {
			q.Add("cursor", string(cursor))
		}
	}
	if f.options.Limit > 0 {
		q.Set("limit", strconv.Itoa(f.options.Limit))
	}
	if !f.options.Hold {
		q.Set("observe", "1")
	}
	u.RawQuery = q.Encode()
	return u.String()
}

// sleep returns false if ctx ended meanwhile.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
