// Package handlers serves presence over HTTP: the roster, the live streams, a
// user's own status, and the widget's files. It is plain net/http: [New] makes
// one [http.Handler] that fits any framework and any router.
//
// All paths stand under Prefix of [presence.Config]:
//
//	GET /roster?topic=site&limit=50&after=…   who is present, newest first, paged
//	GET /users?id=a&id=b                      whether these users are online
//	GET /events?topic=site&topic=thread:42    the live stream, as Server-Sent Events
//	GET /events?topic=site&as=html            the same as HTML, for htmx and Turbo
//	GET /ws?topic=site                        the same over WebSocket
//	GET /poll?topic=site&cursor=…&wait=25     the same by long polling
//	POST /beat                                {"connection":"…"}: this page is alive
//	POST /leave                               {"connection":"…"}: this page goes
//	PUT /status                               {"status":"away"}: the visitor's own
//	GET /widget?topic=site, /assets/…         given on to Config.Widget
//
// A topic that the request does not name is "site". Who asks comes from
// [presence.VisitorFromContext]; whether the visitor may see a topic, from
// [Config.Authorize]. Errors are problem details (RFC 9457), and never hold the
// text of an internal error.
//
// # How a stream runs
//
// A stream is a state machine: it says what is to be written, and when it wants to
// be asked again. Over HTTP/1 on a plain TCP or Unix socket, on Linux, the
// connection is taken from net/http and driven by one of a few shards, which write
// without waiting to whoever has something: such a stream has no goroutine, and
// does not pass through the writers of middleware. Elsewhere (HTTP/2, TLS, a
// wrapped connection, a writer that cannot be hijacked) the handler's own
// goroutine drives it; a server that is open to the internet and has such streams
// sets ConnContext to [ConnContext], or who stops reading costs the kernel megabytes.
//
// A stream ends when the client goes, when the tracker closes, when the user signs
// out, when a right to one of its topics is gone, when what was written is not
// taken in time, and after [Config.MaxStreamAge]; the client then comes back with the id
// of the last event and gets what it missed. A client that closes its half of the
// connection has gone.
//
// [http.Server] does not know streams that were taken from it. A site that stops
// closes the tracker, which ends them; [Handler.Wait] waits until each was told when
// to come back; then the server is shut down.
//
// A long poll is no stream: each is a connection that lives until its answer, and
// between two the grace holds the user, so it wants a grace longer than that gap.
//
// # As HTML
//
// A page that has htmx or Turbo needs no script of ours: with as=html, the stream
// of /events brings the widget, as /widget answers it, at first and whenever the
// topic has changed, though at most once a second. Parameters that are none of the
// stream's, such as max=12, are the widget's, as far as [Config.WidgetParams] names
// them. Messages are unnamed, which htmx 4
// swaps by itself and htmx 2 by sse-swap="message"; of several topics, each is named
// after its own. With as=turbo each message is a Turbo Stream that morphs the
// <whos-online> of its topic. A message is rendered and encoded once a version of
// the topic, for all readers, so the widget is asked as by a guest. Such a stream
// costs a goroutine.
//
// # Over WebSocket
//
// The client may send {"type":"heartbeat"}, and status, subscribe, unsubscribe and
// snapshot. A page that said beat=1 and then subscribes or unsubscribes gets an event
// of its own, without an id:
//
//	{"event":"token","data":{"connection":"…"}}
//
// The token names the topics that the connection has now. The page uses it in the
// place of the one in welcome: a beat with the old token that reaches another node
// would renew the old topics alone. Snapshots of a topic come once a second; what is
// asked for meanwhile is one. A message that is not obeyed is answered by an event
// error with a title and a detail.
//
// # The site's own code
//
// [Config.Authorize], [Config.ClientIP] and [Config.Widget] are called in such a way
// that their faults stay theirs. A panic is a no, an empty address, or a widget that is
// missing; it is counted, and logged once a minute with its stack. A question for an
// open stream has a deadline, after which the answer is no. A panic within a stream of
// ours ends that stream and no other.
//
// # Limits
//
// Whoever is over a limit gets 429 with Retry-After, or on a WebSocket an event error
// or a close frame that says why:
//
//   - Requests of a visitor: [Config.MaxRate] and [Config.MaxReads], over all endpoints but
//     assets. Guests count by the id of their browser and by their address.
//   - Statuses of a user: [Config.MaxStatuses], over all requests and sockets.
//   - Forms of the site's own: [Handler.SetStatus] and [Handler.Allow] count them with
//     the two above.
//   - Connections: by topics and by user in [presence.Config], by address of guests and
//     all together in [Config]. The last is answered by 503.
//   - Sizes: bodies and messages by [Config.MaxBody] (413, close code 1009), and what a
//     stream keeps of its request, its address and header, by 16 KiB (431).
//
// What is counted for this is bounded too. Of each kind of visitor 10,000 have a rate
// of their own at a time; those who come while all of these are busy share one.
//
// What a client sends before a handler is called is the server's to bound: set
// ReadHeaderTimeout (such as 10 s, against clients that send a header byte by
// byte), IdleTimeout, and MaxHeaderBytes. ReadTimeout bounds bodies too; without it a
// body has 10 s. WriteTimeout bounds other answers: streams are exempt from both.
package handlers
