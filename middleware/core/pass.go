package core

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/track"
)

// A requestWithVisitor is a copy of a request and its context: the one allocation that
// presence costs a page. It is also what is known of a pass: one way of a request through the middleware.
type requestWithVisitor struct {
	presence.VisitorContext
	request http.Request
	engine  *engine
	cookies *Cookies // that the response is to set; nil: none
	browser string   // for FindDevice, on a site with people
	names   names
}

type (
	passKey struct{}
	siteKey struct{}
)

// Value implements [context.Context].
func (w *requestWithVisitor) Value(key any) any {
	switch {
	case key == passKey{}:
		return w
	case key == siteKey{} && w.engine.site != nil:
		return w.engine.site
	}
	return w.VisitorContext.Value(key)
}

// SiteFrom returns the Config.Site of the middleware that a request has passed last, by the request's
// context. It is nil without one. [rollcall.From] is for sites.
func SiteFrom(ctx context.Context) any { return ctx.Value(siteKey{}) }

// withSite returns a request that is skipped. Its context has the site.
func (m *engine) withSite(r *http.Request) *http.Request {
	if m.site == nil {
		return r
	}
	return r.WithContext(context.WithValue(r.Context(), siteKey{}, m.site))
}

// Passed reports whether a request has passed a middleware of a tracker that has identified the visitor, by the
// request's context.
func Passed(ctx context.Context, t *track.Tracker) bool { return passOf(ctx, t) != nil }

// passOf returns the last pass of a request through a middleware of a tracker, or nil.
func passOf(ctx context.Context, t *track.Tracker) *requestWithVisitor {
	w, _ := ctx.Value(passKey{}).(*requestWithVisitor)
	for w != nil && (w.engine.tracker != t || t == nil) {
		w, _ = w.Context.Value(passKey{}).(*requestWithVisitor)
	}
	return w
}

// undo removes what a pass has left for the response, whose header is given. The inner pass of the request
// counts, because it knows the site's sessions. A guest of the outer one is not counted yet: see [Cookies].
func (w *requestWithVisitor) undo(header http.Header) {
	if w.cookies != nil {
		w.cookies.set = true
	}
	header["Set-Cookie"] = slices.DeleteFunc(header["Set-Cookie"], func(c string) bool {
		return strings.HasPrefix(c, w.engine.cookieName+"=")
	})
}
