package middleware

import (
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/rollcall-go/rollcall/presence"
)

// The status cookie is how a browser remembers that its user chose to be
// invisible, for longer than any node or store may. Its value is the tags of those
// users of the browser, with dots between, the latest first.
const (
	statusSuffix = "_status"  // after the name of the throttle cookie
	maxHides     = 4          // users in one status cookie; the oldest is forgotten
	statusAge    = "34560000" // seconds, 400 days: browsers keep no cookie for longer
)

// hides reports whether a status cookie names a user.
func hides(value string, user tag) bool {
	for value != "" {
		var text string
		text, value, _ = strings.Cut(value, ".")
		if n, ok := parse36(text, uint64(^tag(0))); ok && tag(n) == user {
			return true
		}
	}
	return false
}

// status veils a user that the cookie names, and brings the cookie up to date with
// what the user chose. It only ever hides: a browser in which nobody has chosen
// since keeps hiding its user, though the user may have chosen to be seen in another
// before every node forgot it.
func (v *visit) status(user *presence.User, t tag) {
	chosen, remembered := v.m.Tracker.Status(user.ID), hides(v.hides, t)
	user.Veiled = remembered && !outdated(chosen, remembered)
	switch {
	case v.kind == changing || v.kind == setting:
		v.m.rememberLater(v.c, user.ID, t, v.hides) // what the request itself changes too
	case !outdated(chosen, remembered):
	case v.kind == streaming:
		v.c.Response().Header().Add(echo.HeaderSetCookie, v.m.statusSetting(v.c, v.hides, t, chosen))
	case v.kind != viewing || isPageView(v.c.Request()):
		v.m.rememberLater(v.c, user.ID, t, v.hides)
	}
}

// outdated reports whether a browser remembers something else than was chosen. While
// no choice is known, nothing that it remembers is outdated.
func outdated(chosen presence.Status, remembered bool) bool {
	return chosen != "" && remembered != (chosen == presence.Invisible)
}

// rememberLater sets the status cookie when the response is written, unless a
// shared cache may keep it. It is a function of its own so that its closure holds
// on to nothing of a request that needs none.
func (m *middleware) rememberLater(c echo.Context, id presence.UserID, t tag, value string) {
	response := c.Response()
	response.Before(func() {
		chosen := m.Tracker.Status(id)
		if outdated(chosen, hides(value, t)) && !sharedCacheMayStore(response.Header()) {
			response.Header().Add(echo.HeaderSetCookie, m.statusSetting(c, value, t, chosen))
		}
	})
}

// statusSetting is the text of a Set-Cookie header that brings a status cookie up
// to date with what a user chose.
func (m *middleware) statusSetting(c echo.Context, value string, user tag, chosen presence.Status) string {
	var tags []string
	if chosen == presence.Invisible {
		tags = append(tags, strconv.FormatUint(uint64(user), 36))
	}
	for text := range strings.SplitSeq(value, ".") {
		if n, ok := parse36(text, uint64(^tag(0))); ok && tag(n) != user && len(tags) < maxHides {
			tags = append(tags, text)
		}
	}
	age := statusAge
	if len(tags) == 0 {
		age = "0"
	}
	return m.CookieName + statusSuffix + "=" + strings.Join(tags, ".") + "; Max-Age=" + age + attributes(c)
}
