package handlers

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/rollcall-go/rollcall/internal/problem"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed"
)

func badRequest(detail string) *problem.Problem { return problem.New(http.StatusBadRequest, detail) }
func forbidden(detail string) *problem.Problem  { return problem.New(http.StatusForbidden, detail) }
func notFound(detail string) *problem.Problem   { return problem.New(http.StatusNotFound, detail) }

func methodNotAllowed(methods []string) *problem.Problem {
	allow := strings.Join(methods, ", ")
	return problem.New(http.StatusMethodNotAllowed, "This path accepts "+allow+".").With("Allow", allow)
}

func again(status, seconds int, detail string) *problem.Problem {
	return problem.New(status, detail).With("Retry-After", strconv.Itoa(seconds))
}

// problemOf returns the answer for an error, and reports whether the error is expected.
func problemOf(err error) (p *problem.Problem, expected bool) {
	if errors.As(err, &p) {
		return p, true
	}
	storeOut := again(http.StatusServiceUnavailable, 5, "Who is online is not known right now. Try again later.")
	for _, known := range []struct {
		err    error
		answer *problem.Problem
	}{
		{presence.ErrInvalidTopic, badRequest("A topic is 1 to 128 bytes of A-Z a-z 0-9 _ - . and the colon.")},
		{presence.ErrInvalidUser, badRequest("A user id is 1 to 128 bytes of UTF-8 without control characters.")},
		{presence.ErrInvalidStatus, badRequest("A status is online, away, busy or invisible.")},
		{presence.ErrInvalidSettings, badRequest("A setting breaks its rule: a status is online, away, busy or invisible, an audience is everyone, contacts or nobody, and a text has at most 100 bytes.")},
		{presence.ErrInvalidDevice, badRequest("The id of a device is 1 to 64 bytes of A-Z a-z 0-9 _ - . and the colon.")},
		{presence.ErrTooManyPeople, badRequest("The request names more people than are allowed here.")},
		{presence.ErrGuest, problem.New(http.StatusUnauthorized, "Sign in first: only a user has an inbox, people to watch, settings and sessions.")},
		{presence.ErrNoDirectory, notFound("This site keeps no people, settings or sessions.")},
		{feed.ErrOut, again(http.StatusServiceUnavailable, 5, "The site's feeds are out of reach, and nothing has changed. Try again later.")},
		{feed.ErrInvalidMark, badRequest(`A mark is JSON such as {"topic":"inbox","as":"read","pos":[41,42]}: as is read, unread or archived, with either pos, or about, upto or both. With as seen there is upto or nothing.`)},
		{feed.ErrInvalidMute, badRequest(`A mute is JSON such as {"scope":"about:thread:1","how":"all"}: scope is *, type:<type> or about:<topic>, and how is all, mail or nothing.`)},
		{feed.ErrTooManyMutes, badRequest("You have muted as much as is allowed. Lift a mute first.")},
		{presence.ErrTooManyContacts, badRequest("Your list is full. Remove somebody first.")},
		{presence.ErrBlocked, badRequest("You have blocked that user. Unblock first.")},
		{ErrNoEndSession, notFound("This site does not end sessions here.")},
		{presence.ErrDirectoryOut, again(http.StatusServiceUnavailable, 5, "The site's directory of people does not answer, and nothing has changed. Try again later.")},
		{ErrSessionNotEnded, again(http.StatusServiceUnavailable, 5, "The session could not be ended, and goes on. Try again later.")},
		{ErrTooManyStatuses, again(http.StatusTooManyRequests, 1, "The status was changed too often. Wait a second.")},
		{presence.ErrTooManyTopics, badRequest("The request names more topics than are allowed here.")},
		{presence.ErrTooManyConnections, again(http.StatusTooManyRequests, 10, "Too many streams are open. Close one, or try again later.")},
		{presence.ErrSignedOut, again(http.StatusServiceUnavailable, 1, "You signed out while the stream was opened.")},
		{presence.ErrBarred, again(http.StatusTooManyRequests, 60, "The site's staff has disconnected you. Try again later.")},
		{presence.ErrClosed, again(http.StatusServiceUnavailable, 1, "This server is about to stop. Try again.")},
		{presence.ErrTooManyTopicsHere, again(http.StatusServiceUnavailable, 5, "This server follows too many topics right now. Try again later.")},
		{presence.ErrStoreOut, storeOut},
		{context.DeadlineExceeded, storeOut},
		{context.Canceled, storeOut}, // nobody reads this answer
	} {
		if errors.Is(err, known.err) {
			return known.answer, true
		}
	}
	return storeOut, false // unknown errors come from the store
}

// explain returns the answer for an error, counts a refusal, and logs an unexpected error. what is the
// visitor's request, for the log.
func (f *faults) explain(err error, what string, by presence.Visitor) *problem.Problem {
	p, expected := problemOf(err)
	if !expected {
		f.tracker.Config().Logger.Error("presence: a request failed", "request", what, "user", by.User.ID, "error", err)
	}
	f.counters.refused(p.Status)
	return p
}

// fail answers a request that failed before anything was written.
func (h *Handler) fail(w http.ResponseWriter, r *http.Request, err error) {
	h.cfg.boundAnswer(w, r) // a stream may have cleared it
	h.faults.explain(err, h.cfg.endpointName(r.URL.Path), presence.VisitorFromContext(r.Context())).Write(w)
}
