package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/rollcall-go/rollcall/presence"
)

// sessionCookie is the cookie with the token of a session: one sign-in, in one browser. If the forum has a
// database, the browser has it in addition to the cookie with the name.
//
// A session lasts until its user ends it, and for sessionAge at most. The database lists the sessions that
// have ended, not those that are valid. So a page needs no query, and users stay signed in while the database
// is unreachable. A token holds the moment of the sign-in, so the list needs to go back no further than
// sessionAge.
//
// A visitor with only the cookie with the name is signed in without a session, because anybody may sign in as
// anybody here.
const sessionCookie = "forum_session"

const sessionAge = 30 * 24 * time.Hour

// A token is 4 bytes of the minute in which it was made, and 16 random ones.
const (
	tokenTime   = 4
	tokenRandom = 16
)

// newToken returns the token of a session that begins now.
func newToken(now time.Time) string {
	token := binary.BigEndian.AppendUint32(nil, uint32(now.Unix()/60))
	token = append(token, make([]byte, tokenRandom)...)
	_, _ = rand.Read(token[tokenTime:]) // it does not fail
	return base64.RawURLEncoding.EncodeToString(token)
}

// A session is the part of a token that others may know.
type session struct {
	sessionName           // its id is public, and does not reveal the token
	begun       time.Time // when it began, to the minute
}

// sessionOf returns the session of a token of a tenant's user. It returns false if the token is not valid.
func sessionOf(token, tenant string, user presence.UserID) (session, bool) {
	raw, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || len(raw) != tokenTime+tokenRandom {
		return session{}, false
	}
	hash := sha256.Sum256([]byte("forum session\x00" + string(raw) + string(user.In(tenant))))
	id := presence.DeviceID(base64.RawURLEncoding.EncodeToString(hash[:16]))
	return session{
		sessionName: sessionName{tenant, user, id},
		begun:       time.Unix(60*int64(binary.BigEndian.Uint32(raw)), 0),
	}, true
}

// sessionKey is the key under which identify stores the session of a request for sessionID.
const sessionKey = "forum session"

// inSession reports whether the user of a request counts as signed in. The request has no session, or its session has
// not ended.
func (s *site) inSession(c echo.Context, tenant string, user presence.UserID) bool {
	if s.sql == nil {
		return true
	}
	cookie, err := c.Cookie(sessionCookie)
	if err != nil {
		return true
	}
	session, ok := sessionOf(cookie.Value, tenant, user)
	if !ok || s.sql.ended.has(session, time.Now()) {
		return false
	}
	c.Set(sessionKey, session)
	return true
}

// sessionID returns the public id of a request's session for the middleware; empty if there is no session.
func sessionID(c echo.Context) string {
	session, _ := c.Get(sessionKey).(session)
	return string(session.id)
}

// beginSession gives a browser a session, unless it has one. It works even if the database is unreachable.
func (s *site) beginSession(c echo.Context, user presence.UserID) {
	if s.sql == nil {
		return
	}
	tenant := tenantOf(c)
	if cookie, err := c.Cookie(sessionCookie); err == nil {
		if session, ok := sessionOf(cookie.Value, tenant, user); ok && !s.sql.ended.has(session, time.Now()) && s.signedIn(c, user) {
			return
		}
	}
	token := newToken(time.Now())
	session, _ := sessionOf(token, tenant, user)
	ctx, cancel := context.WithTimeout(c.Request().Context(), time.Second)
	defer cancel()
	if err := s.sql.begin(ctx, session); err != nil {
		s.log.Warn("a session is not in the database; it is good all the same", "user", user, "err", err)
	}
	setCookie(c, sessionCookie, token, 0)
}

// signedIn reports whether a request comes from a user.
func (s *site) signedIn(c echo.Context, user presence.UserID) bool {
	return presence.VisitorFromContext(c.Request().Context()).User.ID == user
}

// dropSession ends the session of a browser that signs out, so that a copy of its cookie is useless.
func (s *site) dropSession(c echo.Context) {
	session, ok := c.Get(sessionKey).(session)
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Request().Context()), time.Second) // even if the browser hangs up
	defer cancel()
	if _, err := s.sql.end(ctx, session.sessionName, true); err != nil {
		s.log.Warn("a session that ended is not in the database", "user", session.user, "err", err)
	}
}

// endSession ends a user's session in the database. The presence endpoints call it before they end the
// presence of the session's device. It does nothing if the session belongs to another user.
//
// If a browser signed in while the database was unreachable, its session is not in the database. Then
// endSession knows the session by its presence.
func (s *site) endSession(ctx context.Context, user presence.UserID, device presence.DeviceID) error {
	name := sessionName{presence.VisitorFromContext(ctx).Tenant, user, device}
	found, err := s.sql.end(ctx, name, false)
	if err != nil || found {
		return err
	}
	devices, err := s.tracker.People().Sessions(ctx, inside(ctx, user))
	if err != nil {
		return err
	}
	for _, d := range devices {
		if d.ID == device {
			_, err = s.sql.end(ctx, name, true)
			break
		}
	}
	return err
}

// sessionsPage answers GET /sessions: the devices from which the reader is online.
func (s *site) sessionsPage(c echo.Context) error {
	if _, err := s.member(c); err != nil {
		return err
	}
	return s.render(c, http.StatusOK, "sessions", page{Title: "Your sessions"})
}

// endSessionForm answers POST /sessions/{device}/end.
func (s *site) endSessionForm(c echo.Context) error {
	user, _, err := s.memberForm(c)
	if err != nil {
		return err
	}
	err = s.streams.EndSession(c.Request().Context(), me(c), presence.DeviceID(param(c, "device")))
	switch {
	case errors.Is(err, presence.ErrInvalidDevice):
		return echo.NewHTTPError(http.StatusBadRequest, "There is no such session.")
	case err != nil:
		return s.notNow(c, user.ID, err)
	}
	return c.Redirect(http.StatusSeeOther, "/sessions")
}

// endedElsewhere is called for a session that ended on another node. That node has ended its presence too, but
// a request that was on its way may have brought the device back.
func (s *site) endedElsewhere(name sessionName) {
	ctx, cancel := context.WithTimeout(context.Background(), queryWait)
	defer cancel()
	_ = s.tracker.People().EndSession(ctx, name.user.In(name.tenant), name.id) // the other node logs errors
}
