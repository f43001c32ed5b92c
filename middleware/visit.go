package middleware

import (
	"time"

	"github.com/labstack/echo/v4"

	"github.com/rollcall-go/rollcall/presence"
)

// A visit is one request: what it is, and what its visitor's cookie says.
type visit struct {
	m        *middleware
	c        echo.Context
	kind     kind
	cookie   cookie
	returned bool // the request brought the cookie
}

// user records a page view of a signed-in user, unless that is throttled.
func (v *visit) user(user *presence.User) {
	tag := tagOf(user.ID)
	switch v.kind {
	case streaming, changing:
		v.expire(tag)
		return
	case attending:
		return
	}
	now := time.Now().UnixMilli()
	stamp := v.lastRecorded(user.ID, tag)
	throttled := v.throttled(user.ID, stamp, now)
	if throttled && v.returned || !isPageView(v.c.Request()) {
		return
	}
	if !throttled {
		v.m.Tracker.Seen(v.m.Topic, *user)
		stamp = now
		if !v.returned {
			v.m.recent.record(user.ID, now)
		}
	}
	v.set(stamp, tag)
}

// lastRecorded returns when the user was recorded last as far as this browser,
// or else this process, knows; or 0.
func (v *visit) lastRecorded(id presence.UserID, tag tag) int64 {
	switch {
	case !v.returned:
		return v.m.recent.last(id)
	case v.cookie.tag == tag:
		return v.cookie.stamp
	}
	return 0 // somebody else's
}

// throttled reports whether a page view of a user need not be recorded: one was
// not long ago, and nothing has happened since that this one must answer.
func (v *visit) throttled(id presence.UserID, stamp, now int64) bool {
	return v.m.fresh(stamp, now) && !v.m.Tracker.NeedsSeen(v.m.Topic, id, time.UnixMilli(stamp))
}

// fresh reports whether a stamp still throttles. One in the future was made by
// a clock that is wrong, or by nobody's.
func (m *middleware) fresh(stamp, now int64) bool {
	return stamp <= now && now-stamp < m.Throttle.Milliseconds()
}

// guest counts a guest whose cookie came back, and gives one to who has none.
// It returns the guest's id where there is one.
func (v *visit) guest() string {
	switch {
	case v.m.Tracker == nil || v.kind == attending:
	case v.kind == changing:
		if v.cookie.tag != guestTag { // a user's, who signed out
			v.expire(guestTag)
		}
	case v.kind == streaming:
		return v.streamingGuest()
	default:
		return v.viewingGuest()
	}
	return v.cookie.browser
}

func (v *visit) viewingGuest() string {
	now := time.Now().UnixMilli()
	counted := v.cookie.tag == guestTag && v.m.fresh(v.cookie.stamp, now)
	switch r := v.c.Request(); {
	case counted || !isPageView(r):
	case isCrawler(r.UserAgent()):
		return ""
	case v.returned:
		v.m.Tracker.SeenGuest(v.m.Topic, v.cookie.browser)
		v.set(now, guestTag)
	default:
		v.set(0, guestTag)
	}
	return v.cookie.browser
}

// streamingGuest gives a guest who asks for events an id at once, under which the
// tracker counts it: that is no bot that comes once.
func (v *visit) streamingGuest() string {
	switch {
	case isCrawler(v.c.Request().UserAgent()):
		return ""
	case v.returned:
		return v.cookie.browser
	}
	browser := newBrowser()
	v.setNow(cookie{browser: browser})
	return browser
}

// expire has the next page view recorded, whatever node serves it.
func (v *visit) expire(tag tag) {
	if v.cookie.stamp != 0 {
		v.setNow(cookie{browser: v.cookie.browser, tag: tag})
	}
}

// setNow sets the cookie where no cache keeps the response: a change or a
// stream, which may hijack the connection and so never come to Echo's hook.
func (v *visit) setNow(k cookie) {
	v.c.Response().Header().Add(echo.HeaderSetCookie, v.setting(k))
}

// set sets the cookie when a page's headers are written, and not if a shared
// cache may keep them: it would hand the cookie to others.
func (v *visit) set(stamp int64, tag tag) {
	k := cookie{stamp: stamp, browser: v.cookie.browser, tag: tag}
	if !v.returned {
		k.browser = newBrowser()
	}
	setting, response := v.setting(k), v.c.Response()
	response.Before(func() {
		if !sharedCacheMayStore(response.Header()) {
			response.Header().Add(echo.HeaderSetCookie, setting)
		}
	})
}

// setting is the text of a Set-Cookie header. The cookie has no Max-Age: it
// lasts as long as the browser's session.
func (v *visit) setting(k cookie) string {
	b := make([]byte, 0, 128)
	b = append(b, v.m.cookie...)
	b = k.appendTo(b)
	b = append(b, "; Path=/; HttpOnly; SameSite=Lax"...)
	if scheme := v.c.Scheme(); scheme == "https" || scheme == "wss" { // some proxies forward the latter
		b = append(b, "; Secure"...)
	}
	return string(b)
}
