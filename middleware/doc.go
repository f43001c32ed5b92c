// Package middleware tells presence, from the requests that an Echo v4 site
// serves anyway, who is there.
//
// For each request it asks the site's identify function once who is asking, and
// puts the answer into the request's context as a [presence.Visitor]; handlers
// and templates take it from there. If the request is a page view, it is
// recorded: in the process and at once, to be written in a batch a moment later.
// A page never waits for presence and never fails for it: with no tracker, a
// closed one, or a store that is down or hanging, it is served as ever.
//
// # What a page view is
//
// A GET that a person may have asked for. Not one: any other method, a prefetch
// or prerendering, an asset (script, style, image and so on, by Sec-Fetch-Dest
// or else by its name), a WebSocket or event stream, and the presence endpoints
// themselves. A fetch by a page's script is one, since that is how some sites
// go from page to page; where scripts poll, exclude those routes by
// [Config.Skipper] or mount the middleware on a group without them.
//
// A guest counts once the cookie came back, so that a bot that comes once never
// does; and a crawler that says it is one never does either. Whoever is signed in
// counts.
//
// # The throttle cookie
//
// The same visitor is recorded at most once in [Config.Throttle]. A cookie tells
// when that was last, so that it holds on whatever node the next page is served:
//
//	<stamp>.<browser>.<user>
//
// stamp is the moment of the last recording, in milliseconds since 1970 in base
// 36, or 0 if the next page view is to be recorded; browser is the id under which
// a guest is counted; user is a short hash of the user's id, or "-" for a guest.
// So a login, a logout and a change of user are recorded at once. A request that
// changes something (POST and the like) may do several of these, so it sets the
// stamp to 0.
//
// Half of a browser's id is random, and half signs that with the fleet's secret
// ([presence.Config.Secret]). A script can make up ids, and none of them counts: a
// page view with one gets a new id, as if no cookie had come back. While a node
// does not know the secret, because it has not reached the store yet, it gives
// guests no ids and counts none.
//
// The rest is not signed, because there is nothing to win: the user comes from the
// site's own session, and a forged stamp throttles only the visitor who forged it.
// It is a session cookie: the stamp does the throttling, and a guest is the same
// guest for longer than that.
//
// A page view that comes after a stream was opened must be recorded, throttled or
// not, or its user would be gone when the stream closes. So the request for a
// stream sets the stamp to 0, and so does the beat of a page that joined the stream
// of another tab (POST /beat?joined=1). A page may be asked for while that answer is
// on its way: for it the tracker is asked for connections opened since the stamp.
//
// A signed-in visitor without cookies is throttled in the memory of the process,
// which is bounded. A guest without cookies costs no memory at all.
//
// # The status cookie
//
// A user who chose to be invisible must not be announced because a process was
// started again and forgot. The nodes and the store remember for as long as they
// can; the browser remembers too, by a cookie that lasts 400 days. The response to
// the choice sets it. If the user chose on another device or over a WebSocket, the
// next response to a page view, a stream or a request of a page's script does.
//
// The cookie only ever hides, where neither the site nor the tracker knows a status
// of the user: it makes the user Veiled ([presence.User]). It is removed once its
// user chose another status. There is one case in which it
// hides too much. A user chooses invisible in browser A and then online in browser
// B, A is closed meanwhile, and every node forgets both choices. The user who comes
// back in A is hidden, until the next choice in A. The other error would be worse.
package middleware
