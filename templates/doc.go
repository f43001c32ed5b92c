// Package templates shows who is online on server-rendered pages. It has functions for
// html/template, the same functions for any other template language, and a script and a
// style that keep live what the functions rendered. A browser without script shows the page
// as it was at the moment of rendering.
//
// # In html/template
//
// Put {{presenceHead}} into the page's head, once. It links the style and the script.
//
//	<head>{{presenceHead}}</head>
//	<head>{{presenceHead .Nonce}}</head>    with a Content-Security-Policy that uses nonces
//
// Put {{whosOnline "site"}} where the list of users belongs:
//
//	<aside>{{whosOnline "site"}}</aside>
//	<aside>{{whosOnline .Topic "max" 12 "label" "Viewing this thread"}}</aside>
//	<aside>{{whosOnline "site" "form" "compact" "max" 20}}</aside>
//
// Beside a name, or in a sentence:
//
//	<b>Alice</b> {{onlineDot "alice"}}              a dot, kept live too
//	{{presenceAvatar .Author}} {{.Author.Name}}     the picture or the initials of a presence.User
//	Last seen: {{lastSeen "alice"}}                 "online now" or "12 minutes ago", kept live
//	{{onlineCount "site"}} members online           a number, kept live; "–" if it is unknown
//
// Users who were here lately, the record of users online, and where users are:
//
//	{{recentlyActive "site"}}                       "Bob, 5 minutes ago", who is online first
//	{{recentlyActive "site" "within" "24h" "max" 30}}
//	{{mostOnline "site"}}                           "Most users ever online: 132, 21 November 2026, 06:57 UTC"
//	{{where "max" 10}}                              the places with users, and their names
//	{{legend}}                                      the groups of Config.Groups
//	{{whosOnline "site" "about" true}}              beside each name the place, "since 12:36 UTC" and "active 3 minutes ago"
//
// The store keeps names, records and bots only of topics whose [presence.Kind] says so.
//
// On a site with a track.Config.Directory, as the page's visitor may see it:
//
//	{{contacts}}                  the visitor's contacts: dot, name, status, text, "last seen 2 hours ago"
//	{{person .User.ID}}           the same of one user, for a profile; without the name
//	{{sessions}}                  the visitor's devices, each with a form that ends its session if [Config].EndSessionURL is set
//	{{settings}}                  a form: status, text, until when, and who sees it
//
// On a site with a [Config].Feeds:
//
//	{{bell}}                      a link to the visitor's notifications, with the number of unread ones
//	{{notifications}}             the list of them, each with a form: mark as read, archive
//	{{room "thread:1" .Head "list" "posts" "template" "new-post"}}    new posts appear below those of the page
//
// On every site:
//
//	{{typing "thread:1"}}         who is typing; in a form, which says so of its visitor
//	{{editors "edit:1:3"}}        who else edits the same thing
//
// To decide something, and where no element may stand, as in <title>:
//
//	{{if isOnline "alice"}}Say hello!{{end}}
//	{{if gt (onlineTotal "site") 9}}It is busy here.{{end}}
//	<title>{{onlineTotal "site"}} online</title>
//
// lastSeen and onlineCount render elements also if the answer is unknown, so {{if}} and
// {{with}} find them true in any case. In an attribute, as in title="{{lastSeen .ID}}",
// html/template leaves only their text.
//
// {{presenceStyle}} links the style alone, for pages that htmx or Turbo keep live.
//
// Topics and user ids may be of any type: the functions take the text that fmt prints.
// The options of whosOnline are pairs of a name and a value:
//
//   - "max": how many users are shown by name; 0: counts only
//   - "form": "list", the default, or "compact": a row of 8 pictures, or of "max"
//     pictures, and the number of users
//   - "figures": which figures are shown, such as "online" or "online guests". Default:
//     online, guests and recent
//   - "label": the name of the widget for screen readers. Two widgets on a page should
//     have two names.
//   - "more": the address behind "and 60 more"
//   - "about": true shows beside each name where the user is, since when, and when the user
//     last viewed a page if the topic's Kind has Active or Recent
//
// The options of recentlyActive are
//
//   - "max": how many users are shown by name; 50, and never more than 100
//   - "within": "age", the default, are users who viewed a page in the current or the old
//     period; "24h" are users who were active within a day
//
// The option of where is "max": how many places are shown; 50. A count-only topic has counts
// and no names, whatever the options are.
//
// Nothing is inline, neither script nor style. The policy script-src 'self', style-src
// 'self' and connect-src 'self' is enough.
//
// # In any other template language
//
// The methods of a [Page] render the same: gomponents and templ take them as raw HTML, and
// fmt.Fprintf takes them as they are.
//
//	page := widgets.Page(r)
//	gomponents.Raw(string(page.WhosOnline(thread.Topic, "max", 12)))
//
//	presenceHead     [Page.Head]          lastSeen       [Page.LastSeen]
//	presenceStyle    [Page.Style]         prefetchSeen   [Page.PrefetchSeen]
//	whosOnline       [Page.WhosOnline]    onlineCount    [Page.Count]
//	onlineDot        [Page.Dot]           onlineTotal    [Page.Total]
//	presenceAvatar   [Page.Avatar]        isOnline       [Page.IsOnline]
//	recentlyActive   [Page.RecentlyActive] mostOnline    [Page.MostOnline]
//	where            [Page.Where]         legend         [Page.Legend]
//	prefetchCounts   [Page.PrefetchCounts] contacts      [Page.Contacts]
//	person           [Page.Person]        sessions       [Page.Sessions]
//	settings         [Page.Settings]      bell           [Page.Bell]
//	notifications    [Page.Notifications] room           [Page.Room]
//	typing           [Page.Typing]        editors        [Page.Editors]
//	contact          [Page.Contact]
//
// # Wiring
//
// Parse the templates with [Funcs], and give them to [New]; a site without html/template
// gives it nil. The [Widgets] that it returns have a Handler for Config.Widget of the
// package handlers, and execute the templates: with Echo by [RendererFor], without it by
// [Widgets.Execute]. The visitor comes from the request's context, where the package
// middleware puts it.
//
// # Time
//
// A page takes what it shows from memory. It waits for the store only for topics and for
// last seen that are not in memory, 50 ms for the whole page at most. After that they are
// unknown on this page: a widget says so, a dot has the status "unknown", onlineCount says
// "–", onlineTotal is [Unknown], lastSeen is empty and isOnline is false. The topics are
// loaded meanwhile, for the next page.
//
// A template is executed into a buffer, and lastSeen leaves a marker in it. At the end the
// store is asked for all users at once, up to 200 in a round trip, and the markers are
// replaced.
// A [Page] has no such end: its LastSeen asks for each user, unless [Page.PrefetchSeen] was
// called with all ids before. In templates prefetchSeen may be left out.
//
// When a user was last seen is remembered for 30 s, of 4,096 users; for 1 s where the site has a
// Directory, since users may hide it there.
//
// onlineCount works in the same way for topics that the page does not show otherwise: a list
// of a hundred threads costs one round trip, and loads no roster. onlineTotal must return a
// number at once, so it loads the roster of its topic. For a list call prefetchCounts first,
// with all topics; then onlineTotal loads none.
//
// # Places
//
// where and the option about show a topic only to visitors for whom [Config].Authorize
// returns true. [Config].Title returns the words for a topic, and [Config].Link its address.
// The site's own topic is no place, because everybody is in it. For each page Authorize is
// asked about at most 500 topics; further ones are not shown.
//
// # People
//
// contacts, person, sessions and settings show what the page's visitor may see. They need a
// track.Config.Directory. Without one they render nothing, and one line a minute is
// logged. A guest has no contacts, devices and settings, and sees of a person what everybody
// may. All questions to the Directory are part of the 50 ms that a page waits. After that
// contacts, devices and settings are "not known right now", and a person is offline.
//
// Their options are pairs of a name and a value:
//
//   - "max", of contacts: how many are shown, the dearest first; 100, and at most
//     presence.MaxWatched
//   - "label", of contacts, sessions and settings: the name for screen readers
//   - "fields", of sessions and settings: a template.HTML that each form gets, such as the
//     field of a CSRF token
//   - "error", of settings: what was wrong with the form that the visitor has sent
//
// Presence does not know the names of users who are offline: [Config].Users returns them.
//
// {{contact .ID}} renders the buttons with which the visitor lists a user, or blocks the user.
//
// The presence endpoints answer the forms, and lead back to the page that has the form. A site
// that answers them itself says where, by [Config].SettingsURL, ContactsURL and EndSessionURL. It
// gets the fields of settings (status, text, for (seconds; empty: for good), online and seen), and
// of contact (do, user and me). A page that answers such a POST, and whose request's form is
// parsed, shows the fields of settings as the visitor has sent them.
//
// With script contacts and persons are live: they share the page's stream, over which they
// follow the topic people. A contact keeps the place in the list, so nothing moves. A dot
// shows without script what everybody may know. With it, on the page of a user, it shows
// what this user may see.
//
// In the document contacts is a <presence-part class="presence-contacts"> with data-live as
// of the widget, and person a <presence-part class="presence-profile">. Each person is a
// [data-person] with a data-status, which can be "offline". They fire presence:live,
// presence:state, presence:join and presence:leave with the topic "people". A device is a
// [data-session] with a data-kind.
//
// A site's own script watches people too:
//
//	import { connect } from "/presence/assets/connect.js";
//	connect({ people: ["bob"] }).on("join", (id, { status, text }) => …);
//
// All tabs of a browser watch their people over one connection. At most 60 people are in
// its address. A longer list is the body of a POST, or a message over WebSocket. Where a
// site refuses that POST, and over long polls, the connection watches 60; the console says
// so. A list of contacts is one parameter, however long it is.
//
// # Feeds
//
// bell, notifications and room need a [Config].Feeds, and render nothing without one. A guest
// has no bell and no notifications. For the number at the bell a page waits 50 ms, together
// with what else it waits for, and then shows the bell without a number. For the list it waits
// half a second. What is not known has no cursor: with script it comes over the stream.
//
// Their options are pairs of a name and a value:
//
//   - "label", of bell and notifications: the name for screen readers
//   - "word", of bell: true shows its name beside the icon
//   - "popover", of bell: true adds an empty list, which the script opens in place of the page
//   - "max", of notifications: how many are shown; 20, and at most 100
//   - "mute", of notifications, and of bell for its list: true adds a button that mutes what an
//     item is about, or else its type
//   - "fields", of the same: a template.HTML that each form gets, such as the field of a CSRF
//     token
//   - "error", of notifications: what was wrong with the form that the visitor has sent
//   - "template", of room: the id of a <template> in the page; required
//   - "list", of room: the id of the element that has the items, to whose end new ones go
//   - "about", of room: what notifications of these items are about, which an attended page
//     marks as read. Default: the name of the room
//
// The presence endpoints answer the forms. A site that answers them itself says where, by
// [Config].MarkURL. They have these fields:
//
//	do=read, do=unread or do=archive    with pos, the place of an item (see feed.Mark)
//	do=read                             with upto, the newest place of the page: all up to there
//	do=mute                             with scope and how (see feed.Mute)
//
// All of them have me, the user whom the page was rendered for. Refuse the form if another user
// has signed in since: it would mark places of that user's inbox. Also refuse an upto of 0.
// [Config].NotificationsURL is the page that has the list.
// The parameter before of a page with notifications is the place below which the list begins;
// the link "Older" has it.
//
// A room goes on where the page ends. The site reads the [feed.Head] of the room first and its
// own items afterwards, and gives the head to room: an item that comes in between is then not
// missed, and not shown twice if each item of the page has its ID in data-item. nil is for a
// site that could not read the head.
//
//	<div id="posts">{{range .Posts}}<article data-item="post-{{.N}}">…</article>{{end}}</div>
//	<template id="new-post"><article data-slot="id">
//	  <b data-slot="actor"></b> <a data-slot="link"><time data-slot="time"></time></a>
//	  <div data-slot="paragraphs"></div>
//	</article></template>
//	{{room "thread:1" .Head "list" "posts" "template" "new-post"}}
//
// The script copies the first element of the template for each new item, and fills what has a
// data-slot, which may have several words:
//
//   - actor: the name of who did it
//   - text: the item's text, in one line; paragraphs: the same as <p> elements
//   - time: a <time> with the moment
//   - link: the href becomes the item's address, if that is by http, https or of this site
//   - id: the element gets the item's ID as its id
//
// In the document the bell is a <presence-bell> with data-unread and data-unseen, which are
// absent while the numbers are not known, and a cursor. An item is a [data-item] with data-pos,
// data-state, data-type and data-about. Each of the three is in a <presence-part> with the
// topic as its data-feed.
//
// [Texts].Actors is a feed.Config.Actors in the language of the texts.
//
// # Typing and editors
//
// typing is a line whose room is kept: nothing moves when somebody types. It is empty without
// script, because a page that says "Bob is typing" would say so for ever. In a form it also has
// the form say so of the page's visitor: at most once in three seconds while the visitor types,
// and that it is over when the visitor leaves the form, sends it, rests for six seconds or
// leaves the page. handlers.Config.Whispers must allow the signal "typing" for the kind of the
// topic. Only a visitor whom the topic's roster shows is heard. Its option is
//
//   - "input": a CSS selector of the form or field, where the line is not in that form
//
// The line names one or two people, and is "Several people are typing…" for more. A typist is
// off it when the signal is over, which is six seconds after the last one at most, and when the
// typist leaves the topic. Screen readers read it once in ten seconds at most.
//
// editors shows the roster of a topic that only pages follow on which something is edited. A
// page follows it by the element itself. Each other editor has a line, the first to come first,
// with the time of that, and "away" after five minutes without input. It is there without script
// too, as of the rendering. With script it is live, and says that nobody else edits while that
// is sure. While the stream is down or the store is out it says that this is not known. Its
// options are
//
//   - "label": the name for screen readers
//   - "revision": an int, the version that the page shows
//   - "saved": a template.HTML that says what to do when a newer version was saved. Default: a
//     text and a link that loads the page again
//
// When the site stores a newer version, it sends a signal, which the element shows as "Alice
// saved a newer version. Yours is older." A version that is not newer than "revision" is not
// shown. Nothing is locked: the site must refuse a form whose version is not the latest, because
// a signal may be lost.
//
//	tracker.Signal("edit:1:3", presence.Signal{Type: "saved", Data: json.RawMessage(`{"revision":4,"name":"Alice"}`)})
//
// In the document both are a <presence-part> with the topic as its data-feed. The line is a
// [data-typing]. The list of editors has data-live as the widget has, and data-editors: how many
// others edit, or "unknown". An editor is a [data-editor] with a data-status; the first of all,
// if that is not the visitor, has data-owner too. The element fires presence:join,
// presence:leave and presence:live, and presence:saved {topic, revision, name}.
//
// For streams of HTML GET /widget?topic=…&form=typing is the line alone. Such a stream is the
// same for all of its readers, so it names also the one who reads it.
//
// A site's own script hears all signals of a topic, and sends those that are allowed:
//
//	import { connect } from "/presence/assets/connect.js";
//	const p = connect({ topics: ["thread:1"] });
//	p.on("signal", ({ signals }) => …);
//	p.signal("thread:1", "typing", { for: 6 });
//
// # In the document
//
// The widget is an element <whos-online> with the attributes topic, src, cursor, max,
// lang, data-form and data-live. data-live is "off" as rendered; with script it is
// "connecting", "on" while changes arrive, and "off" while the connection is refused, or
// while the store is out and the list is the last that the server knew. It stays "off" for
// a topic that the visitor may not follow.
//
// Inside are [data-count=online], [data-count=guests] and [data-count=recent]: <data>
// elements whose value is the number without grouping. Each user is a [data-user] with a
// data-status, and with a data-json if the user has Data; so a large Data makes large
// pages. A dot is an <online-dot> with data-presence-dot and a data-status, which can also
// be "offline" or "unknown". lastSeen renders <last-seen> with data-presence-seen, datetime
// and title, both of which are empty unless it says a time. onlineCount renders
// <online-count> with the attributes topic and value, the number without grouping; value is
// empty if it is unknown.
//
// recentlyActive, mostOnline, where and the bots in a widget are <presence-part> elements.
// The script asks their src for new content once a minute, while the page is in view. It
// leaves a part alone while the visitor has the focus or a selection in it. Users have a
// data-group if they have a group. In parts a user has data-recent or data-person, and a
// place has data-place.
//
// An onlineCount of another topic than the site's has a src too, and the page does not
// follow the topic: that would make its visitor present there. If the page has a widget of
// the same topic, the count shows the widget's number. Otherwise the script asks for all
// such counts of the page once a minute.
//
// The first of these elements on a page has an attribute me, the id of the page's visitor,
// which is empty for a guest. When htmx or Turbo put a page into the document whose visitor
// has signed in or out meanwhile, the script goes on as that visitor. So the HTML of a page
// is for one visitor: do not keep it for others.
//
// The list has the newest users first. It does not change while the pointer moves over it
// or the focus is in it, until both have rested for 30 s; the counts do change.
//
// A polite live region says which users came and went, once in ten seconds at most for
// all widgets of a page. After three seconds without a connection the widget shows from
// when its list is. If the store was out when the page was rendered, it does so at once,
// and without script.
//
// When the user of a page signs out, the page goes on as a guest's. When another user
// signs in after that, the page says that it must be loaded again, until it gets an
// element that was rendered for that user.
//
// All elements of a page share one stream. Dots of users that are not in the stream's
// rosters are asked for together, 100 at a time.
//
// The element fires events that bubble. Their detail is:
//
//   - presence:live {topic, live}
//   - presence:state, the data of a state event of the stream
//   - presence:join {topic, id, name, status, since, avatar, url, data}
//   - presence:leave {topic, id, name, last_seen}
//
// A user who is not in the list, because it is cut off, can cause a join when only the
// profile changes.
//
// A topic over the roster limit has counts, but no joins and leaves. Its list is a sample.
// A page that is in view asks for a new sample every 10 to 15 s, and for its dots every 30
// to 45 s.
//
// # Deploys
//
// The script ignores events, fields and statuses that it does not know. Tabs with two
// versions of the script may be open at once: each version has its own connection. When a
// page asks a node of another version for its script, it gets the script of that node,
// which is not cached then.
//
// A page says which version of the stream it speaks. If [Config].App and handlers.Config.App
// name the site's build, the script fires presence:outdated on document when the server has
// another build than the page, once a page and in every tab, with the detail {page, server}.
// While a deploy goes on, a page of the new build may also meet a node of the old one. Nothing
// is loaded again by itself: somebody may be writing. A page whose version of the stream is not
// spoken any more says Texts.Outdated, and fires the event with an empty server.
//
// # In another language
//
// [Config].Texts has all words that visitors read. Texts.Lang decides which form goes with
// a number ("1 gość", "2 goście", "5 gości") and how digits are grouped, by the rules of
// CLDR, in Go as in the browser. The widget follows the direction of the page.
//
// # Looks
//
// The widget has the font and the colours of the page around it. Its greys are made of
// the text's colour, and its greens and reds depend on the page's color-scheme. Custom
// properties change them, on :root or on any element around the widget:
//
//	:root {
//	  --presence-online: #0a7;         the dots; also -away and -busy
//	  --presence-muted: #567;          secondary text
//	  --presence-chip: transparent;    the background of a user
//	  --presence-radius: 4px;          its corners
//	  --presence-gap: 2px 12px;        between users
//	  --presence-avatar: 2.5rem;       the size of a picture
//	  --presence-name-width: 9em;      longer names are cut off
//	}
//
// [Config].Groups has a colour for each group. The style sheet has it darker on a light page
// and lighter on a dark one, with a contrast of 4.5 to 1 or more on any background from
// white to #d8d8d8 and from black to #3c3c3c. The custom property --group replaces it on
// [data-group="staff"].
//
// Each part has a class: presence-counts, -figure, -live, -users, -user, -card, -avatar,
// -name, -status, -more, -empty, -unknown, -lost, presence-dot, presence-seen and
// presence-count; people.css, inbox.css and signals.css name
// those of people, feeds and signals. A plain column of names, without pictures, is
//
//	.presence .presence-users { display: block }
//	.presence .presence-avatar { display: none }
//	.presence .presence-card { background: none; padding: 0; padding-inline-start: 1.25rem }
//	.presence .presence-card::before { inset-inline-start: 0; inset-block-start: .4rem }
//
// Such a rule names two classes, in a style sheet after presenceHead. Rules for elements, such
// as ".panel ul" or "button", do not reach into the widget.
//
// The style follows prefers-reduced-motion and forced-colors. Statuses differ in shape as
// well as in colour.
package templates
