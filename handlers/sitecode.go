package handlers

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/rollcall-go/rollcall/internal/authz"
	"github.com/rollcall-go/rollcall/internal/problem"
	"github.com/rollcall-go/rollcall/presence"
)

// siteCode calls the site's own functions: Config.Authorize, Config.Enter, Config.ClientIP, Config.Tenant,
// Config.EndSession, Config.Widget, Config.Down and the Data of Config.Whispers. No other code calls them.
// Each call recovers a panic and fails closed. The functions get the names that the site knows: topics and
// users without their tenant, and the visitor as the middleware found it (rule T4).
type siteCode struct {
	cfg      *settings
	counters *counters
	faults   *faults
	ending   chan struct{} // calls of Config.EndSession under way
	checking chan struct{} // calls of Whisper.Data under way
	rights   *authz.Rights // Config.Authorize, for answers that list topics
}

// How many calls of Config.EndSession and of Whisper.Data run at a time.
const (
	maxEnding   = 32
	maxChecking = 32
)

// maxSiteWait is how long a request or a stream waits for the site's own code.
const maxSiteWait = 5 * time.Second

// siteContext returns a context that ends after maxSiteWait.
func siteContext(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, maxSiteWait)
}

// guard recovers a panic of the site's code, and counts and logs it. Defer it: the function then returns the values
// that its results had before the call.
func (s *siteCode) guard(text string, attrs ...any) {
	if p := recover(); p != nil {
		s.counters.sitePanics.Add(1)
		s.faults.Panicked(text, p, attrs...)
	}
}

// authorize calls Config.Authorize. After a panic it returns false.
func (s *siteCode) authorize(r *http.Request, v presence.Visitor, t presence.Topic) (ok bool) {
	defer func() { // not guard, whose arguments would cost each call an allocation
		if p := recover(); p != nil {
			s.counters.sitePanics.Add(1)
			s.faults.Panicked("presence: Config.Authorize panicked; the visitor may not see the topic", p, "topic", t, "user", v.User.ID)
		}
	}()
	return s.cfg.Authorize(r, v.Outside(), t.Local())
}

// observed returns which topics of a stream its visitor only watches; nil: none.
func (s *siteCode) observed(k keptRequest, v presence.Visitor) func(presence.Topic) bool {
	if s.cfg.Enter == nil {
		return nil
	}
	return func(t presence.Topic) bool {
		ctx, cancel := siteContext(k.context())
		defer cancel()
		return !s.enters(k.with(ctx), v, t)
	}
}

// enters calls Config.Enter. After a panic it returns false.
func (s *siteCode) enters(r *http.Request, v presence.Visitor, t presence.Topic) (ok bool) {
	defer s.guard("presence: Config.Enter panicked; the visitor is not in the topic")
	return s.cfg.Enter(r, v.Outside(), t.Local())
}

// permit returns an error unless the visitor of a request has a right to all of the topics. It calls the site
// in this goroutine. Open streams use rights instead.
func (s *siteCode) permit(has right, r *http.Request, v presence.Visitor, topics ...presence.Topic) error {
	r, cancel := s.asking(r)
	defer cancel()
	for _, t := range topics {
		if !has(r, v, t) {
			return errForbidden()
		}
	}
	return nil
}

// part splits topics into those to which the visitor of a request has a right, and the others. It changes the
// slice.
func (s *siteCode) part(has right, r *http.Request, v presence.Visitor, topics []presence.Topic) (seen, refused []presence.Topic) {
	r, cancel := s.asking(r)
	defer cancel()
	seen = topics[:0]
	for _, t := range topics {
		if has(r, v, t) {
			seen = append(seen, t)
		} else {
			refused = append(refused, t)
		}
	}
	return seen, refused
}

// asking returns the request for calls of Config.Authorize. Its context ends after maxSiteWait.
func (s *siteCode) asking(r *http.Request) (*http.Request, context.CancelFunc) {
	if !s.cfg.hasAuthorize {
		return r, func() {}
	}
	ctx, cancel := siteContext(r.Context())
	return r.WithContext(ctx), cancel
}

// clientIP calls Config.ClientIP. After a panic it returns nothing.
func (s *siteCode) clientIP(r *http.Request) (address string) {
	defer s.guard("presence: Config.ClientIP panicked; the address of the connection counts")
	return s.cfg.ClientIP(r)
}

// tenant calls Config.Tenant. After a panic it returns a tenant that has no visitors.
func (s *siteCode) tenant(r *http.Request) (tenant string) {
	tenant = presence.NoTenant
	defer s.guard("presence: Config.Tenant panicked; the beat is refused")
	return s.cfg.Tenant(r)
}

// endSession calls Config.EndSession, for maxSiteWait at most. A panic is an error. A call that does not
// return in time is left running.
func (s *siteCode) endSession(ctx context.Context, user presence.UserID, device presence.DeviceID) error {
	if tenant := user.Tenant(); presence.VisitorFromContext(ctx).Tenant != tenant { // the call comes from a Go program
		ctx = presence.ContextWithVisitor(ctx, presence.Visitor{Tenant: tenant, User: presence.User{ID: user.Local()}})
	}
	return s.bounded(ctx, s.ending, func(ctx context.Context) error {
		return s.cfg.EndSession(ctx, user.Local(), device)
	}, func(p any) error {
		s.faults.Panicked("presence: Config.EndSession panicked; the session goes on", p, "user", user)
		return errors.New("it panicked")
	})
}

// checkData calls Whisper.Data, for maxSiteWait at most. After a panic the data are refused. A call that does
// not return in time is left running.
func (s *siteCode) checkData(ctx context.Context, of visitorSignal) error {
	switch {
	case of.Data == nil:
		return nil
	case of.rules.Data == nil:
		return badRequest("A signal of this type has no data.")
	}
	err := s.bounded(ctx, s.checking, func(context.Context) error {
		if err := of.rules.Data(of.Data); err != nil {
			return badRequest(err.Error())
		}
		return nil
	}, func(p any) error {
		s.faults.Panicked("presence: Data of a Whisper panicked; the signal is refused", p, "topic", of.topic, "type", of.Type)
		return badRequest("The site does not take these data.")
	})
	if refused := (*problem.Problem)(nil); err != nil && !errors.As(err, &refused) {
		return again(http.StatusServiceUnavailable, 5, "The site did not check the data in time. Try again later.")
	}
	return err
}

// bounded makes a call in a goroutine of its own, and waits for it until ctx ends, but for maxSiteWait at
// most. places bounds the running calls: a call that hangs keeps its place. After a panic, bounded returns the
// error of panicked, which it calls while the stack still shows where the panic happened.
func (s *siteCode) bounded(ctx context.Context, places chan struct{}, call func(context.Context) error, panicked func(p any) error) error {
	ctx, cancel := siteContext(ctx)
	defer cancel()
	select {
	case places <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	returned := make(chan error, 1)
	go func() {
		defer func() { <-places }()
		defer func() {
			if p := recover(); p != nil {
				s.counters.sitePanics.Add(1)
				returned <- panicked(p)
			}
		}()
		returned <- call(ctx)
	}()
	select {
	case err := <-returned:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// serveWidget calls Config.Widget. After a panic it returns a problem if the answer has not begun. Otherwise
// it aborts the answer, which ends the connection.
func (s *siteCode) serveWidget(w http.ResponseWriter, r *http.Request) (err error) {
	answer := &watchedWriter{ResponseWriter: w}
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		if p != http.ErrAbortHandler { // net/http's way to end an answer on purpose
			s.counters.sitePanics.Add(1)
			s.faults.Panicked("presence: Config.Widget panicked", p)
			if answer.status == 0 {
				err = problem.New(http.StatusInternalServerError, "The widget could not be rendered.")
				return
			}
		}
		panic(http.ErrAbortHandler)
	}()
	s.cfg.Widget.ServeHTTP(answer, r)
	return nil
}
