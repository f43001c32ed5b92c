package main

import (
	"context"

	"github.com/rollcall-go/rollcall/presence"
)

// checkCookies looks whether the presence cookie reaches the visitor, and comes back to the
// site. Without it each page view is written to the store, and no guest is counted.
func checkCookies(ctx context.Context, s *site) verdict {
	v := s.views()
	switch {
	case v.again == nil:
		return unknown("The page was viewed once, and not again.")
	case v.first.guest != "" && v.again.guest != "" && v.first.guest != v.again.guest:
		return wrong("Let the proxy pass the Cookie header on (nginx: no proxy_set_header Cookie). If it does, let all processes of the site share one store.",
			"The site does not get the cookies that it sets: at the second view of the page it took the visitor for a new one.")
	case v.first.guest != "":
		return ok("The presence cookie arrives, and comes back.")
	case v.first.mayBeShared():
		return unknown("A shared cache may store the page, so presence sets no cookie with it.")
	case v.first.me != "":
		return unknown("The page set no presence cookie, as for a user who was seen a moment ago.")
	}
	if w := s.notes(ctx); w == nil || w.found(presence.NoMiddleware) || s.streamCookie(ctx) {
		return unknown("The page set no presence cookie; see middleware.")
	}
	return wrong("Let the proxy pass Set-Cookie on (nginx: no proxy_hide_header Set-Cookie). If it does, put the presence middleware before this page.",
		"The presence cookie does not arrive: three views of the page set none, so each view is recorded, and guests are not counted.")
}

// checkCache looks whether a cache may hand a visitor's page to others.
func checkCache(_ context.Context, s *site) verdict {
	const cure = "Answer pages that show presence with Cache-Control: private, and let the cache obey it and Set-Cookie (nginx: no proxy_ignore_headers)."
	v := s.views()
	for _, p := range []*page{s.first, v.first, v.again, v.other} {
		switch {
		case p == nil || !p.mayBeShared():
		case p.me != "":
			return wrong(cure, "Shared caches may store the page, which names its user, %s: others would be shown it.", short(p.me))
		case len(p.header["Set-Cookie"]) > 0:
			return wrong(cure, "Shared caches may store the page with the cookies that it sets: visitors would get those of others.")
		}
	}
	switch {
	case v.other != nil && v.first.guest != "" && v.other.guest == v.first.guest:
		return wrong(cure, "Two new visitors got the same cookie: a shared cache keeps the page, and hands it out with its Set-Cookie.")
	case v.other == nil:
		return unknown("A second visitor did not get the page.")
	}
	return ok("Two new visitors did not get the same page from a cache.")
}
