package handlers

import (
	"cmp"
	"net/http"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// MaxLimit is the most users that one state or one page of the roster holds.
const MaxLimit = 1000

// Config is how a [Handler] serves. The zero value is usable: each field's
// default stands at it. There is no invalid Config.
type Config struct {
	// Authorize reports whether a visitor may see a topic. It is called for each
	// topic of a request before anything is recorded, and of an open stream again
	// once a heartbeat, so it should be cheap; it may be called concurrently. Where
	// it says no, the answer is the same whether the topic exists or not.
	//
	// For an open stream it is called after the handler has returned, in another
	// goroutine, with a copy of the request: what a framework pools, such as Echo's
	// context, must not be reached from it. At most 32 such calls run at a time, and
	// streams that ask the same share one. The request's context ends after 5 s, or
	// after a heartbeat if that is shorter, and not within a second. No answer until
	// then is a no, and so is a panic: the stream ends.
	// Default: everybody may see [presence.Site], and nobody anything else.
	Authorize func(r *http.Request, v presence.Visitor, t presence.Topic) bool

	// Widget serves widget and assets/…, with the prefix taken off the path.
	//
	// For streams as HTML its answer goes to all readers of a topic. So it is called
	// with a request that has nothing of a reader: no header, no Host, no RemoteAddr,
	// and a context of the handler's own, without the values of middleware, for the
	// empty visitor. That context ends after 5 s. A call that takes longer, or
	// panics, is left out of the stream; at most 16 run at a time.
	// Default: none; these paths are not found.
	Widget http.Handler

	// WidgetParams names the parameters that a stream as HTML gives on to the
	// Widget. A stream with any other parameter is refused, and one whose widget's
	// parameters have more than 256 bytes.
	// Default: form and max, which are those of package templates.
	WidgetParams []string

	// CrossOrigin says which pages of other origins may change a status or hold
	// a stream. Give one with trusted origins where the site has several.
	// Default: none may.
	CrossOrigin *http.CrossOriginProtection

	// Limit is how many users a state and a page of the roster hold where the
	// request does not say. Default: 100; at most MaxLimit.
	Limit int

	// MaxStreamAge is how long a stream lives, give or take a tenth, so that identity
	// and rights are checked again. Default: 15 min; negative: for ever.
	MaxStreamAge time.Duration

	// WriteDeadline is how long one write to a stream may take before its
	// reader is given up. Default: 10 s; negative: for ever.
	WriteDeadline time.Duration

	// MaxBody is the size of the largest request body and of the largest message
	// over a WebSocket that are read, in bytes. Default: 4 KiB; negative: any.
	MaxBody int64

	// MaxRate is how many messages a WebSocket, and how many PUT and POST requests a
	// visitor may send within a second. Guests count by their browser, and all
	// guests at one address may send four times as many.
	// Default: 20; negative: any number.
	MaxRate int

	// MaxReads is how many GET requests a visitor may send a second, in the long run:
	// four times as many may come at once. Guests count as for MaxRate. Requests for
	// assets do not count. Default: 50; negative: any number.
	MaxReads int

	// MaxStatuses is how often a second a user may change the own status, over all
	// requests and WebSockets: five times as many may come at once. The same status
	// again counts too. Default: 1; negative: any number.
	MaxStatuses int

	// SightingAge is how long the answer of the store is kept for requests of /users
	// for users who are not online. Default: 1 s; negative: it is not kept.
	SightingAge time.Duration

	// MaxConnections is how many streams and long polls may be open on this node, of
	// users and guests together. Beyond, the answer is 503 with Retry-After.
	// Default: 100,000; negative: any number.
	MaxConnections int

	// MaxConnectionsPerAddress is how many connections the guests at one address may
	// have open here: those of users are counted by
	// [presence.Config.MaxConnectionsPerUser]. Addresses of IPv6 count by their
	// network of 64 bits. Default: 256; negative: any number.
	MaxConnectionsPerAddress int

	// ClientIP returns the address of the client that sent a request; it may be
	// called concurrently. Behind a proxy the default is the proxy's address, which
	// all guests then share: return the address that the proxy names, and only if the
	// proxy is yours. An Echo site gives the extractor that it has for this, such as
	// echo.ExtractIPFromXFFHeader(). Requests for which it returns nothing, or
	// panics, count as if they came from one address.
	// Default: the other end of the connection, by RemoteAddr.
	ClientIP func(r *http.Request) string
}

// settings are a Config with its defaults, and what New has found out.
type settings struct {
	Config
	prefix       string // of the endpoints, without a slash at the end; "": the root
	hasAuthorize bool   // the site has set Authorize
	hasClientIP  bool   // the site has set ClientIP
}

func newSettings(cfg Config, prefix string) *settings {
	return &settings{cfg.withDefaults(), prefix, cfg.Authorize != nil, cfg.ClientIP != nil}
}

func (c Config) withDefaults() Config {
	if c.Authorize == nil {
		c.Authorize = onlySite
	}
	if c.CrossOrigin == nil {
		c.CrossOrigin = http.NewCrossOriginProtection()
	}
	if c.Limit <= 0 {
		c.Limit = 100
	}
	c.Limit = min(c.Limit, MaxLimit)
	c.MaxStreamAge = cmp.Or(c.MaxStreamAge, 15*time.Minute)
	c.WriteDeadline = cmp.Or(c.WriteDeadline, 10*time.Second)
	if c.WidgetParams == nil {
		c.WidgetParams = []string{"form", "max"}
	}
	c.MaxRate = cmp.Or(c.MaxRate, 20)
	c.MaxReads = cmp.Or(c.MaxReads, 50)
	c.MaxStatuses = cmp.Or(c.MaxStatuses, 1)
	c.SightingAge = cmp.Or(c.SightingAge, time.Second)
	c.MaxConnections = cmp.Or(c.MaxConnections, 100_000)
	c.MaxConnectionsPerAddress = cmp.Or(c.MaxConnectionsPerAddress, 256)
	if c.ClientIP == nil {
		c.ClientIP = remoteIP
	}
	c.MaxBody = cmp.Or(c.MaxBody, 4<<10)
	return c
}

func onlySite(_ *http.Request, _ presence.Visitor, t presence.Topic) bool {
	return t == presence.Site
}
