package middleware

import (
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/rollcall-go/rollcall/presence"
)

// With the status cookie a browser remembers which of its users chose to be invisible,
// for longer than nodes and stores do. Its value is the tags of these users, separated by
// dots, the latest first.
const (
	statusSuffix = "_status"  // after the name of the throttle cookie
	maxHides     = 4          // users in one status cookie; a further one replaces the oldest
	statusAge    = "34560000" // seconds, 400 days: the longest that browsers keep a cookie
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

// applyStatus veils a user that the cookie names, and updates the cookie with the status
// that the user chose. The cookie can only hide a user. Example: alice chooses invisible
// in browser A and then online in B, and every node forgets both choices; A still hides
// her until she chooses again in A.
func (v *visit) applyStatus(user *presence.User, t tag) {
	chosen, remembered := v.m.Tracker.Status(user.ID), hides(v.hides, t)
	user.Veiled = remembered && !outdated(chosen, remembered)
	switch {
	case v.class == changing || v.class == setting:
		v.m.updateStatusCookie(v.c, user.ID, t, v.hides) // with the change of this request too
	case !outdated(chosen, remembered):
	case v.class == streaming:
		v.c.Response().Header().Add(echo.HeaderSetCookie, v.m.statusSetting(v.c, v.hides, t, chosen))
	case v.class != viewing || isPageView(v.c.Request()):
		v.m.updateStatusCookie(v.c, user.ID, t, v.hides)
	}
}

// outdated reports whether a browser remembers another choice than the user's. It is false
// while the choice is unknown.
func outdated(chosen presence.Status, remembered bool) bool {
	return chosen != "" && remembered != (chosen == presence.Invisible)
}

// updateStatusCookie sets the status cookie when the response is written, unless a shared
// cache may store that. It is a function of its own so that a request without a need for
// it allocates nothing for its closure.
func (m *middleware) updateStatusCookie(c echo.Context, id presence.UserID, t tag, value string) {
	response := c.Response()
	response.Before(func() {
		chosen := m.Tracker.Status(id)
		if outdated(chosen, hides(value, t)) && !sharedCacheMayStore(response.Header()) {
			response.Header().Add(echo.HeaderSetCookie, m.statusSetting(c, value, t, chosen))
		}
	})
}

// statusSetting returns the Set-Cookie header that updates a status cookie with the choice
// of a user.
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
