// Package core is what the middleware of every framework shares: it recognizes page views
// among a site's requests, and records them. A site imports the package of its framework
// instead: nethttp, middleware itself (Echo v4), echov5 or ginv1. They are thin, and so is
// one for another framework:
//
//	visit := recorder.Begin(c, request, response.Header())
//	defer visit.End()
//	next(visit.Request, visit.Cookies.Wrap(response))
//	visit.Cookies.Set(response.Header(), http.StatusOK, nil)
//
// For each request the middleware calls the site's Identify once, and puts the answer into
// the request's context as a [presence.Visitor]. Handlers and templates read it there. A
// page view is recorded in the process at once, and written to the store in a batch a
// moment later. A page never waits for presence and never fails because of it: without a
// tracker, with a closed one, and while the store is down or hangs, the page is served as
// always.
//
// # What a page view is
//
// A page view is a GET that a person may have asked for. These requests are none: any
// other method, a prefetch or prerendering, an asset (script, style, image and so on, by
// Sec-Fetch-Dest or else by its name), a WebSocket or event stream, and the presence
// endpoints. A fetch by a page's script is a page view, since some sites go from page to
// page that way. The response decides in the end: it is HTML, and its status is below 400. So a health check,
// an API, a raw file and an error record nothing and set no cookie. A response without a type is told by its
// first bytes, as net/http does, or else by whether the request asks for HTML.
//
// A guest counts when the throttle cookie comes back with a page view, or when the page
// opens a stream. So a bot that fetches one page never counts as a guest, and neither does a
// crawler that declares itself. A signed-in user always counts.
//
// A guest whose browser has sent no cookie counts while a stream is open, and for the grace
// after it ([presence.Visitor].Passing). The answer to the stream sets a cookie. Once the
// browser returns it, the guest counts by the cookie, like all others. So a reader who
// blocks cookies is one guest while reading, and not one more with each page.
//
// A crawler gets no cookie, and so does a program that says that it drives a browser. The list
// of crawlers, crawlers.txt, is that of the project crawler-user-agents. Tools such as curl are
// not in it: one that keeps cookies acts for a person. Where the topic's [presence.Kind] has
// Bots, a crawler counts by its name in the list and by a hash of its address. Its page views
// are recorded once in [Config.Throttle]. A crawler that is not in the list, and says that it
// is one, counts as one of "Other bots".
//
// # The throttle cookie
//
// A visitor is recorded at most once in [Config.Throttle]. A cookie holds when that last
// was, so that the throttle works whatever node serves the next page:
//
//	<stamp>.<browser>.<user>
//
// stamp is the time of the last recording, in milliseconds since 1970 in base 36, or 0 if
// the next page view must be recorded. browser is the id by which a guest is counted.
// user is a short hash of the user's id, or "-" for a guest, so that a login, a logout and
// a change of user are recorded at once. A request that changes something (POST and the
// like) may do several of these, so it sets the stamp to 0.
//
// A tenant's cookie ([Config.Tenant]) ends with a dot and the tenant, which is compared and not
// believed: a cookie of another tenant counts as none, and so does a browser's id whose signature is of another
// tenant. Tenants on one host share the cookie: each then gives the browser a new one.
//
// Half of a browser's id is random; the other half signs it with the fleet's secret
// ([track.Config.Secret]). An id that a script made up does not count: a page view with
// it gets a new id, as if the request had no cookie. A node that has not reached the store
// yet does not know the secret. Until then it gives guests no ids, and counts them by their
// streams alone.
//
// An id has one of two signatures: that of a new guest, or that of a guest who counts. When
// the id of a new guest comes back, the guest counts and gets the other signature, unless
// the address has brought too many new guests to this node: 256 at once, and as many within
// the tracker's Age in the long run ([Config.ClientIP]). A guest who is refused tries again
// with each page view, and [presence.GuestsRefused] reports it.
//
// Example: a script fetches 10,000 cookies and returns each of them. It makes up 256 guests
// on each node. An office of 200 people behind one address counts as a whole.
//
// A guest who counts is never refused later, at any node. So a script that keeps its cookies
// gains 256 guests with each Age, and can return them all together.
//
// The random half is also the [presence.Visitor].Browser of a signed-in user. It names the
// streams that [track.Tracker.SignOff] ends.
//
// The rest is not signed, because a forgery gains nothing: the user comes from the site's
// own session, and a forged stamp throttles only its own visitor. It is a session cookie:
// the stamp limits the throttle, and a guest remains the same guest for longer than that.
//
// A page view after the opening of a stream must be recorded even if it is throttled:
// otherwise its user would leave when the stream closes. So the request for a stream sets
// the stamp to 0, and so does the beat of a page that joined the stream of another tab
// (POST /beat?joined=1). A page may be requested while that answer is on its way. So the
// tracker is asked too whether a connection was opened since the stamp.
//
// One order of events is left to the grace. A visitor clicks a link in the moment in which
// the page asks for its stream, and the request for the next page overtakes that for the
// stream. The page view is throttled, because there is no connection yet. The stream opens,
// closes with its page, and leaves the visitor the grace. The next page's stream opens
// within it. Only if the next page has no stream, the visitor is seen to leave.
//
// A signed-in visitor without cookies is throttled by the memory of the process, which is
// bounded. A guest without cookies costs no memory.
//
// # The status cookie
//
// A user who chose to be invisible must not appear because a process was restarted and
// lost that choice. The nodes and the store remember it for as long as they can. The
// browser remembers it too, by a cookie that lasts 400 days. The response to the choice
// sets the cookie. If the user chose on another device or over a WebSocket, the next
// response to a page view, a stream or a request of a page's script sets it.
//
// Over TLS its name begins with __Host-, and one without that does not count: a sibling of the
// site's host can set cookies for both, and could hide a user.
//
// The cookie matters only while neither the site nor the tracker knows a status of the
// user: it then makes the user Veiled ([presence.User]). It is removed after its user
// chose another status. In one case it hides a user for too long. Alice chooses invisible
// in browser A and then online in browser B; A is closed meanwhile, and every node forgets
// both choices. When Alice comes back in A, she is hidden until her next choice there.
// The opposite error would be worse.
//
// With a [track.Config.Directory] the cookie counts only while the Directory says nothing
// of the user's status, such as a Directory that is new or was lost.
//
// # Devices
//
// Where the tracker has a Directory, a signed-in visitor has a [presence.Device]. Its id is
// that of the site's session, if the site has a [Config.Session]. Otherwise it is a hash of
// the random half of the browser's id and of the user, made with the fleet's secret. So
// the ids of two users of one browser show nothing in common. A made-up cookie makes up
// devices of its own user only.
//
// The first page view of a browser brings no cookie. Its device is that of the id which the
// response sets, and the page's stream brings that id back. A client that keeps no cookies is
// one device by its user agent, except for its first page view.
//
// The label of a device names the families of its browser and its system: "Firefox on
// Linux". It comes from tables, and nothing of it is the client's own text. Of an address and
// a user agent nothing else is kept, unless the site sets [Config.Secret]: then 64 bits of a
// keyed hash of each.
//
// A page view that is not recorded finds no device. [presence.VisitorFromContext] finds it
// when a handler asks for the visitor.
package core
