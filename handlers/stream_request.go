package handlers

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/rollcall-go/rollcall/internal/authz"
	"github.com/rollcall-go/rollcall/internal/problem"
	"github.com/rollcall-go/rollcall/presence"
)

// A keptRequest is the request that opened a stream. The stream keeps it, to ask the site about its visitor
// again. It is small: it has nothing of the connection, and its header is one string instead of many.
type keptRequest struct {
	bare   *http.Request // without header and body; its context does not end with the handler
	header string        // names and values, each followed by a zero byte
	whole  bool          // bare is the request itself, whose context ends with the handler
}

// maxKeptRequest bounds the address and the header that a stream keeps of its request, in bytes. A stream may
// be open for an hour, and must not keep a megabyte for that time.
const maxKeptRequest = 16 << 10

// keepRequest returns the part of a request that a stream keeps, or a problem if that is too large. Cursors do
// not count and are not kept, because the stream has read them.
func keepRequest(r *http.Request) (keptRequest, error) {
	k := keptRequest{header: wholeRequest(r).headers()}
	bare := r.WithContext(context.WithoutCancel(r.Context()))
	bare.Header, bare.Body, bare.GetBody = nil, http.NoBody, nil
	bare.Form, bare.PostForm, bare.MultipartForm = nil, nil, nil // the stream has read its list of people
	if len(r.RequestURI)+len(k.header) > maxKeptRequest {
		bare.URL = withoutCursors(r.URL)
		bare.RequestURI = bare.URL.RequestURI()
	}
	if len(r.Host)+len(bare.RequestURI)+len(k.header) > maxKeptRequest {
		return k, problem.New(http.StatusRequestHeaderFieldsTooLarge, "The address and the header of the request are too large for a stream. Send fewer or smaller cookies.")
	}
	k.bare = bare
	return k, nil
}

// wholeRequest keeps a request whose handler runs as long as the stream.
func wholeRequest(r *http.Request) keptRequest { return keptRequest{bare: r, whole: true} }

// untimed returns a request whose context has no deadline, and is canceled with that of r. A timeout of the
// site is for pages. Over HTTP/2 it would end each stream after some seconds.
func untimed(r *http.Request) *http.Request {
	timed := r.Context()
	if _, ok := timed.Deadline(); !ok {
		return r
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(timed))
	context.AfterFunc(timed, func() {
		if timed.Err() == context.Canceled {
			cancel()
		}
	})
	return r.WithContext(ctx)
}

// isCursor reports whether a parameter of a query is a cursor.
func isCursor(pair string) bool { return strings.HasPrefix(pair, "cursor=") }

// withoutCursors returns a copy of an address without its cursors.
func withoutCursors(u *url.URL) *url.URL {
	without := *u
	without.RawQuery = strings.Join(slices.DeleteFunc(strings.Split(u.RawQuery, "&"), isCursor), "&")
	without.Path, without.RawPath = strings.Clone(u.Path), strings.Clone(u.RawPath)
	return &without
}

// headers returns the kept header as one string, in a fixed order and without the
// names that differ with each connection of a browser.
func (k keptRequest) headers() string {
	if !k.whole {
		return k.header
	}
	return authz.Header(k.bare.Header)
}

// with returns a copy of the request with a context. The caller may keep and change it.
func (k keptRequest) with(ctx context.Context) *http.Request {
	r := k.bare.WithContext(ctx)
	r.Form, r.PostForm, r.MultipartForm = nil, nil, nil
	if k.whole {
		r.Header = k.bare.Header.Clone()
		r.Body, r.GetBody = http.NoBody, nil
		return r
	}
	r.Header = make(http.Header)
	for rest := k.header; rest != ""; {
		var name, value string
		name, rest, _ = strings.Cut(rest, "\x00")
		value, rest, _ = strings.Cut(rest, "\x00")
		r.Header[name] = append(r.Header[name], value)
	}
	return r
}

// context returns the request's context. It never ends, unless the keptRequest is whole.
func (k keptRequest) context() context.Context { return k.bare.Context() }

// visitor returns the visitor who opened the stream.
func (k keptRequest) visitor() presence.Visitor { return visitorOf(k.bare) }
