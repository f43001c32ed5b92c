package middleware

import (
	"time"

	"github.com/labstack/echo/v4"

	"github.com/rollcall-go/rollcall/presence"
)

// A visit is one request: what it is, and what its visitor's cookies say.
type visit struct {
	m    *middleware
	c    echo.Context
	kind kind
	cookies
}

// user records a page view of a signed-in user, unless that is throttled.
func (v *visit) user(user *presence.User) {
	tag := tagOf(user.ID)
	v.status(user, tag)
	switch {
	case v.kind.expires():
		v.expire(tag)
		return
	case v.kind != viewing:
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
	case v.throttle.tag == tag:
		return v.throttle.stamp
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

// guest counts a guest whose cookie came back, and gives one to a guest without.
// It returns the guest's id where there is one.
func (v *visit) guest() string {
	switch {
	case v.m.Tracker == nil:
		return v.throttle.browser
	case v.kind == viewing:
		return v.viewingGuest()
	}
	v.verify()
	switch {
	case v.kind == changing && v.throttle.tag != guestTag: // a user's, who signed out
		v.expire(guestTag)
	case v.kind == streaming:
		return v.streamingGuest()
	}
	return v.throttle.browser
}

// verify takes a throttle cookie with an id that this fleet did not sign for none.
func (v *visit) verify() {
	if v.returned && !signed(v.m.Tracker, v.throttle.browser) {
		v.throttle, v.returned = cookie{}, false
	}
}

func (v *visit) viewingGuest() string {
	now := time.Now().UnixMilli()
	counted := v.throttle.tag == guestTag && v.m.fresh(v.throttle.stamp, now)
	switch r := v.c.Request(); {
	case counted || !isPageView(r):
		return v.throttle.browser
	case isCrawler(r.UserAgent()):
		return ""
	}
	if v.verify(); v.returned {
		v.m.Tracker.SeenGuest(v.m.Topic, v.throttle.browser)
		v.set(now, guestTag)
	} else {
		v.set(0, guestTag)
	}
	return v.throttle.browser
}

// streamingGuest gives a guest who asks for events an id at once, under which the
// tracker counts it: that is no bot that comes once.
func (v *visit) streamingGuest() string {
	switch {
	case isCrawler(v.c.Request().UserAgent()):
		return ""
	case v.returned:
		return v.throttle.browser
	}
	browser, known := newBrowser(v.m.Tracker)
	if !known {
		return ""
	}
	v.setNow(cookie{browser: browser})
	return browser
}

// expire has the next page view recorded, whatever node serves it.
func (v *visit) expire(tag tag) {
	if v.throttle.stamp != 0 {
		v.setNow(cookie{browser: v.throttle.browser, tag: tag})
	}
}

// setNow sets the cookie where no cache keeps the response: a change or a
// stream, which may hijack the connection and so never come to Echo's hook.
func (v *visit) setNow(k cookie) {
	v.c.Response().Header().Add(echo.HeaderSetCookie, v.setting(k))
}

// set sets the cookie when a page's headers are written, and not if a shared
// cache may keep them: it would hand the cookie to others. A guest gets none
// while ids cannot be signed.
func (v *visit) set(stamp int64, tag tag) {
	k := cookie{stamp: stamp, browser: v.throttle.browser, tag: tag}
	if !v.returned {
		var known bool
		if k.browser, known = newBrowser(v.m.Tracker); !known && tag == guestTag {
			return
		}
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
	b = append(b, v.m.CookieName...)
	b = append(b, '=')
	b = k.appendTo(b)
	return string(append(b, attributes(v.c)...))
}

// attributes are those of each cookie. Behind a proxy that ends TLS the scheme is
// the one that the proxy forwards; some forward that of a WebSocket.
func attributes(c echo.Context) string {
	if scheme := c.Scheme(); scheme == "https" || scheme == "wss" {
		return "; Path=/; HttpOnly; SameSite=Lax; Secure"
	}
	return "; Path=/; HttpOnly; SameSite=Lax"
}
