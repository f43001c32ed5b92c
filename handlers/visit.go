package handlers

import (
	"context"
	"net/http"
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

func newVisit(r *http.Request) visit {
	bare := r.WithContext(context.WithoutCancel(r.Context()))
	bare.Header, bare.Body, bare.GetBody = nil, http.NoBody, nil
	var header strings.Builder
	for name, values := range r.Header {
		for _, value := range values {
			header.WriteString(name + "\x00" + value + "\x00")
		}
	}
	return visit{bare: bare, header: header.String()}
}

// request returns the request as it was, for once.
func (v visit) request() *http.Request {
	if v.whole {
		return v.bare
	}
	r := v.bare.WithContext(v.bare.Context())
	r.Header = make(http.Header)
	for rest := v.header; rest != ""; {
		var name, value string
		name, rest, _ = strings.Cut(rest, "\x00")
		value, rest, _ = strings.Cut(rest, "\x00")
		r.Header[name] = append(r.Header[name], value)
	}
	return r
}

// context returns the request's context, which has no end.
func (v visit) context() context.Context { return v.bare.Context() }
