package handlers

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/rollcall-go/rollcall/internal/problem"
	"github.com/rollcall-go/rollcall/presence"
)

// siteCode calls the site's own functions: Config.Authorize, Config.Enter,
// Config.ClientIP, Config.EndSession and Config.Widget. No other code calls them. Each call recovers a panic and fails closed.
type siteCode struct {
	cfg      *settings
	counters *counters
	faults   *faults
	ending   chan struct{} // calls of Config.EndSession under way
}

// maxEnding is how many calls of Config.EndSession run at a time. A call that hangs counts
// until it returns.
const maxEnding = 32

// maxSiteWait is how long a request or a stream waits for the site's own code.
const maxSiteWait = 5 * time.Second

// siteContext returns a context that ends when the site's code has had its time.
func siteContext(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, maxSiteWait)
}

// authorize calls Config.Authorize. A panic is a no. So is the topic of people, about which
// the site is not asked: it has no roster, only streams of what each visitor may see.
func (s *siteCode) authorize(r *http.Request, v presence.Visitor, t presence.Topic) (ok bool) {
	if s.cfg.isPeople(t) {
		return false
	}
	defer func() {
		if p := recover(); p != nil {
			ok = false
			s.counters.sitePanics.Add(1)
			s.faults.panicked(authorizePanicked, "presence: Config.Authorize panicked; the visitor may not see the topic", p, "topic", t, "user", v.User.ID)
		}
	}()
	return s.cfg.Authorize(r, v, t)
}

// observed returns which topics of a stream its visitor only watches; nil: none.
func (s *siteCode) observed(k keptRequest, v presence.Visitor) func(presence.Topic) bool {
	if s.cfg.Enter == nil {
		return nil
	}
	return func(t presence.Topic) bool {
		if s.cfg.isPeople(t) {
			return true // nobody is in it
		}
		ctx, cancel := siteContext(k.context())
		defer cancel()
		return !s.enters(k.with(ctx), v, t)
	}
}

// enters calls Config.Enter. A panic is a no.
func (s *siteCode) enters(r *http.Request, v presence.Visitor, t presence.Topic) (ok bool) {
	defer func() {
		if p := recover(); p != nil {
			ok = false
			s.counters.sitePanics.Add(1)
			s.faults.panicked(enterPanicked, "presence: Config.Enter panicked; the visitor is not in the topic", p)
		}
	}()
	return s.cfg.Enter(r, v, t)
}

// permit returns an error unless the visitor of a request may see all of the topics. It
// calls the site in this goroutine; for an open stream, rights does.
func (s *siteCode) permit(r *http.Request, v presence.Visitor, topics ...presence.Topic) error {
	r, cancel := s.asking(r)
	defer cancel()
	for _, t := range topics {
		if !s.authorize(r, v, t) {
			return errForbidden()
		}
	}
	return nil
}

// part parts topics into those that the visitor of a request may see, and the others. It
// changes the slice.
func (s *siteCode) part(r *http.Request, v presence.Visitor, topics []presence.Topic) (seen, refused []presence.Topic) {
	r, cancel := s.asking(r)
	defer cancel()
	seen = topics[:0]
	for _, t := range topics {
		if s.authorize(r, v, t) {
			seen = append(seen, t)
		} else {
			refused = append(refused, t)
		}
	}
	return seen, refused
}

// asking returns the request for calls of Config.Authorize, whose context ends when the
// site has had its time.
func (s *siteCode) asking(r *http.Request) (*http.Request, context.CancelFunc) {
	if !s.cfg.hasAuthorize {
		return r, func() {}
	}
	ctx, cancel := siteContext(r.Context())
	return r.WithContext(ctx), cancel
}

// clientIP calls Config.ClientIP. After a panic the address is empty.
func (s *siteCode) clientIP(r *http.Request) (address string) {
	defer func() {
		if p := recover(); p != nil {
			address = ""
			s.counters.sitePanics.Add(1)
			s.faults.panicked(clientIPPanicked, "presence: Config.ClientIP panicked; the guest counts as one without an address", p)
		}
	}()
	return s.cfg.ClientIP(r)
}

// endSession calls Config.EndSession, for maxSiteWait at most. A panic is an error. A call
// that does not return in time goes on by itself.
func (s *siteCode) endSession(ctx context.Context, user presence.UserID, device presence.DeviceID) error {
	ctx, cancel := siteContext(ctx)
	defer cancel()
	select {
	case s.ending <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	ended := make(chan error, 1)
	go func() {
		defer func() { <-s.ending }()
		defer func() {
			if p := recover(); p != nil {
				s.counters.sitePanics.Add(1)
				s.faults.panicked(endSessionPanicked, "presence: Config.EndSession panicked; the session goes on", p, "user", user)
				ended <- errors.New("it panicked")
			}
		}()
		ended <- s.cfg.EndSession(ctx, user, device)
	}()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// serveWidget calls Config.Widget. After a panic it returns a problem if the answer has
// not begun. Otherwise it aborts the answer, which ends the connection.
func (s *siteCode) serveWidget(w http.ResponseWriter, r *http.Request) (err error) {
	answer := &beginning{ResponseWriter: w}
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		if p != http.ErrAbortHandler { // net/http's way to end an answer on purpose
			s.counters.sitePanics.Add(1)
			s.faults.panicked(widgetPanicked, "presence: Config.Widget panicked", p)
			if !answer.begun {
				err = problem.New(http.StatusInternalServerError, "The widget could not be rendered.")
				return
			}
		}
		panic(http.ErrAbortHandler)
	}()
	s.cfg.Widget.ServeHTTP(answer, r)
	return nil
}

// A beginning notes whether an answer has begun.
type beginning struct {
	http.ResponseWriter
	begun bool
}

func (b *beginning) Unwrap() http.ResponseWriter { return b.ResponseWriter }

func (b *beginning) WriteHeader(status int) {
	b.begun = b.begun || status >= 200
	b.ResponseWriter.WriteHeader(status)
}

func (b *beginning) Write(p []byte) (int, error) {
	b.begun = true
	return b.ResponseWriter.Write(p)
}
