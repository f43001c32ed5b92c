// Package templates shows who is online on server-rendered pages: functions for
// html/template, and the script and style that keep live what they rendered.
// Without script the page is right for the moment in which it was rendered.
//
// # On a page
//
//	<head>{{presenceHead}}</head>           the style and the script, once a page
//	{{whosOnline "site"}}                   the widget: who is here, and how many
//	{{whosOnline .Topic "max" 12 "label" "Viewing this thread"}}
//	{{onlineDot .Author.ID}}                a dot beside a name, kept live too
//	{{if isOnline .Author.ID}}…{{end}}
//	{{lastSeen .Author.ID}}                 "online now", "12 minutes ago", or nothing
//	{{onlineCount "site"}} members online
//
// Topics and user ids may be of any type: what fmt prints is taken. The options
// of whosOnline come as pairs: "max", how many users are shown by name (0:
// counts only), and "label", what the list is called for who cannot see it.
// presenceHead takes the nonce of a Content-Security-Policy that wants one:
// {{presenceHead .Nonce}}. There is no inline script or style anywhere, so that
// script-src 'self', style-src 'self' and connect-src 'self' are enough.
//
// # Wiring
//
// Views are parsed with [Funcs], so that the functions have names, and rendered
// by [Renderer] with Echo or [Views] without it, so that they know the request.
// The visitor comes from the request's context, where the middleware put it.
// [Handler] serves the script, the style and the widget as a fragment; mount it
// through the package handlers, which checks who may see a topic.
//
// # In the document
//
// The widget is a <whos-online> element with the attributes topic, src, cursor,
// max and data-live. As rendered, that is "off": nothing promises more to a
// reader without script. It is "connecting", and "on" while changes arrive, and
// "off" again while the connection is refused, or while the store is out and
// the list is the last that was known. Inside it stand [data-count=online],
// [data-count=guests] and [data-count=recent], and one [data-user] with a
// data-status for each user. A dot is [data-presence-dot] with a data-status,
// which may be "offline" too, and "unknown".
//
// The element fires events that bubble, with what they tell in detail:
//
//   - presence:live {topic, live}
//   - presence:state, the data of a state event of the stream
//   - presence:join {topic, id, name, status, since, avatar, url, data}
//   - presence:leave {topic, id, name, last_seen}
//
// A user whom the list left out may come as a join when only the profile
// changed. All elements of a page share one stream.
//
// # Looks
//
// Colours are made from the page's own text colour, so that the widget follows
// a site's light and dark. The custom properties --presence-online,
// --presence-away, --presence-busy, --presence-muted, --presence-chip,
// --presence-radius, --presence-gap and --presence-name-width change it.
package templates
