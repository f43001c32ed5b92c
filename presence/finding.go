package presence

import "time"

// A Finding is a mistake in how a site is wired, such as a CSRF check before the beats.
// Requests repeat the mistake until somebody changes the site. The packages
// middleware/core and handlers report findings with track.Tracker.Found, and
// track.Staff.Diagnose lists them.
type Finding uint8

// The findings. Text says what each means, and its cure.
const (
	NoMiddleware     Finding = iota // a stream's request has not passed the middleware
	AnswersCollected                // a middleware buffers responses, so streams do not flow
	WrongPrefix                     // the handler is asked for paths outside its prefix
	BeatsRefused                    // something before the handler refuses the pages' beats
	UnnamedProxy                    // guests share the address of a proxy
	TopicRefused                    // a page shows a topic that its visitor may not see
	NotReached                      // a request for a presence endpoint does not reach the handler
	NoScript                        // a browser asks for the script of a page, and the handler has none
	NoUser                          // nobody who looked at a page was signed in
	NoConnContext                   // net/http does not tell a stream its connection
	GuestsRefused                   // too many new guests come from one address
	LoginWall                       // a request for a presence endpoint does not reach the middleware
	NoJobs                          // no node removes the users who vanished
	NoKeeper                        // a part of the site has no feed.Keeper, and another one has
	NoRelay                         // messages wait in the outbox, and no node moves them
	OtherSecret                     // another node of the fleet has another secret
	OtherSettings                   // another node of the fleet has another prefix or other times
	OtherFleet                      // a page comes from a tracker that has another store
	UnknownIDs                      // none of the dots was of a user who is online
	PassedTwice                     // a request passes the middleware twice
	NotLive                         // browsers got pages with the widget, and none asked for a stream
	NoTimeouts                      // the server waits for ever for the header of a request
	NumFindings
)

var findingTexts = [NumFindings]struct{ name, text string }{
	NoMiddleware: {"no-middleware", "A stream was asked for that had not passed the presence middleware, " +
		"so its visitor counts as nobody. Put the middleware before the presence endpoints too: " +
		"mount both on the group that has the site's sessions, and name that group to middleware.Presence, with Config.Prefix below its path."},
	AnswersCollected: {"answers-collected", "Streams cannot flow. A middleware before the presence endpoints collects answers, " +
		"such as a timeout, or wraps the http.ResponseWriter without a method Unwrap, such as an old logger or gzip. Mount the endpoints outside of it, or give it a Skipper that lets the paths under Config.Prefix pass."},
	WrongPrefix: {"wrong-prefix", "The presence handler was asked for a path outside of its prefix. " +
		"Mount it under Config.Prefix, without http.StripPrefix."},
	BeatsRefused: {"beats-refused", "Pages cannot send their beats: something before the presence endpoints refuses or redirects POST requests, " +
		"such as a CSRF check. Exempt the endpoints from it, since they check the origin themselves. " +
		"Until then the connection alone holds a user online."},
	UnnamedProxy: {"unnamed-proxy", "Guests come through a proxy, and all share its address and its limits: ClientIP is not set, or returns nothing. " +
		"Set Config.ClientIP, such as to handlers.ForwardedFor()."},
	TopicRefused: {"topic-refused", "A page shows a topic that its visitor may not follow, so its list is not live. " +
		"Set Config.Authorize to allow the topic, or do not show it to this visitor. " +
		"Without Authorize visitors may see the topic site alone."},
	NotReached: {"not-reached", "A request for a presence endpoint has passed the middleware, and the handler did not get it. " +
		"Mount the handler under Config.Prefix. If it is mounted there, something between the two answers in its place, " +
		"such as a CSRF check: let it pass these paths."},
	NoScript: {"no-script", "A browser asked for the script or the style of a page, and the presence handler has none. " +
		"Set handlers.Config.Widget to widgets.Handler(), where widgets is what templates.New returned."},
	NoUser: {"no-user", "No visitor so far was a signed-in user. If somebody was signed in, presence stands before your sessions, " +
		"or identify does not find what they have found: mount presence inside of the sessions."},
	NoConnContext: {"no-conn-context", "A stream over TLS or HTTP/2 does not know its connection, so a client that stops reading " +
		"keeps megabytes of memory of the kernel. Give the http.Server that you start to site.Attach, or set its ConnContext to handlers.ConnContext."},
	GuestsRefused: {"guests-refused", "New guests are not counted, because their address has brought too many. " +
		"If it is the address of a proxy, set Config.ClientIP, such as to handlers.ForwardedFor(). " +
		"Otherwise a program at that address may be making up guests."},
	LoginWall: {"login-wall", "A request for a presence endpoint was answered before it reached the presence middleware. " +
		"A redirect, or a status 401 or 403, is that of a login wall, or of a middleware that adds slashes to paths: let the paths under Config.Prefix pass it. The endpoints tell guests nothing that Authorize does not allow, " +
		"and a page whose session has ended asks there what it may show. " +
		"A status 404 is that of a handler without presence, such as without site.Wrap, or of a router that has it in a group of other paths: mount it at the root, or set Config.Prefix to a path in the group. " +
		"A status 429 is that of a limiter: a page asks for several of these paths as it loads, so let it count them apart."},
	NoJobs: {"no-jobs", "No node has swept for a minute, so users who close their pages stay online. " +
		"Call jobs.Start, or call jobs.Sweep from a cron of your own, at least once a minute."},
	NoKeeper: {"no-keeper", "A page shows an inbox or a room, and a part of the site has no Keeper. " +
		"Set Feeds of templates.Config, handlers.Config and jobs.Config to the same feed.Keeper."},
	NoRelay: {"no-relay", "Messages wait in the outbox, and no node moves them. " +
		"Set jobs.Config.Feeds to the feed.Keeper, or call its Relay once a second."},
	OtherSecret: {"other-secret", "Another node of the fleet has another secret, so each refuses what the other has signed: beats, streams and guests' cookies. " +
		"Give all nodes the same Config.Secret, or none of them one."},
	OtherSettings: {"other-settings", "Another node of the fleet has other settings, and the log names them. " +
		"With another Prefix, pages that one node renders get 404 from the other. " +
		"With another TTL, NodeTTL, Grace or Age, how long a user stays online depends on the node. " +
		"Give all nodes the same settings."},
	OtherFleet: {"other-fleet", "A page beats here whose stream another tracker opened, which runs at the same time as this one " +
		"and does not share its store. Their users do not see each other. Make one tracker for all listeners of a process, " +
		"and give all nodes the same store, with the same prefix."},
	UnknownIDs: {"unknown-ids", "None of the first 100 dots was of a user who is online, though others were. " +
		"If one of these users was online, give onlineDot, lastSeen and person the ids that identify returns."},
	PassedTwice: {"passed-twice", "A request passes presence twice, such as by Wrap around a router and again by a middleware of the router, or by one middleware that is used twice. " +
		"The inner one counts. Remove the outer one: presence stands once."},
	NotLive: {"not-live", "Browsers got pages with the widget, and for a minute none of them asked for a stream. Lists on these pages are right when they load, and never change. " +
		"If heads is 0 in the log, the template lacks presenceHead. " +
		"If script is false, browsers did not find the script under the prefix, such as where presence is in a group of the router: mount it at the root, or set Prefix to a path in the group. " +
		"A proxy may take a part off the path: set BasePath to that part. " +
		"Or a Content-Security-Policy blocks it: the browser's console says so, and presenceHead takes a nonce. " +
		"If script is true, something answers streams before presence does, such as a redirect that adds a slash to each path."},
	NoTimeouts: {"no-timeouts", "The http.Server has neither ReadHeaderTimeout nor ReadTimeout, so a client that sends a request byte by byte holds a connection for ever. " +
		"Give the server that you start to site.Attach, or set its ReadHeaderTimeout, such as to 10 s, and its IdleTimeout."},
}

// Findings returns all findings, in the order of their constants.
func Findings() []Finding {
	all := make([]Finding, NumFindings)
	for i := range all {
		all[i] = Finding(i)
	}
	return all
}

// String returns the name of f, such as "no-middleware". It is the same in each version.
func (f Finding) String() string { return findingTexts[f].name }

// Text returns what is wrong, and the cure, in a few sentences.
func (f Finding) Text() string { return findingTexts[f].text }

// A Diagnosis says how often something was found since the Tracker began. [BeatsRefused], [TopicRefused] and
// [OtherFleet] are reported by clients, and any client can claim them.
type Diagnosis struct {
	Finding Finding
	Times   uint64
	Last    time.Time
}
