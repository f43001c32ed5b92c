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

	"github.com/rollcall-go/rollcall/internal/wait"
	"github.com/rollcall-go/rollcall/presence"
)

// Options configure [Follow]. The zero value is usable.
type Options struct {
	// Cursors are the cursors of the latest events of an earlier run, by topic. Follow resumes there. Default:
	// none; the first event of a topic is its state.
	Cursors map[presence.Topic]presence.Cursor
	// Limit is the largest number of users in a state, at most 1000. Default: the
	// site's, 100.
	Limit int
	// Hold keeps the user whom Header signs in online in the topics, as a page does. Default: false; Follow
	// only watches.
	Hold bool
	// Header goes with each request, such as a cookie. Default: none.
	Header map[string]string
	// HTTP sends the requests. Its Timeout must be zero, or it would end each
	// stream. Default: a client over http.DefaultTransport.
	HTTP *http.Client
	// MaxEvent bounds one event, in bytes. A state of 1,000 users may have some hundred KB. Memory use is
	// about the size of one event. r3labs's reader scans the whole event whenever more of it arrives, so a
	// large bound costs CPU. Default: 4 MiB.
	MaxEvent int
	// MaxWait bounds the wait between two tries, unless the server asks for a longer
	// one. Default: 30 s.
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

// Follow yields the events of topics of a site. site is the URL above the endpoints, such as
// https://example.com/presence. Follow ends when ctx ends, when the loop breaks, or with an error after which
// another try is useless: an invalid argument, or a [*StatusError], for example about a topic that the visitor
// may not see.
//
// When the connection breaks, Follow yields a [Lost], waits, and reconnects with its cursors. The next event
// is one diff of all missed changes, or a state. The server may ask for a wait; otherwise it grows from half a
// second to MaxWait. Both have jitter, so that not all clients reconnect to a restarted server at once.
//
// The stream waits for the loop body: a slow one gets merged diffs, or a state.
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
	cursors map[presence.Topic]presence.Cursor // by topic; "": the next event must be a state
	retry   time.Duration                      // the wait that the server asks for
	tries   int                                // tries since the last event
}

// Waits for servers that have not sent their own.
const (
	retryDefault = 2 * time.Second // after a stream that the server ended
	retryFirst   = 500 * time.Millisecond
)

func newFollower(site string, topics []presence.Topic, o Options) (*follower, error) {
	u, err := parseSite(site)
	if err != nil {
		return nil, err
	}
	if len(topics) == 0 {
		return nil, fmt.Errorf("%w: no topic was given", presence.ErrInvalidTopic)
	}
	f := &follower{
		options: o.withDefaults(), url: u.JoinPath("events"),
		cursors: make(map[presence.Topic]presence.Cursor), retry: retryDefault,
	}
	for _, topic := range topics {
		if _, err := presence.ParseTopic(string(topic)); err != nil {
			return nil, err
		}
		if kind := topic.Kind(); kind == "inbox" || kind == "feed" {
			return nil, fmt.Errorf("%w: %s is a feed, which has no roster", presence.ErrInvalidTopic, topic)
		}
		f.cursors[topic] = o.Cursors[topic]
	}
	return f, nil
}

// parseSite returns the URL above the endpoints.
func parseSite(site string) (*url.URL, error) {
	u, err := url.Parse(site)
	if err == nil && (u.Scheme != "http" && u.Scheme != "https" || u.Host == "") {
		return nil, fmt.Errorf("%q is no URL of a site: it must begin with http:// or https://", site)
	}
	return u, err
}

// follow makes one connection after another. It returns nil after ctx has ended or yield
// has returned false.
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
			for topic := range f.cursors { // a new state may be readable
				f.cursors[topic] = ""
			}
		}
		pause := f.wait(err)
		if !yield(Lost{Err: err, Wait: pause}) || !wait.For(ctx, pause) {
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
