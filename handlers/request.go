package handlers

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// A visit is the request that opened a stream, kept for as long as that lives, so
// that the site can be asked about it again. It is small: it holds nothing of the
// connection, and its header, which in memory is many small things, as one.
type visit struct {
	bare   *http.Request // without header and body; its context does not end with the handler
	header string        // each name and value, with a zero byte behind
	whole  bool          // bare is the request itself, whose handler goes on
}

// maxVisit bounds what a stream keeps of its request, in bytes: its address and its
// header. A stream of an hour must not hold a megabyte that a client sent once.
const maxVisit = 16 << 10

// newVisit returns what a stream keeps of a request, or a problem where that is too
// much. Cursors do not count and are not kept: the stream has read them.
func newVisit(r *http.Request) (visit, error) {
	v := visit{header: visit{bare: r, whole: true}.headers()}
	bare := r.WithContext(context.WithoutCancel(r.Context()))
	bare.Header, bare.Body, bare.GetBody = nil, http.NoBody, nil
	if len(r.RequestURI)+len(v.header) > maxVisit {
		bare.URL = withoutCursors(r.URL)
		bare.RequestURI = bare.URL.RequestURI()
	}
	if len(r.Host)+len(bare.RequestURI)+len(v.header) > maxVisit {
		return v, newProblem(http.StatusRequestHeaderFieldsTooLarge, "The address and the header of the request are too large for a stream. Send fewer or smaller cookies.")
	}
	v.bare = bare
	return v, nil
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

// headers returns the header that the visit keeps, in one piece and in a fixed order.
// What differs with each connection of a browser is left out.
func (v visit) headers() string {
	if !v.whole {
		return v.header
	}
	var header strings.Builder
	for _, name := range slices.Sorted(maps.Keys(v.bare.Header)) {
		if name == "Last-Event-Id" || name == "Sec-Websocket-Key" {
			continue
		}
		for _, value := range v.bare.Header[name] {
			header.WriteString(name + "\x00" + value + "\x00")
		}
	}
	return header.String()
}

// request returns a copy of the request under a context. Whoever has it may keep it
// and change it.
func (v visit) request(ctx context.Context) *http.Request {
	r := v.bare.WithContext(ctx)
	if v.whole {
		r.Header = v.bare.Header.Clone()
		r.Body, r.GetBody = http.NoBody, nil
		return r
	}
	r.Header = make(http.Header)
	for rest := v.header; rest != ""; {
		var name, value string
		name, rest, _ = strings.Cut(rest, "\x00")
		value, rest, _ = strings.Cut(rest, "\x00")
		r.Header[name] = append(r.Header[name], value)
	}
	return r
}

// context returns the request's context, which has no end unless its handler goes on.
func (v visit) context() context.Context { return v.bare.Context() }
