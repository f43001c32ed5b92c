package middleware

import (
	"time"

	"github.com/labstack/echo/v4"

	"github.com/rollcall-go/rollcall/presence"
)

// A visit is one request: its class, and its visitor's cookies.
type visit struct {
	m     *middleware
	c     echo.Context
	class class
	cookies
}

// seeUser records a page view of a signed-in user unless it is throttled.
func (v *visit) seeUser(user *presence.User) {
	tag := tagOf(user.ID)
	v.applyStatus(user, tag)
	switch {
	case v.class.expires():
		v.expire(tag)
		return
	case v.class != viewing:
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

// lastRecorded returns when the user was last recorded, by the browser's cookie or else
// this process's memory, or 0 if that is unknown.
func (v *visit) lastRecorded(id presence.UserID, tag tag) int64 {
	switch {
	case !v.returned:
		return v.m.recent.last(id)
	case v.throttle.tag == tag:
		return v.throttle.stamp
	}
	return 0 // another user's cookie
}

// throttled reports whether a page view of a user need not be recorded: one was recorded
// within the throttle time, and the tracker needs no other since.
func (v *visit) throttled(id presence.UserID, stamp, now int64) bool {
	return v.m.fresh(stamp, now) && !v.m.Tracker.NeedsSeen(v.m.Topic, id, time.UnixMilli(stamp))
}

// fresh reports whether a stamp still throttles. One in the future does not: it is forged
// or comes from a wrong clock.
func (m *middleware) fresh(stamp, now int64) bool {
	return stamp <= now && now-stamp < m.Throttle.Milliseconds()
}

// seeGuest counts a guest whose cookie came back, and gives a cookie to a guest without
// one. It returns the guest's id, or "" for none.
func (v *visit) seeGuest() string {
	switch {
	case v.m.Tracker == nil:
		return v.throttle.browser
	case v.class == viewing:
		return v.seeViewingGuest()
	}
	v.verify()
	switch {
	case v.class == changing && v.throttle.tag != guestTag: // of a user who signed out
		v.expire(guestTag)
	case v.class == streaming:
		return v.seeStreamingGuest()
	}
	return v.throttle.browser
}

// verify drops a throttle cookie whose id this fleet did not sign.
func (v *visit) verify() {
	if v.returned && !signed(v.m.Tracker, v.throttle.browser) {
		v.throttle, v.returned = cookie{}, false
	}
}

// seeViewingGuest counts a page view of a guest.
func (v *visit) seeViewingGuest() string {
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

// seeStreamingGuest gives a guest who asks for events an id at once. The tracker counts
// the guest by that id: a bot that comes once opens no stream.
func (v *visit) seeStreamingGuest() string {
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

// expire makes any node record the next page view.
func (v *visit) expire(tag tag) {
	if v.throttle.stamp != 0 {
		v.setNow(cookie{browser: v.throttle.browser, tag: tag})
	}
}

// setNow sets the cookie of a response that no cache stores: to a change or a stream. A
// stream may hijack the connection and so never call Echo's hook.
func (v *visit) setNow(k cookie) {
	v.c.Response().Header().Add(echo.HeaderSetCookie, v.setting(k))
}

// set sets the cookie when a page's headers are written, unless a shared cache may store
// them and hand the cookie to other visitors. While ids cannot be signed, a guest gets no
// cookie.
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

// setting returns the Set-Cookie header. The cookie has no Max-Age: it lasts as long as
// the browser's session.
func (v *visit) setting(k cookie) string {
	b := make([]byte, 0, 128)
	b = append(b, v.m.CookieName...)
	b = append(b, '=')
	b = k.appendTo(b)
	return string(append(b, attributes(v.c)...))
}

// attributes returns the attributes of each cookie. Behind a proxy that ends TLS the
// scheme is the one that the proxy forwards, which may be that of a WebSocket.
func attributes(c echo.Context) string {
	if scheme := c.Scheme(); scheme == "https" || scheme == "wss" {
		return "; Path=/; HttpOnly; SameSite=Lax; Secure"
	}
	return "; Path=/; HttpOnly; SameSite=Lax"
}
