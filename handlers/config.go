package handlers

import (
	"cmp"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// MaxLimit is the most users that one state or one page of the roster holds.
const MaxLimit = 1000

// Config is how a [Handler] serves. The zero value is usable: each field's
// default stands at it. There is no invalid Config.
type Config struct {
	// Prefix is the path under which the site mounts the handler; "/" is the
	// root. Default: "/presence".
	Prefix string

	// Authorize reports whether a visitor may see a topic. It is asked for each
	// topic of a request before anything is recorded, and of a stream again once
	// a heartbeat, so it should be cheap; it may be called concurrently. Where it
	// says no, the answer is the same whether the topic exists or not.
	// Default: everybody may see [presence.Site], and nobody anything else.
	Authorize func(r *http.Request, v presence.Visitor, t presence.Topic) bool

	// Widget serves widget and assets/…, with Prefix taken off the path.
	// Default: none; these paths are not found.
	Widget http.Handler

	// CrossOrigin says which pages of other origins may change a status or hold
	// a stream. Give one with trusted origins where the site has several.
	// Default: none may.
	CrossOrigin *http.CrossOriginProtection

	// Limit is how many users a state and a page of the roster hold where the
	// request does not say. Default: 100; at most MaxLimit.
	Limit int

	// MaxAge is how long a stream lives, give or take a tenth, so that identity
	// and rights are checked again. Default: 15 min; negative: for ever.
	MaxAge time.Duration

	// WriteDeadline is how long one write to a stream may take before its
	// reader is given up. Default: 10 s; negative: for ever.
	WriteDeadline time.Duration

	// MaxBody is the size of the largest request body and of the largest message
	// over a WebSocket that are read, in bytes. Default: 4 KiB; negative: any.
	MaxBody int64

	// Rate is how many messages a WebSocket, and how many PUT and POST requests a
	// visitor may send within a second. Default: 20; negative: any number.
	Rate int

	// ConnectionsPerAddress is how many connections the guests at one address may
	// have open here: those of users are counted by
	// [presence.Config.ConnectionsPerUser]. Addresses of IPv6 count by their
	// network of 64 bits. Default: 256; negative: any number.
	ConnectionsPerAddress int

	// ClientIP returns the address of who sent a request; it may be called
	// concurrently. Behind a proxy the default is the proxy's address, which all
	// guests then share: take the one that the proxy names, and only if it is
	// yours. An Echo site gives the extractor that it has for this, such as
	// echo.ExtractIPFromXFFHeader().
	// Default: the other end of the connection, by RemoteAddr.
	ClientIP func(r *http.Request) string
}

func (c Config) withDefaults() Config {
	c.Prefix = strings.TrimSuffix(path.Clean("/"+cmp.Or(c.Prefix, "/presence")), "/")
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
	c.MaxAge = cmp.Or(c.MaxAge, 15*time.Minute)
	c.WriteDeadline = cmp.Or(c.WriteDeadline, 10*time.Second)
	c.Rate = cmp.Or(c.Rate, 20)
	c.ConnectionsPerAddress = cmp.Or(c.ConnectionsPerAddress, 256)
	if c.ClientIP == nil {
		c.ClientIP = remoteIP
	}
	c.MaxBody = cmp.Or(c.MaxBody, 4<<10)
	return c
}

func onlySite(_ *http.Request, _ presence.Visitor, t presence.Topic) bool {
	return t == presence.Site
}
