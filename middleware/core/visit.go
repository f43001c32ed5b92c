package core

import (
	"encoding/base64"
	"net/http"
	"strconv"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// A requestVisit is one request: its class, and its visitor's cookies.
type requestVisit struct {
	*engine
	request *http.Request
	header  http.Header // of the response
	class   class
	sentCookies
	tenant  string
	topic   presence.Topic  // where the visit is recorded, by its name inside
	user    presence.UserID // by its name inside; empty: a guest
	made    string          // the id that the response gives the browser; "": none
	guest   string          // the id by which a guest counts, once verify found it; "": none
	passing string          // presence.Visitor.Passing
	arrives bool            // the guest is new: its id has not come back before
	setting *Cookies        // nil: none yet
	denied  bool            // the browser may get no cookie: see Config.Consent
}

// seeUser records a page view of a signed-in user unless it is throttled.
func (v *requestVisit) seeUser(visitor *presence.Visitor) {
	user := &visitor.User
	tag := tagOf(v.user)
	v.applyStatus(user, tag)
	switch {
	case v.class.expires():
		v.leaveGuests()
		v.expire(tag)
		return
	case v.class != viewing:
		return
	}
	now := time.Now().UnixMilli()
	stamp := v.lastRecorded(tag)
	throttled, own := v.throttled(stamp, now), v.returned && v.cookie.tag == tag
	if throttled && own || !isPageView(v.request) {
		return
	}
	if throttled {
		v.onPage(func(v *requestVisit) { v.set(stamp, tag) })
		return
	}
	if stamp == 0 { // else the browser has not kept the id that it got
		v.makeBrowser()
	}
	v.onPage(func(v *requestVisit) {
		v.leaveGuests()
		v.recordUser(visitor)
		now := time.Now().UnixMilli()
		if !own {
			v.recent.record(v.user, v.remembered(), now)
		}
		v.set(now, tag)
	})
}

// onPage has a function called for a copy of the visit, if the response is a page.
func (v *requestVisit) onPage(record func(*requestVisit)) {
	c := v.later()
	c.visit = *v
	c.visit.setting, c.record = c, record
}

// recordUser records a page view of a signed-in user, on the device if the site has people.
func (v *requestVisit) recordUser(visitor *presence.Visitor) {
	user, device := visitor.User, visitor.Device
	user.ID = v.user
	if v.people {
		device = v.deviceOf(v.request, v.user, device.ID, v.browser())
	}
	v.tracker.Seen(v.kept(), user, device)
}

// seeHidden removes a hidden user from the guests, because nothing may be recorded of such a user. The
// browser then gets the cookie of a guest who has not been counted.
func (v *requestVisit) seeHidden() {
	if v.class == viewing && v.cookie.tag == guestTag && v.cookie.stamp != 0 && isPageView(v.request) {
		v.onPage(func(v *requestVisit) {
			v.leaveGuests()
			v.set(0, guestTag)
		})
	}
}

// leaveGuests removes a user from the guests whose browser was a guest's until now. It ignores an id that the
// browser made up.
func (v *requestVisit) leaveGuests() {
	if v.returned && v.cookie.tag == guestTag && v.signed(countedPurpose, v.cookie.browser) {
		v.tracker.GuestSignedIn(v.kept(), v.inside(v.cookie.browser))
	}
}

// lastRecorded returns when the user was last recorded, by the browser's cookie or else
// this process's memory, or 0 if that is unknown.
func (v *requestVisit) lastRecorded(tag tag) int64 {
	switch {
	case v.returned && v.cookie.tag == tag:
		return v.cookie.stamp
	case v.returned && v.cookie.tag != guestTag:
		return 0 // another user's cookie
	}
	last := v.recent.last(v.user, v.remembered())
	if last <= v.cookie.stamp {
		return 0 // since the last record, the browser was a guest's
	}
	return last
}

// remembered returns the browser's key in recent, the memory of this process.
func (v *requestVisit) remembered() string {
	if v.returned {
		return v.cookie.browser
	}
	return v.cookieless(v.request)
}

// cookieless returns the key in recent of browsers without cookies. If users have devices, each user agent
// has a key of its own.
func (m *engine) cookieless(r *http.Request) string {
	if m.people {
		return userAgent(r)
	}
	return ""
}

// browser returns the id that the browser has, or gets with the response. It is empty for
// a stream without cookies, and for a browser that did not keep the last one it got.
func (v *requestVisit) browser() string {
	if v.returned {
		return v.cookie.browser
	}
	return v.made
}

// makeBrowser makes an id for a browser that sent none. The response of the page view sets it as a
// cookie. It also names the device, on a site with people.
func (v *requestVisit) makeBrowser() {
	if v.people && !v.returned && !v.denied {
		v.made, _ = v.newBrowser()
	}
}

// throttled reports whether a page view of a user need not be recorded: one was recorded within the throttle
// time, and no connection opened since that would need another.
func (v *requestVisit) throttled(stamp, now int64) bool {
	return v.fresh(stamp, now) && !v.tracker.NeedsSeen(v.topic, v.user, time.UnixMilli(stamp))
}

// fresh reports whether a stamp still throttles. One in the future does not: it is forged
// or comes from a wrong clock.
func (m *engine) fresh(stamp, now int64) bool {
	return stamp <= now && now-stamp < m.throttle
}

// seeGuest counts a guest whose cookie came back, and gives a cookie to a guest without
// one. It returns the guest's id, or "" for none.
func (v *requestVisit) seeGuest() string {
	switch {
	case v.denied && v.class == streaming && !v.members && v.tracker != nil:
		v.returned = false // as if the browser had sent no cookie
		return v.seeStreamingGuest()
	case v.denied:
		return ""
	case v.members:
		if v.class == changing && v.cookie.tag != guestTag { // of a user who signed out
			v.expire(guestTag)
		}
		return ""
	case v.tracker == nil:
		return v.cookie.browser
	case v.class == viewing:
		return v.seeViewingGuest()
	}
	v.verify()
	switch {
	case v.class == changing && v.cookie.tag != guestTag: // of a user who signed out
		v.expire(guestTag)
	case v.class == streaming:
		return v.seeStreamingGuest()
	}
	return v.guest
}

// verify removes a throttle cookie whose id this fleet did not sign. From a valid cookie it takes the guest's
// id.
func (v *requestVisit) verify() {
	switch id := v.cookie.browser; {
	case !v.returned:
	case v.signed(countedPurpose, id):
		v.guest = id
	case v.signed(newPurpose, id):
		v.guest, v.arrives = v.counted(id), true
	default:
		v.cookie, v.returned = cookie{}, false
	}
}

// admitted reports whether the guest that verify found may count. A guest who counts already may. A new guest
// may if the address has not brought too many, and the browser then gets the id of a guest who counts.
func (v *requestVisit) admitted() bool {
	if v.arrives && !v.admits(v.request, v.tenant) {
		return false
	}
	v.cookie.browser = v.guest
	return true
}

// admits reports whether one more new guest of a tenant from the address of a request may
// count.
func (m *engine) admits(r *http.Request, tenant string) bool {
	address, shared := m.address(r)
	if shared || m.newcomers.admit(tenant, address, time.Now()) {
		return true
	}
	m.tracker.Found(presence.GuestsRefused, "address", address)
	return false
}

// seeViewingGuest counts a page view of a guest.
func (v *requestVisit) seeViewingGuest() string {
	known := v.cookie.tag == guestTag && v.fresh(v.cookie.stamp, time.Now().UnixMilli())
	if known || !isPageView(v.request) {
		return v.cookie.browser
	}
	if crawler := crawlerName(v.request.UserAgent()); crawler != "" {
		if v.crawlers != nil {
			v.onPage(func(v *requestVisit) { v.recordCrawler(crawler) })
		}
		return ""
	}
	v.verify()
	v.onPage((*requestVisit).recordGuest)
	return v.guest
}

// recordGuest records a page view of a guest whose cookie came back, and gives a cookie to a guest without one.
func (v *requestVisit) recordGuest() {
	switch {
	case !v.returned:
		v.set(0, guestTag)
	case v.admitted(): // otherwise the next page view tries again
		v.endPassing()
		v.tracker.SeenGuest(v.kept(), v.inside(v.guest))
		v.set(time.Now().UnixMilli(), guestTag)
	}
}

// seeStreamingGuest returns the id of a guest who asks for events. The tracker counts the guest: a bot that comes
// once opens no stream.
func (v *requestVisit) seeStreamingGuest() string {
	switch {
	case crawlerName(v.request.UserAgent()) != "":
		return ""
	case !v.returned:
		return v.seePassingGuest()
	}
	switch admitted := v.admitted(); {
	case !admitted:
		return ""
	case v.arrives || v.cookie.stamp == passed:
		v.endPassing()
		v.setNow(cookie{browser: v.cookie.browser})
	}
	return v.guest
}

// passed is the stamp of a cookie that the answer to a stream sets. Until the browser returns the cookie, its
// guest counts by the stream alone. Like 0 it throttles nothing.
const passed = 1

// seePassingGuest has a guest without a cookie count by the stream alone, and gives the browser an id at once. It
// returns that id.
func (v *requestVisit) seePassingGuest() string {
	id, known := "", false
	if !v.denied {
		id, known = v.newBrowser()
	}
	k := cookie{browser: id}
	if !v.admits(v.request, v.tenant) {
		id = ""
	} else {
		address, _ := v.address(v.request)
		v.passing = strconv.FormatUint(v.recent.key(presence.UserID(address), userAgent(v.request)), 36)
		if known {
			id = v.counted(id)
			k = cookie{browser: id, stamp: passed}
		}
	}
	if !known {
		return ""
	}
	v.setNow(k)
	return id
}

// endPassing has a guest count by the cookie from now on, and no longer by the stream whose answer set it.
func (v *requestVisit) endPassing() {
	if v.cookie.stamp == passed {
		v.tracker.GuestSignedIn(v.kept(), v.inside(v.guest))
	}
}

// recordCrawler records a page view of a crawler by its name, where the site counts crawlers.
// The store gets a hash of the address, which nobody without the fleet's secret can undo.
func (v *requestVisit) recordCrawler(name string) {
	now := time.Now().UnixMilli()
	address, _ := v.address(v.request)
	key := presence.UserID(name).In(v.tenant)
	if v.fresh(v.crawlers.last(key, address), now) {
		return
	}
	mac, known := v.tracker.Sign("bot", name+" "+address)
	if !known {
		return
	}
	v.crawlers.record(key, address, now)
	v.tracker.SeenBot(v.kept(), name, base64.RawURLEncoding.EncodeToString(mac[:]))
}

// expire makes the next page view be recorded, whichever node serves it.
func (v *requestVisit) expire(tag tag) {
	if v.cookie.stamp > passed {
		v.setNow(cookie{browser: v.cookie.browser, tag: tag})
	}
}

// setNow sets the cookie at once, for a response that no cache stores: to a change, or to a stream. A stream
// may hijack the connection, so its headers may never be written later.
func (v *requestVisit) setNow(k cookie) {
	if v.denied {
		return
	}
	v.header.Add("Set-Cookie", v.throttleSetting(k))
}

// set has the response set the cookie, unless a shared cache may store it and hand the cookie to other
// visitors. While ids cannot be signed, a guest gets no cookie.
func (v *requestVisit) set(stamp int64, tag tag) {
	if v.denied {
		return
	}
	k := cookie{stamp: stamp, browser: v.browser(), tag: tag}
	if k.browser == "" {
		var known bool
		if k.browser, known = v.newBrowser(); !known && tag == guestTag {
			return
		}
	}
	v.later().throttle = v.throttleSetting(k)
}

// later returns what is done when the headers are written.
func (v *requestVisit) later() *Cookies {
	if v.setting == nil {
		v.setting = &Cookies{visit: requestVisit{engine: v.engine, request: v.request, class: v.class}}
	}
	return v.setting
}

// throttleSetting returns the Set-Cookie header of a throttle cookie. It has no Max-Age:
// it lasts as long as the browser's session.
func (v *requestVisit) throttleSetting(k cookie) string {
	b := make([]byte, 0, 128)
	b = append(b, v.cookieName...)
	b = append(b, '=')
	k.tenant = v.tenant
	b = k.appendTo(b)
	return string(append(b, attributes(v.request)...))
}
