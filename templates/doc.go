// Package templates shows who is online on server-rendered pages: functions for
// html/template, and the script and style that keep live what they rendered.
// Without script the page is right for the moment in which it was rendered.
//
// # On a page
//
//	<head>{{presenceHead}}</head>           the style and the script, once a page
//	{{whosOnline "site"}}                   the widget: who is here, and how many
//	{{whosOnline .Topic "max" 12 "label" "Viewing this thread"}}
//	{{whosOnline "site" "form" "compact" "max" 20}}
//	{{onlineDot .Author.ID}}                a dot beside a name, kept live too
//	{{presenceAvatar .Author}}              the picture or initials of a [presence.User]
//	{{if isOnline .Author.ID}}…{{end}}
//	{{lastSeen .Author.ID}}                 "online now", "12 minutes ago", or nothing
//	{{prefetchSeen .IDs}}                   before a list that calls lastSeen for each
//	{{onlineCount "site"}} members online   a [Count]: an en dash where it is unknown
//	{{presenceStyle}}                       the style alone, where htmx or Turbo keep it live
//
// Topics and user ids may be of any type: what fmt prints is taken. The options
// of whosOnline come as pairs:
//
//   - "max": how many users are shown by name; 0: counts only
//   - "form": "list", which is the default, or "compact": a row of pictures, 8 of
//     them unless a max is given too, and how many users there are
//   - "label": what the widget is called for who cannot see it. Two widgets of a
//     page should have two names.
//   - "more": where "and 60 more" leads
//
// presenceHead takes the nonce of a Content-Security-Policy that wants one:
// {{presenceHead .Nonce}}. There is no inline script or style anywhere, so that
// script-src 'self', style-src 'self' and connect-src 'self' are enough.
//
// # Time
//
// A page takes what it shows from memory. For topics and for last seen that are not
// there it waits for the store, 50 ms in all. What is not known then renders as
// unknown: a widget says so, a dot has the status "unknown", onlineCount is [Unknown],
// lastSeen is empty and isOnline is false. The topics are loaded meanwhile, for the next
// page. The users whom a page names in lastSeen are remembered, and asked for in one
// round trip when the same view is rendered for the same path again; prefetchSeen does
// that for the first time, too. It takes ids, or slices of them.
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
// max, lang, data-form and data-live. As rendered, the latter is "off": nothing
// promises more to a reader without script. It is "connecting", and "on" while
// changes arrive, and "off" again while the connection is refused, or while the store
// is out and the list is the last that was known. Inside it stand [data-count=online],
// [data-count=guests] and [data-count=recent], <data> elements whose value is the
// bare number, and one [data-user] with a data-status for each user, and a data-json
// for one who has Data: so a large Data makes large pages. A dot is
// [data-presence-dot] with a data-status, which may be "offline" too, and "unknown".
//
// The list is in the order of the roster, the newest first. It waits while the
// pointer moves over it or the focus is in it, for 30 s after the last sign of either;
// counts go on. A polite live region says who came and went, at most once in ten
// seconds for all widgets of a page. After three seconds without a connection the
// widget says from when its list is; at once, and without script, where the store was
// out when the page was rendered. A page whose user signs out goes on as a guest's;
// once somebody else signs in, it says that it must be loaded again. Dots beside names share all this: those of whom
// the stream does not tell are asked for together, 100 at a time.
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
// A topic over the roster limit tells figures only, so that nobody is seen to join or
// leave. Its list is then a sample, which a page that somebody looks at asks for every
// 10 to 15 s, and its dots are asked for every 30 to 45 s.
//
// # Deploys
//
// The script passes over events, fields and statuses that it does not know. Tabs of
// two versions of it may be open side by side. A page of one version that asks a node
// of another for its script gets that node's, which is not cached then.
//
// # In another language
//
// [Config].Texts has all words that visitors read. Its Lang decides which form goes with a
// number, "1 gość", "2 goście", "5 gości", and how digits are grouped, by CLDR's rules in
// Go as in the browser. The widget follows the direction of the page.
//
// # Looks
//
// The widget takes font and colours from the page around it: what is grey in it is
// made of the text's own colour, and the dots are other greens and reds where the
// page's color-scheme is dark. Custom properties change it, on :root or on any
// element around it:
//
//	:root {
//	  --presence-online: #0a7;         of the dots; and -away, -busy
//	  --presence-muted: #567;          of what is beside the point
//	  --presence-chip: transparent;    behind a user
//	  --presence-radius: 4px;          of what is behind a user
//	  --presence-gap: 2px 12px;        between users
//	  --presence-avatar: 2.5rem;       size of a picture
//	  --presence-name-width: 9em;      after which a name is cut off
//	}
//
// Everything stands in the page itself, with a class for each part: presence-counts,
// -figure, -live, -users, -user, -card, -avatar, -name, -status, -more, -empty,
// -unknown, -lost, presence-dot and presence-seen. A plain column of names, without
// pictures, is
//
//	whos-online .presence-users { display: block }
//	whos-online .presence-avatar { display: none }
//	whos-online .presence-card { background: none; padding: 0; padding-inline-start: 1.25rem }
//	whos-online .presence-card::before { inset-inline-start: 0; inset-block-start: .4rem }
//
// Motion ends where the visitor wants less of it, colours give way to those of
// forced-colors, and statuses differ in shape too.
package templates
