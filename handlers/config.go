package handlers

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed"
	"github.com/rollcall-go/rollcall/presence/track"
)

// maxLimit is the largest number of users in one state or one page of the roster.
const maxLimit = 1000

// Config configures a [Handler]. The zero value is usable; each field states its default.
// Every value of each field is valid.
type Config struct {
	// Authorize reports whether a visitor may see a topic. It is called for each topic of
	// a request before the visitor is recorded, and for each topic of an open stream once
	// a heartbeat, so it should be cheap. It may be called concurrently. If it returns
	// false, the answer is the same whether the topic exists or not.
	//
	// For an open stream it is called after the handler has returned, in another goroutine, with a copy of the
	// request. It must not use objects that a framework pools, such as Echo's context. At most 32 such calls
	// run at a time, and streams that ask the same question share one. The request's context ends after a
	// heartbeat, but not within 1 s and not later than 5 s. If there is a panic, or no answer by then, the
	// stream ends.
	// Default: all visitors may see [presence.Site], and no other topic.
	Authorize func(r *http.Request, v presence.Visitor, t presence.Topic) bool

	// Enter reports whether a visitor who may see a topic may also be in it. If Enter
	// returns false, the visitor's stream has the topic's events, and the visitor is not in
	// the topic's roster, count or number of guests, as with observe=1. Enter is called
	// once for each topic of a stream, after Authorize and under the same conditions, and
	// again when the client reconnects (MaxStreamAge). A panic counts as false. Enter does
	// not concern page views: see Skipper and Identify of the middleware.
	// Default: a visitor who may see a topic may enter it.
	Enter func(r *http.Request, v presence.Visitor, t presence.Topic) bool

	// Widget serves widget and assets/…, without the prefix in the path.
	//
	// All readers of an HTML stream's topic get the same answer. So for a stream, Widget gets a request
	// without header, Host and RemoteAddr, with the empty visitor, and with a context that lacks the values of
	// middleware and ends after 5 s. If Widget panics or takes longer, the stream leaves the widget out. At
	// most 16 such calls run at a time. A stream passes on the parameters form and max of package templates,
	// with 256 bytes at most. A stream with other parameters is refused.
	// Default: none; these paths are not found.
	Widget http.Handler

	// EndSession ends the site's own session of a user's device, whose id is the one in
	// [presence.Visitor].Device. DELETE /sessions/… and [Handler.EndSession] call it before they end the
	// presence. The id comes from the user's request, so it may belong to another user, or to no session any
	// more. EndSession must end nothing of another user, and return nil if there is nothing to end. After an
	// error, a panic or 5 s the presence is not ended, and the user is asked to try again. It may be called
	// concurrently.
	// Default: none; sessions are shown and cannot be ended. If presence alone ended, the page would say that
	// a session is over while the site still accepts it.
	EndSession func(ctx context.Context, user presence.UserID, device presence.DeviceID) error

	// Feeds keeps inboxes and rooms. With it, streams have the topic "inbox" of each signed-in visitor, and
	// the topics "feed:…". It also adds the endpoints feed, feed/mark and mutes. Authorize is asked about
	// rooms under their topic, such as "feed:thread:42".
	// Default: none; there are no feeds.
	Feeds *feed.Keeper

	// Contacts changes whom users list and block, for the forms of package templates. The People of package
	// sqlstore is one. Default: none; there is no such form.
	Contacts Contacts

	// FormFailed answers a form of package templates that failed: settings, contacts, notifications and
	// sessions. text says why, as an English sentence for the visitor.
	// Default: a page of that sentence, with a link back.
	FormFailed func(w http.ResponseWriter, r *http.Request, status int, text string)

	// Whispers says which signals visitors may send into which topics, such as that they are typing: by the
	// kind of the topic, and then by the type of the signal. Only users whom the topic's roster shows may send
	// one.
	// Default: none; POST /signal and the message signal are refused for every topic.
	Whispers map[string]map[string]Whisper

	// App names the site's build, such as "4.13.0". A page that was loaded from another build is told, and may
	// offer to reload: see presence:outdated in package templates.
	// Default: none; no page is told.
	App string

	// Down converts the data of an item or a signal for a page that knows only an older version of its type:
	// from the data's version to the page's. If ok is false, the page gets no data, and "refresh":true. Down
	// is called once for each event and version. It is not called for pages that do not say what they know
	// (the parameter types). It may be called concurrently. A panic, a call of more than 5 ms, and a result
	// that is no JSON of up to 16 KiB count as false. After a late answer Down is not called for a second.
	// Default: nothing can be converted.
	Down func(typ string, from, to int, data json.RawMessage) (converted json.RawMessage, ok bool)

	// CrossOrigin decides which pages of other origins may change a status or open a stream. A site with
	// several origins sets one that trusts them.
	// Default: no page of another origin.
	CrossOrigin *http.CrossOriginProtection

	// Limit is the number of users in a state, and in a page of the roster, if the
	// request has no parameter limit. Default: 100; at most 1,000.
	Limit int

	// MaxStreamAge is how long a stream lives, give or take a tenth. The client then
	// reconnects, and is identified again. Its token ends with it: another node refuses a
	// token that is older. Default: 15 min; negative: for ever.
	MaxStreamAge time.Duration

	// WriteDeadline is how long one write to a stream may take, and how long any other
	// answer. A client that takes longer is disconnected. A shorter WriteTimeout of the
	// server counts for other answers. Default: 10 s; negative: for ever.
	WriteDeadline time.Duration

	// MaxBody is the size of the largest request body, and of the largest message over a
	// WebSocket, in bytes. Default: 4 KiB; negative: any.
	MaxBody int64

	// MaxRate is how many PUT, POST and DELETE requests a visitor may send to this node within a second, and
	// how many messages over one WebSocket. Other limits grow with it. Those for reads (GET requests, without
	// assets) and for changes of the visitor's own status have a long-run rate and a burst:
	//
	//	MaxRate   reads a second, at once   statuses a second, at once
	//	20        50              200       1                  5
	//	40        100             400       2                  10
	//
	// A status may change once a second however low MaxRate is. The text beside it counts too. The setting of
	// who may see the user has the same long-run rate, and a burst four times as large. Statuses of a user
	// count over all requests and WebSockets. Requests that [Handler.Beats] serves have the limit of MaxRate for
	// each connection. If that is a connection of another node, they count with the user's other requests too.
	// A guest's that says hidden counts by its address.
	//
	// Guests are counted by their browser. All guests at one address may send four times as many; over all
	// tenants together 32 times.
	//
	// Reads are counted by what they cost. An answer that is in memory counts as one. Any other counts as one
	// more for each 20 topics about which Authorize is asked, 20 users or topics about whom the store is asked,
	// 60 users who are encoded anew, and 32 KiB that a client asked for. A visitor who has a read left gets the
	// whole answer, and waits the longer for the next one.
	//
	// Raise MaxRate if the metric presence_clients_limited_total grows while nobody floods the site, for
	// example because its pages ask for much.
	// Default: 20; negative: any number of all of these.
	MaxRate int

	// MaxConnections is how many streams and long polls of users and guests may be open
	// on this node. Further ones are answered 503 with Retry-After.
	// Default: 100,000; negative: any number.
	MaxConnections int

	// MaxConnectionsPerTenant is how many streams and long polls the visitors of one tenant may have open, so
	// that a loud tenant leaves room for the others. Further ones are answered like those over MaxConnections,
	// and [Stats].TenantFull counts them. A site without tenants has no such bound: the empty tenant is not
	// counted. A tenant with most of the site's visitors needs a larger bound.
	// Default: half of MaxConnections, at least 1; negative: any number.
	MaxConnectionsPerTenant int

	// MaxConnectionsPerAddress is how many connections the guests at one address may have open on this node,
	// in one tenant; over all tenants together eight times as many. IPv6 addresses count by their network of
	// 64 bits. The connections of users are limited by [track.Config.MaxConnectionsPerUser].
	// Default: 256; negative: any number.
	MaxConnectionsPerAddress int

	// ClientIP returns the address of the client that sent a request. It may be called
	// concurrently. All requests for which it returns "" or panics count as one address.
	//
	// Behind a proxy the default returns the proxy's address, which all guests then share. [ForwardedFor] is
	// for proxies that append to X-Forwarded-For. A function of your own must read a header that your proxy
	// sets on every request. If your proxy only passes the header through, a client can claim any address, and
	// so has no limit. The address may have a port, which is removed.
	// Default: the other end of the connection, by RemoteAddr.
	ClientIP func(r *http.Request) string

	// Tenant returns the tenant that a request is for, as Tenant of the middleware does. It is for
	// [Handler.Beats], which serves requests before the middleware. It may be called concurrently. After a
	// panic, and for an invalid name, the request is refused.
	// Default: Beats passes requests of tenants to the middleware.
	Tenant func(r *http.Request) string
}

// A Whisper has the rules for the signals of one type that visitors send. The zero Whisper accepts signals
// without data.
type Whisper struct {
	// For is the longest time that a signal may stand. A longer time is shortened to it.
	// Default: [presence.MaxSignalFor].
	For time.Duration

	// Rate is how many signals a visitor may send a second, over all requests and sockets. The burst is as
	// large. Signals of all types share one allowance. Default: 5; never more than 20.
	Rate int

	// Data returns an error for data that the site does not accept; its text is shown to the client, so it
	// should be a sentence. The data are JSON of at most 1 KiB. Data may be called concurrently. After a
	// panic, or after 5 s, the signal is refused. Default: there must be no data.
	Data func(data json.RawMessage) error
}

// settings are a Config with its defaults, and what New derived from it and the tracker.
type settings struct {
	Config
	prefix       string // of the endpoints, without a slash at the end; "": the root
	hasAuthorize bool   // the site has set Authorize
	hasClientIP  bool   // the site has set ClientIP
	people       bool   // the site has a track.Config.Directory
	rosterless   func(presence.Topic) bool
}

func newSettings(cfg Config, tracker *track.Tracker) *settings {
	of := tracker.Config()
	return &settings{cfg.withDefaults(), of.Prefix, cfg.Authorize != nil, cfg.ClientIP != nil, of.Directory != nil, tracker.Serves}
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
	c.Limit = min(c.Limit, maxLimit)
	c.MaxStreamAge = cmp.Or(c.MaxStreamAge, 15*time.Minute)
	c.WriteDeadline = cmp.Or(c.WriteDeadline, 10*time.Second)
	c.MaxRate = cmp.Or(c.MaxRate, 20)
	c.MaxConnections = cmp.Or(c.MaxConnections, 100_000)
	if c.MaxConnectionsPerTenant == 0 {
		if c.MaxConnectionsPerTenant = -1; c.MaxConnections > 0 {
			c.MaxConnectionsPerTenant = max(1, c.MaxConnections/shareOfTenant)
		}
	}
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
