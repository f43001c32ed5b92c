package core

import (
	"cmp"
	"net/http"
	"strconv"
	"strings"

	"github.com/rollcall-go/rollcall/presence"
)

// With the status cookie a browser remembers which of its users chose to be invisible,
// for longer than nodes and stores do. Its value is the tags of these users, separated by
// dots, the latest first.
const (
	statusSuffix = "_status"  // after the name of the throttle cookie
	hostPrefix   = "__Host-"  // over TLS before the name: browsers take such a cookie from this host alone
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
func (v *requestVisit) applyStatus(user *presence.User, t tag) {
	chosen, remembered := v.tracker.Status(v.user), hides(v.hides, t)
	user.Veiled = remembered && !outdated(chosen, remembered)
	switch {
	case v.denied:
	case v.class == changing || v.class == setting:
		v.updateStatusCookie(t) // with the change of this request too
	case !outdated(chosen, remembered):
	case v.class == streaming:
		v.header.Add("Set-Cookie", v.statusSetting(v.request, v.hides, t, chosen))
	case v.class != viewing || isPageView(v.request):
		v.updateStatusCookie(t)
	}
}

// outdated reports whether a browser remembers another choice than the user's. It is false
// while the choice is unknown.
func outdated(chosen presence.Status, remembered bool) bool {
	return chosen != "" && remembered != (chosen == presence.Invisible)
}

// A statusUpdate updates the status cookie when the response is written: with the choice
// that the user has by then.
type statusUpdate struct {
	request *http.Request
	user    presence.UserID
	tag     tag
	value   string // of the cookie in the request
}

// updateStatusCookie has the response update the status cookie.
func (v *requestVisit) updateStatusCookie(t tag) {
	v.later().status = &statusUpdate{v.request, v.user, t, v.hides}
}

func (u *statusUpdate) apply(m *engine, header http.Header) {
	chosen := m.tracker.Status(u.user)
	if outdated(chosen, hides(u.value, u.tag)) {
		header.Add("Set-Cookie", m.statusSetting(u.request, u.value, u.tag, chosen))
	}
}

// statusSetting returns the Set-Cookie header that updates a status cookie with the choice
// of a user.
func (m *engine) statusSetting(r *http.Request, value string, user tag, chosen presence.Status) string {
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
	end := attributes(r)
	return statusPrefix(end) + m.cookieName + statusSuffix + "=" + strings.Join(tags, ".") + "; Max-Age=" + age + end
}

// statusPrefix returns the prefix of a status cookie's name, which depends on the cookie's attributes. A
// sibling of the site's host can set cookies for both hosts; its cookie must not hide a user.
func statusPrefix(attributes string) string {
	if strings.HasSuffix(attributes, secure) {
		return hostPrefix
	}
	return ""
}

// status returns the value of the request's valid status cookie. Over TLS that is the cookie that only this
// host can have set.
func (c *sentCookies) status(r *http.Request) string {
	if c.hides == "" && c.ours == "" {
		return ""
	}
	if statusPrefix(attributes(r)) != "" {
		return c.ours
	}
	return cmp.Or(c.hides, c.ours)
}
