// Package handlers serves presence over HTTP: the roster, the live streams, a
// user's own status, and the widget's files. It is plain net/http: [New] makes
// one [http.Handler] that fits any framework and any router.
//
// All paths stand under Prefix of [track.Config]:
//
//	GET /roster?topic=site&limit=50&after=…   who is present, newest first, paged
//	GET /users?id=a&id=b                      whether these users are online
//	GET /recent?topic=site&within=24h         who was active lately, paged
//	GET /counts?topic=thread:1&topic=thread:2 figures of up to 100 topics
//	GET /where                                topics with people in them, the fullest first
//	GET /events?topic=site&topic=thread:42    the live stream, as Server-Sent Events
//	GET /events?topic=site&as=html            the same as HTML, for htmx and Turbo
//	GET /ws?topic=site                        the same over WebSocket
//	GET /poll?topic=site&cursor=…&wait=25     the same by long polling; POST as with events
//	POST /beat                                {"connection":"…"}: this page is alive
//	POST /leave                               {"connection":"…"}: this page closes
//	PUT /status                               {"status":"away"}: the visitor's own
//	POST /signal                              {"topic":"thread:1","type":"typing","for":6}
//	GET /widget?topic=site, /assets/…         passed on to Config.Widget
//
// and, on a site that has a Directory in [track.Config]:
//
//	GET /people?id=a&id=b                     how the visitor may see up to 100 users
//	POST /people                              up to 500, as a form in the body
//	GET /settings, PUT /settings              {"online":"contacts"}: the visitor's own
//	GET /sessions                             the visitor's own devices
//	DELETE /sessions/…                        ends the session of one of them
//	GET /events?topic=people&person=bob       the live stream of up to 60 people
//	POST /events?topic=people                 up to 500, as a form in the body
//
// and, on a site with [Config.Feeds]:
//
//	GET /events?topic=inbox                   the live stream of the visitor's own inbox
//	GET /events?topic=feed:thread:1           the same of a room, which is thread:1
//	GET /feed?topic=inbox&before=41&limit=20  a page of a feed
//	GET /feed?topic=inbox&cursor=…            what has changed since
//	GET /feed?topic=inbox&times=1             with when each item was seen and read
//	POST /feed/mark                           {"topic":"inbox","as":"read","pos":[41,42]}
//	GET /mutes, PUT /mutes                    {"scope":"about:thread:1","how":"all"}
//
// A request without a topic means "site". The visitor comes from [presence.VisitorFromContext];
// [Config.Authorize] decides whether the visitor may see a topic. All names in a request belong to the
// visitor's tenant ([presence.Visitor].Tenant): no request can reach another tenant. Errors are answered as
// problem details (RFC 9457), and never with the text of an internal error.
//
// # People
//
// Without a Directory none of this exists: the paths are 404, POST /events is 405, and
// "people" is a topic like any other. With one, people are for users who are signed in; a
// guest is answered 401.
//
// /people answers for each id what the visitor may know:
//
//	{"users":{"bob":{"online":true,"status":"busy","text":"in a call","on":["mobile"],"since":"…"},
//	          "eve":{"online":false,"last_seen":"…"},"who":{"online":false}}}
//
// A user who is unknown, hidden from the visitor or never seen is {"online":false}, and the handler does the
// same work for each of them. The entity tag is a hash of the answer, so equal answers have equal tags. A POST
// with If-None-Match is answered 304 too.
//
// With detail=1 an answer also has its source, and the user's profile:
//
//	{"users":{"bob":{"online":true,…,"source":"live","name":"Bob","avatar":"…","url":"…"},
//	          "eve":{"online":false,"last_seen":"…","source":"recent","name":"Eve"},
//	          "old":{"online":false,"last_seen":"…","source":"stored"},"who":{"online":false}}}
//
// The source is the roster (live), the site's names of users who left within a day (recent), or the Directory
// (stored): see [track.People.FindInDetail]. {"online":false} is the same as without detail, byte for byte. A
// form may name detail too.
//
// The topic people of /events, /ws and /poll has the people whom the connection watches: person=bob, at most
// 60 in a query, or list=contacts for the visitor's contacts. POST /events takes the same two parameters as a
// form in the body, which may have 192 KiB and 500 people, and topics and cursors too; its other parameters stay
// in the query. So does POST /poll.
// Over a WebSocket this message replaces the list:
//
//	{"type":"watch","users":["alice","bob"]}
//
// The message may have 64 KiB if its type comes first. A client may send five a second.
//
// PUT /settings replaces the fields that it names among status, text, for, until, online and seen. Status and
// text end after for seconds (0: never), or at until. An end belongs to the status and the text that came with
// it: a new status without an end has none, and an old text with an end is removed with the old status. An
// unknown word or field is answered 400 with its name, and nothing changes. While the Directory is
// unreachable, the answer is 503 and nothing changes. PUT /status takes text and for as well, and is the whole
// status: without them, the status has no text and no end.
//
// DELETE /sessions/… calls [Config.EndSession], and then ends the presence of the device. It
// answers 204 for any id of a valid form. If EndSession is not set it is 404. If the site
// cannot end its session, the answer is 503 and presence goes on.
//
// # Feeds
//
// Without [Config.Feeds] none of this exists: the paths are 404, and "inbox" is a topic like any other. With
// it, the topic inbox is always the visitor's own. No request can name the inbox of another user: inbox:… and
// feed:inbox:… are answered 400, and so is any feed:… that is no room. A guest has no inbox, and is answered
// 401. [Config.Authorize] decides who may read a room, guests included. It is asked about feed:thread:1.
//
// The events of a feed are state, diff and heartbeat:
//
//	{"topic":"inbox","cursor":"…","unread":3,"unseen":1,"items":[{"id":"…","pos":41,…}],"more":true}
//
// A state has the 20 newest items. A diff has prev, and the changed items as they are now. An item with
// "state":"archived" or "removed" is no longer in the list. The events of a room have no unread and no unseen.
// While the database of feeds is unreachable, the stream goes on for its other topics, and the heartbeat of a
// feed has "stale":true. A stream that is opened meanwhile gets such a heartbeat, and the state as soon as
// there is one.
//
// GET /feed answers with a page in the form of a state: the items below the place before, up to 100 of them
// (limit, default 20). With a cursor it answers with the changes since then in the form of a diff, or with the
// newest page if the changes do not reach back to the cursor. The cursor may come from any event or answer,
// and a stream can resume from the cursor of an answer. The entity tag is a hash of the answer. A stream of
// this feed on the same node may be some milliseconds ahead. With times=1 the items of an inbox have seen_at
// and read_at, if they were seen and read: see [feed.Item]. Seeing an item is not a change of the item, so the
// changes since a cursor do not include it.
//
// POST /feed/mark marks items of the visitor's inbox as read, unread or archived. It marks the items at up to
// 100 places (pos), all items about something (about), all items up to a place (upto), or those with both. A
// place is skipped if it has no item, or if its item has moved up since the page saw it.
// {"topic":"inbox","as":"seen"} changes no item, but afterwards no item is unseen; upto bounds it to the items
// that the page has shown. The answer is {"cursor":"…","unread":2,"unseen":0}. An upto of 0 is refused: a page
// without items has nothing to mark.
//
// PUT /mutes mutes everything (*), a type of messages (type:reply), or the messages about something
// (about:thread:1). If how is all, no item comes. If it is mail, items come but are in no digest. If it is
// empty, the mute is lifted. A mute with for ends after that many seconds.
//
// These bodies may have 4 KiB ([Config.MaxBody]). An unknown word or field is answered 400 with its name, and
// nothing changes. While the database is unreachable, the answer is 503 with Retry-After, and nothing changes.
// All of these requests take me=alice as streams do. A page that may stay open while another user signs in
// must send it: a place names another item in another inbox.
//
// # Topics without a roster
//
// people and inbox are each visitor's own: a signed-in visitor needs no right to them, and [Config.Authorize]
// is never asked about them. For a guest with partial=1 they are among the refused topics. Neither these
// topics nor rooms have a roster, and nobody is in them: a stream of them alone does not hold its user online.
// [Config.Enter] is not asked about them. /roster, /users, /recent, /widget and HTML streams answer 403 as for
// any forbidden topic, and /counts and /where leave them out.
//
// # Who was here, and where people are
//
// /recent has the users who viewed a page in the current or the old period (within=age, the
// default), or who were active within 24 hours (within=24h). It has names only if the
// topic's [presence.Kind] has Recent.
//
// With group=staff /roster and /recent list only the users of that group; total is still that of the whole
// topic. One request looks at 10,000 users of a roster at most, or asks the store ten times. So a page of a
// group may have fewer users than its limit, and still name a next page.
//
// /counts leaves out topics that the visitor may not see.
//
// /where has the topics with people in them that [Config.Authorize] allows, including the site's own topic.
// For each page it asks Authorize about at most 1,000 topics, the fullest first. A page has at most 100
// topics, with at most ten names each. The answer is about two seconds old.
//
// For a count-only topic /roster, /recent and /where have "names":false and no users.
//
// # Signals
//
// A signal is a short message to the present readers of a topic, which nobody stores: see [presence.Signal].
// The site sends its own by [track.Tracker.Signal]. Visitors may send those that [Config.Whispers] allows for
// the kind of the topic, by POST /signal, which is answered 204, or over a WebSocket:
//
//	{"type":"signal","topic":"thread:1","signal":"typing","for":6,"data":{"line":7}}
//
// for is how many seconds the signal stands: 0, or 1 to 30; a negative number ends it. A longer time than
// [Whisper] allows is shortened. data have at most 1 KiB. v is their version. Other fields are ignored,
// including from: the sender is always the visitor.
//
// The answer is 400 if a field breaks its bound or the site does not accept the data, 401 for a guest, 429
// over the rate, and 503 while the store is unreachable and nothing is known of the topic. The answer is 403,
// always with the same text, if there is no such topic, if the visitor may not see it, if it takes no such
// signal, and if its roster does not show the visitor: an invisible one, one who only watches, or one who is
// not there. An accepted signal may still be dropped.
//
// The event signal has all signals of 50 ms:
//
//	{"topic":"thread:1","signals":[{"type":"typing","v":1,"from":"bob","name":"Bob","for":6}]}
//
// It has no id, since no client resumes from a signal, and it does not replace a heartbeat. "for":-1 says that
// a signal has ended, by another signal or because its time is over. When a user leaves, that user's signals
// end too. A stream begins with the signals that stand, after the state. A long poll with a cursor returns at
// once only for a new signal. Signals that stood before come with its answer.
//
// # The right to enter
//
// [Config.Authorize] says who may see a topic. [Config.Enter] says who may also be in it. A
// visitor who may see a topic and not enter it gets its events, and is in no roster.
//
// # How a stream runs
//
// A stream is a state machine that decides what to write and when. A driver writes it. Over HTTP/1 on a plain
// TCP or Unix socket, on Linux, the connection is taken from net/http and driven by one of a few shards, which
// write without waiting. Such a stream has no goroutine, and its output does not pass through the writers of
// middleware. Elsewhere (HTTP/2, TLS, a wrapped connection, a writer that cannot be hijacked) the goroutine of
// the handler drives the stream. A server that is open to the internet and has such streams must set
// ConnContext to [ConnContext]; otherwise each client that stops reading pins megabytes of kernel memory.
//
// A stream ends when the client closes, when the tracker closes, when the user signs
// out, when the visitor may no longer see one of its topics, when the client does not
// read within [Config.WriteDeadline], and after [Config.MaxStreamAge]. The client then
// reconnects with the id of the last event, and gets what it missed. A client that
// closes its half of the connection has closed.
//
// [http.Server] does not know streams that were taken from it. So a site stops in three steps: it closes the
// tracker, which ends the streams; it calls [Handler.Wait], which waits until each client was told when to
// reconnect; and it shuts the server down.
//
// A long poll is a connection that lives until its answer. Between two polls the grace keeps the user online,
// so the grace must be longer than that gap. If a poll's context has a deadline, the poll answers before it.
//
// # What a page says in the query
//
// These parameters of /events, /ws and /poll are for the module's own script, and for the authors of other
// clients:
//
//   - beat=auto: the server decides how often the page beats. welcome says so: "beat":20, in seconds, or
//     "beat":0 over a WebSocket, whose client answers pings. See Handler.Beats for the cost of a beat. A
//     client that vanishes is gone a TTL after its last beat or answer. Even with 0 the page sends a beat
//     when its visitor goes away or comes back.
//   - beat=1: the page sends beats, one a heartbeat. Then only the beats hold its user, so that a sleeping
//     machine does not.
//   - nobeat=403: the page has sent a beat, and the answer was this status, from 100 to 599. Then its
//     connection holds the user without beats, even with beat=1.
//   - partial=1: topics that the visitor may not see are left out and named, as "refused":["staff"] in the
//     event welcome or in the answer to a poll. The request is answered 403 if no topic is left. Refused
//     topics count towards the connection's limit of topics, but the connection does not hold its user there,
//     and its token does not name them. Without partial=1 one such topic refuses the whole request. A topic
//     for which this node has no room is refused in the same way. A stream that loses a topic while it is
//     open ends with or without partial=1; when the client comes back, it gets the rest. An HTML stream
//     leaves out the widgets of refused topics.
//   - me=alice: the user whose page it is. If another user has signed in since, the answer
//     is 401. GET /feed, POST /feed/mark and /mutes take it too.
//   - observe=1: the stream does not hold its user. idle=1: nobody is at the page.
//     limit=20: how many users a state has.
//   - window=20, also=alice: see below.
//
// # Windows
//
// A page that shows 20 users sends window=20 (1 to 1,000), in place of limit. Its streams then have the first
// 20 users of each roster, the newest first, and of the others only the number:
//
//	state {"topic":"site","cursor":"…","total":132,…,"window":20,"order":["zoe","bob",…],"users":{…},"truncated":true}
//	diff  {"topic":"site","cursor":"…","prev":"…","total":133,"joins":{"dan":{…}},"leaves":{},"out":["carol"]}
//
// joins has the users who came into the window or look different, including users who move up because others
// leave. leaves has the users who left the topic. out has the users who are online and no longer in the
// window. So each diff leads exactly to the first 20 at its cursor. Users with equal since are ordered by id.
// While the topic has 20 users or fewer, each change comes at once. In a larger topic, a page gets events as
// often as 0.6 KB a second allow. It gets the newest roster at least every ten seconds, and a changed total
// every second as a heartbeat or count.
//
// also=alice names users who have a dot on the page: at most 60 in a query, and 500 as a form in the body of
// POST /events. If the roster shows them, they are in users wherever they stand, and each of their changes
// comes within half a second. Such a user who falls out of the window is in out, and stays in users.
//
// A cursor belongs to its window and its dots: with other ones the stream begins with a state. A page's own
// cursor ([track.View.PageCursor]) fits a window of as many users as the page lists.
//
// A page that is hidden says so: POST /beat with {"connection":"…","hidden":true}, or over a WebSocket
// {"type":"hidden","hidden":true}. While hidden it gets only a heartbeat a minute. After "hidden":false it
// gets one diff for each topic with all that it missed. This holds for streams without a window, too. With
// beat=auto a stream of Server-Sent Events sends a hidden page a comment whenever a beat is due, since
// browsers slow down the timers of such pages.
//
// # Versions
//
// A page may be open for days, through many deploys. /events, /ws, /poll and /feed take two parameters that
// say what the page can read:
//
//   - v=1: the highest version of the stream that the page supports. The default is 1. There is one version,
//     1, and welcome names it as "v":1; an answer to a poll without a version is of version 1. A WebSocket
//     may offer presence.v1 as subprotocol instead; with both, the lower one counts. Within a version, fields
//     and types of events are added, and none is renamed or changes its meaning, so a page ignores those that
//     it does not know. If the server supports none of the page's versions, the answer is 426 with Upgrade:
//     presence.v1. A value that is no number is answered 400.
//   - types=reply:1,badge:2: the versions of the site's own types that the page knows, at most 16 types in
//     256 bytes. If an item or a signal of one of these types has a higher v, [Config.Down] converts its data
//     to the page's v. If Down cannot do that, there are no data, and "refresh":true says that the page would
//     get them by reloading. The text and the URL of an item are there in any case. Types that are not listed
//     come unchanged.
//
// Welcome has more fields for a page that outlives a deploy: "speaks" lists the types of events in the
// version, and "app" is [Config.App], the site's build. Among polls, only the first answer has app.
//
// Each event is encoded once a transport, when a stream first reads it. Pages that send types share these
// bytes with other pages. If an event has something newer than they know, the pages with the same types share
// bytes of their own.
//
// # Mistakes of wiring
//
// The handler reports a [presence.Finding] to its tracker, which logs it once a minute, in
// these cases:
//
//   - NoMiddleware: the context of a request for a stream has no visitor.
//
//   - BeatsRefused: a page says nobeat.
//
//   - TopicRefused: a request with partial=1 names a topic that its visitor may not see. It is not reported
//     if the page's user has signed out since. If the visitor is a guest, and no user has made a request so
//     far, the finding is NoUser instead.
//
//   - NoKeeper: a request names an inbox or a room, and [Config.Feeds] is not set, while the
//     tracker has a Keeper.
//
//   - UnnamedProxy: the request of a guest comes from a loopback or private address, or by a
//     Unix socket, with X-Forwarded-For, Forwarded or X-Real-IP, and [Config.ClientIP] is not
//     set.
//
//   - AnswersCollected: a stream is refused with 500, because a writer around the answer holds it back: a
//     timeout middleware, or a writer without a method Unwrap. The attribute writer of the log line is its
//     type. Polls work there.
//
//   - WrongPrefix: the path of an endpoint is asked for under another prefix. If the
//     prefix is "/", no path is wrong.
//
//   - NoScript: a browser asks for the script or the style, and [Config.Widget] is not set.
//
// The texts of NoMiddleware, NoKeeper, TopicRefused, NoUser and UnnamedProxy also appear in "warnings", a list
// in the event welcome or in the answer to a poll, for the browser's console. If the visitor may see no topic,
// they are the detail of the answer 403. The texts are constants. BeatsRefused is not among them, since the
// page itself knows. Requests that a client makes up cost at most one line a minute.
//
// The handler cannot find every mistake. A compressor or proxy that accepts flushed bytes and holds them back
// looks like a client that reads. The module's script notices that no event comes, and tries another
// transport.
//
// # As HTML
//
// A page with htmx or Turbo needs no script of this module. With as=html, the stream of /events sends the
// widget, as /widget answers it, first and whenever the topic has changed, but at most once a second. Like the
// widget, it supports only topics with rosters. The parameters form and max, such as max=12, are passed on to
// the widget. Messages have no name: htmx 4 swaps them by itself, and htmx 2 by sse-swap="message". In a
// stream of several topics, each message is named after its topic. With as=turbo each message is a Turbo
// Stream that morphs the <whos-online> of its topic. With form=typing the stream sends who is typing, and
// again when that changes; no other form follows signals. A message is rendered once for a version of the
// topic and shared by all readers, so the widget is rendered as for an anonymous guest. Such a stream costs a
// goroutine.
//
// # Over WebSocket
//
// The client may send messages of the types heartbeat, status, signal, subscribe, unsubscribe, snapshot and
// watch, such as {"type":"heartbeat"}. If a page sends beats and subscribes or unsubscribes, it gets an event
// without an id:
//
//	{"event":"token","data":{"connection":"…"}}
//
// The token names the present topics of the connection. The page uses it instead of the one in welcome: a beat
// with the old token that reaches another node would renew only the old topics. A client gets at most one
// snapshot of a topic a second; all further requests within that second get one answer. If a message fails,
// the answer is an event error with a title and a detail.
//
// # The site's own code
//
// [Config.Authorize], [Config.Enter], [Config.ClientIP], [Config.Down], [Config.EndSession], [Config.Widget]
// and [Whisper].Data cannot harm the handler. A panic counts as a no, an empty address, a session that goes
// on, a missing widget, or refused data. It is counted, and logged at most once a minute with its stack. A
// call for an open stream has a deadline, after which the answer is no. A panic within a stream ends only that
// stream.
//
// # Limits
//
// A request over a limit is answered 429 with Retry-After, and the connection closes. Over HTTP/2 it closes
// after its open streams have ended. On a WebSocket the answer is an event error or a close frame with the
// reason:
//
//   - Requests of a visitor: [Config.MaxRate], over all endpoints but assets. Guests are
//     counted by the id of their browser and by their address.
//   - Statuses of a user: [Config.MaxRate] too, over all requests and sockets. Settings
//     that name no status, text or end have a larger burst, so that nobody waits to hide.
//   - Signals of a user: [Whisper].Rate, over all requests and sockets. Signals of several types share one
//     allowance.
//   - Forms of the site's own: [Handler.SetStatus], [Handler.ChangeSettings] and [Handler.Allow] count them
//     together with the requests and statuses above.
//   - Connections: by topics and by user in [track.Config]; by address of guests, and
//     all together, in [Config]. The last limit is answered by 503.
//   - Sizes: [Config.MaxBody] for bodies and messages (413, close code 1009); 192 KiB for a list of people in
//     a form, 64 KiB in a message; 16 KiB for the address and header of a stream's request, which the stream
//     keeps (431).
//
// The memory for counting is bounded too: of each rate, at most 10,000 users, 10,000 guests and 10,000 addresses
// have one of their own at a time. If all of these are in use, further ones share one rate.
//
// The server itself must limit what a client sends before a handler is called: set
// ReadHeaderTimeout (such as 10 s, against clients that send a header byte by byte),
// IdleTimeout, and MaxHeaderBytes. ReadTimeout bounds bodies too; without it a body may
// take 10 s. WriteTimeout bounds other answers: streams are exempt from both.
package handlers
