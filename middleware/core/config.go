package core

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/track"
)

// Config configures a middleware for a framework whose handlers are given a C: the
// request itself, or the framework's context. Identify is required; every other field
// states its default.
type Config[C any] struct {
	// Tracker records the page views. Its Config holds the Prefix of the presence
	// endpoints and the logger. Without a Tracker, visitors are identified and
	// nothing is recorded; the prefix is "/presence".
	Tracker *track.Tracker

	// Identify returns the visitor of a request: a user of the site and true, or false
	// for a guest. It is called once for each request, so it should only read what the
	// site's session middleware has found already. It may be called concurrently.
	//
	// If it panics, or returns a user that [presence.User.Validate] refuses, the visitor
	// counts as a guest. Each of these faults is logged at most once a minute.
	// It is required.
	Identify func(C) (presence.User, bool)

	// Tenant returns the tenant whose site a request is for, where several sites share one
	// process or one store: see [presence.ValidTenant]. It must come from what the client
	// cannot choose among the tenants of others, such as a host name that the site knows. It is
	// called once for each request, also of guests and of those that Skipper skips, before
	// Identify, and may be called concurrently.
	//
	// If it panics, or returns a tenant that is not valid, the visitor is a guest of
	// [presence.NoTenant], who sees nothing and is not counted. Each of these faults is logged
	// at most once a minute.
	// Default: all requests are for one site, the empty tenant.
	Tenant func(C) string

	// Skipper returns true for requests that the middleware ignores: their visitor is
	// not identified, and handlers and templates see a guest. Default: it ignores none.
	Skipper func(C) bool

	// ClientIP returns the address of the client that sent a request. Give the same
	// function as for handlers.Config.ClientIP. Crawlers are told apart by their addresses.
	// On each node one address brings 256 new guests into the count at once, and as many
	// within the tracker's Age in the long run. An IPv6 address counts by its network of 64
	// bits. ClientIP may be called concurrently. If it panics or returns nothing, the default counts.
	// Default: the address of the other end of the connection. Guests from a private
	// network are then not bounded, because they may share the address of a proxy. Guests
	// behind a proxy with a public address share one bound.
	ClientIP func(r *http.Request) string

	// Session returns the public id of the site's session of a request: what the site can
	// end it by, and never the token that opens it. It is shown to the user and kept in the
	// store. If a token is all that there is, return a hash of it. The id follows the rules
	// of [presence.DeviceID]. Empty: the request has no session. It is called once for each
	// request of a signed-in user, so it should only read what the site's session middleware
	// has found already. It may be called concurrently.
	//
	// If it panics, or returns an id that is not valid, the default counts for the request.
	// Each of these faults is logged at most once a minute. It is called only if the tracker
	// has a Directory.
	// Default: a hash of the throttle cookie's browser id and the user, made with the
	// fleet's secret.
	Session func(C) string

	// Consent reports whether the browser of a request may get cookies of presence. Until it
	// does, none is set. A guest then counts while a stream is open, and for the grace after it,
	// and nothing is kept of a page view. A signed-in user counts as ever: this process
	// remembers for the throttle time that the user was recorded. It is called once for each
	// request that is not skipped, before any cookie, and may be called concurrently. If it
	// panics there is no consent; that is logged at most once a minute.
	// Default: cookies are set. They name nobody, last as long as the browser's session, and a
	// site may hold that counting its own visitors needs no consent.
	Consent func(C) bool

	// Members is for a site where guests do not count: none gets a cookie of presence, and
	// nothing of a guest is recorded. Default: guests count.
	Members bool

	// Secret is the key of the hashes of a device's address and user agent, 16 to 64 bytes.
	// They tell a site which devices share them, and nobody without the key can undo them.
	// It counts only if the tracker has a Directory. Give each node the same.
	// Default: none; then nothing of an address or a user agent is kept, but the families of
	// browser and system.
	Secret []byte

	// Site is what [SiteFrom] returns for the requests that pass the middleware: rollcall.New sets
	// it. Default: nil.
	Site any

	// Topic is where page views are recorded. Default: presence.Site.
	Topic presence.Topic
	// CookieName is the name of the throttle cookie. The name of the status cookie is
	// CookieName and "_status". Default: "presence".
	CookieName string
	// Throttle is the least time between two recorded page views of a visitor: at least
	// 100 ms, and at most half the tracker's Age. Default: 1 min.
	Throttle time.Duration
}

// The bounds of Config.Secret, in bytes. They are those of track.Config.Secret.
const (
	minSecretLen = 16
	maxSecretLen = 64
)

func (c Config[C]) withDefaults() Config[C] {
	c.Topic = cmp.Or(c.Topic, presence.Site)
	c.CookieName = cmp.Or(c.CookieName, "presence")
	c.Throttle = cmp.Or(c.Throttle, time.Minute)
	return c
}

// validate returns every problem at once.
func (c Config[C]) validate() error {
	var errs []error
	bad := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("%w: "+format, append([]any{presence.ErrInvalidConfig}, args...)...))
	}
	if c.Identify == nil {
		bad("Identify is required")
	}
	if _, err := presence.ParseTopic(string(c.Topic)); err != nil {
		bad("Topic: %w", err)
	}
	if strings.Trim(c.CookieName, cookieNameBytes) != "" {
		bad("CookieName is %q, and must be of %s", c.CookieName, cookieNameBytes)
	}
	if n := len(c.Secret); n > 0 && (n < minSecretLen || n > maxSecretLen) {
		bad("Secret has %d bytes, and must have %d to %d", n, minSecretLen, maxSecretLen)
	}
	if c.Throttle < 100*time.Millisecond {
		bad("Throttle is %v, and must be at least 100ms", c.Throttle)
	}
	if c.Tracker != nil {
		if age := c.Tracker.Config().Age; c.Throttle > age/2 {
			bad("Throttle is %v, and must be at most half the tracker's Age of %v: "+
				"a visitor whose page views are recorded less often would leave and come back between two of them", c.Throttle, age)
		}
	}
	return errors.Join(errs...)
}

// cookieNameBytes are the bytes of a token (RFC 9110, section 5.6.2).
const cookieNameBytes = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789!#$%&'*+-.^_`|~"
