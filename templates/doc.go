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
//	{{recentlyActive "site"}}                       "Bob, 5 minutes ago"; users who are online come first
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
//	{{person .User.ID}}           the same for one user, without the name, for a profile
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
//	{{typing "thread:1"}}         who is typing; put it into the form in which the visitor types
//	{{editors "edit:1:3"}}        who else edits the same thing
//
// In conditions, and where no element is allowed, as in <title>:
//
//	{{if isOnline "alice"}}Say hello!{{end}}
//	{{if gt (onlineTotal "site") 9}}It is busy here.{{end}}
//	<title>{{onlineTotal "site"}} online</title>
//
// lastSeen and onlineCount render elements even if the answer is unknown, so they are always
// true in {{if}} and {{with}}. In an attribute, as in title="{{lastSeen .ID}}", html/template
// leaves only their text.
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
// A page takes what it shows from memory. If a topic or a time of last seen is not in memory, it
// waits for the store, at most 50 ms for the whole page. After that they are unknown
// on this page: a widget says so, a dot has the status "unknown", onlineCount says
// "–", onlineTotal is [Unknown], lastSeen is empty and isOnline is false. The topics are
// loaded meanwhile, for the next page.
//
// A template is executed into a buffer, and lastSeen leaves a marker in it. At the end of the page
// the store is asked for all users at once, up to 200 in a round trip, and the answers replace the
// markers. So templates need no prefetchSeen. The methods of a [Page] have no buffer: LastSeen asks
// for each user, unless [Page.PrefetchSeen] was called with all ids before.
//
// Times of last seen are kept for 30 s, for 4,096 users. On a site with a Directory they are kept
// for 1 s, since users may hide them there.
//
// onlineCount leaves a marker too, for a topic that the page does not show otherwise. So a list
// of a hundred threads costs one round trip, and loads no roster. onlineTotal must return a
// number at once, so it loads the roster of its topic. For a list, call prefetchCounts first,
// with all topics. Then onlineTotal loads no roster.
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
// logged. A guest has no contacts, devices or settings, and sees of a person what everybody
// may see. For persons a page waits at most 50 ms, the wait for the store included. After that
// they are offline. For the visitor's own contacts, devices and settings it waits at most
// half a second. After that they are "not known right now".
//
// The options of contacts, sessions and settings are pairs of a name and a value:
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
// {{contact .ID}} renders the buttons with which the visitor adds a user to the contacts, or
// blocks the user.
//
// The presence endpoints answer the forms, and redirect to the page that has the form. A site
// that answers forms itself sets their addresses: [Config].SettingsURL, ContactsURL and
// EndSessionURL. The form of settings has the fields status, text, for (seconds; empty: for good),
// online and seen. The form of contact has do, user and me. If a page answers a POST of
// settings, and the form of its request is parsed, it shows the values that the visitor has sent.
//
// With script, contacts and persons are live. They follow the topic people over the page's
// stream. A contact keeps the place in the list, so nothing moves. Without script a dot
// shows what everybody may know. With script, on the page of a user, it shows what this user
// may see.
//
// In the document contacts is a <presence-part class="presence-contacts"> with a data-live, as
// the widget has, and person is a <presence-part class="presence-profile">. Each person is a
// [data-person] with a data-status, which can be "offline". These elements fire presence:live,
// presence:state, presence:join and presence:leave with the topic "people". A device is a
// [data-session] with a data-kind.
//
// A site's own script can watch people too:
//
//	import { connect } from "/presence/assets/connect.js";
//	connect({ people: ["bob"] }).on("join", (id, { status, text }) => …);
//
// All tabs of a browser watch their people over one connection. Its address holds at most 60
// people. A longer list is the body of a POST, or a message over WebSocket. If the site refuses
// that POST, and over long polls, the connection watches only 60 people, and the console says
// so. The visitor's contacts are one parameter, however many they are.
//
// # Feeds
//
// bell, notifications and room need a [Config].Feeds, and render nothing without one. A guest
// has no bell and no notifications. For the number at the bell a page waits 50 ms, the wait for
// the store included. After that it shows the bell without a number. For the list it waits half
// a second. With script, a number or a list that was not known comes later, over the stream.
//
// The options of bell, notifications and room are pairs of a name and a value:
//
//   - "label", of bell and notifications: the name for screen readers
//   - "word", of bell: true shows its name beside the icon
//   - "popover", of bell: true adds an empty list. A click on the bell then opens the list, and
//     does not lead to the page of notifications
//   - "max", of notifications: how many are shown; 20, and at most 100
//   - "mute", of notifications, and of bell for its list: true adds a button that mutes an item's
//     About, or else its type
//   - "fields", of notifications, and of bell for its list: a template.HTML that each form gets,
//     such as the field of a CSRF token
//   - "error", of notifications: what was wrong with the form that the visitor has sent
//   - "template", of room: the id of a <template> in the page; required
//   - "list", of room: the id of the element that has the items. New items go to its end
//   - "about", of room: the About of notifications for these items. The page marks them as read
//     while the visitor is at the page. Default: the name of the room
//
// The presence endpoints answer the forms. A site that answers them itself sets
// [Config].MarkURL. The forms have these fields:
//
//	do=read, do=unread or do=archive    with pos, the place of an item (see feed.Mark)
//	do=read                             with upto, the newest place of the page: all up to there
//	do=mute                             with scope and how (see feed.Mute)
//
// All of them have me, the user for whom the page was rendered. Refuse the form if another user
// has signed in since, because it would mark places of that user's inbox. Also refuse an upto of 0.
// [Config].NotificationsURL is the page that has the list. Its link "Older" has the parameter
// before, the place below which the list begins.
//
// A room goes on where the page ends. The site reads the [feed.Head] of the room first, and its
// own items afterwards. It gives the head to room, so that the page does not miss an item that
// comes in between. The page does not show that item twice either, if each of its items has its
// ID in data-item. A site that could not read the head gives nil.
//
//	<div id="posts">{{range .Posts}}<article data-item="post-{{.N}}">…</article>{{end}}</div>
//	<template id="new-post"><article data-slot="id">
//	  <b data-slot="actor"></b> <a data-slot="link"><time data-slot="time"></time></a>
//	  <div data-slot="paragraphs"></div>
//	</article></template>
//	{{room "thread:1" .Head "list" "posts" "template" "new-post"}}
//
// The script copies the first element of the template for each new item, and fills the elements
// that have a data-slot. A data-slot has one or several of these words:
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
// [Texts].Actors can be the feed.Config.Actors of a site, in the language of the texts.
//
// # Typing and editors
//
// typing is a line that is always as high as its text, so nothing moves when somebody types. Without
// script it is empty, because a page that says "Bob is typing" would say so for ever. In a form it
// also sends signals. While the visitor types in the form, a signal says so, at most once in three
// seconds. Another signal ends this when the visitor leaves the form, sends it, rests for six
// seconds or leaves the page. handlers.Config.Whispers must allow the signal "typing" for the kind
// of the topic. Signals come only from visitors whom the topic's roster shows. The option is
//
//   - "input": a CSS selector of the form or field, if the line is not in that form
//
// The line names one or two people, and is "Several people are typing…" for more. It drops a user
// at most six seconds after the user's last signal, and when the user leaves the topic. Screen
// readers read it once in ten seconds at most.
//
// editors shows the roster of a topic for one thing that users edit. The element makes its page
// follow the topic, and no other page should follow it. Each other editor has a line with the time
// at which the editor came, and "away" after five minutes without input. The first to come is
// first. Without script the list is as old as the page. With script it is live, and says that nobody
// else edits while that is certain. While the stream is down or the store is out, it says that this
// is not known. The options are
//
//   - "label": the name for screen readers
//   - "revision": an integer of any type, the version that the page shows
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
// others edit, or "unknown". An editor is a [data-editor] with a data-status. The editor who came
// first has data-owner too; the visitor has no item, and so no data-owner. The element fires
// presence:join, presence:leave and presence:live, and presence:saved {topic, revision, name}.
//
// For streams of HTML, GET /widget?topic=…&form=typing is the line alone. Such a stream is the
// same for all of its readers, so it also names a reader who is typing.
//
// A site's own script can hear all signals of a topic, and send those that the site allows:
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
// and title. The latter two are empty unless the element shows a time. onlineCount renders
// <online-count> with the attributes topic and value, the number without grouping; value is
// empty if it is unknown.
//
// recentlyActive, mostOnline, where and the bots in a widget are <presence-part> elements.
// The script asks their src for new content once a minute, while the page is in view. It
// does not change a part while the visitor has the focus or a selection in it. Users have a
// data-group if they have a group. In parts a user has data-recent or data-person, and a
// place has data-place.
//
// An onlineCount of another topic than the site's has a src too. The page does not follow such
// a topic, because its visitor would be present there. If the page has a widget of
// the same topic, the count shows the widget's number. Otherwise the script asks for all
// such counts of the page once a minute.
//
// The first of these elements on a page has an attribute me, the id of the page's visitor,
// which is empty for a guest. When the visitor signs in or out, and htmx or Turbo then insert a
// new page, the script reads the attribute and goes on as that visitor. So the HTML of a page
// is for one visitor: do not show it to others.
//
// The list has the newest users first. It does not change while the pointer moves over it
// or the focus is in it, until both have rested for 30 s; the counts do change.
//
// A polite live region says which users came and went, once in ten seconds at most for
// all widgets of a page. After three seconds without a connection the widget shows the time
// of its list. If the store was out when the page was rendered, it shows this time at once,
// even without script.
//
// When the user of a page signs out, the page goes on as a guest's. When another user
// signs in after that, the page says that it must be loaded again, until it gets an
// element that was rendered for that user.
//
// All elements of a page share one stream. For dots of users who are not in the stream's
// rosters, the script asks the server, for up to 100 users in a request.
//
// The element fires events that bubble. Their detail is:
//
//   - presence:live {topic, live}
//   - presence:state, the data of a state event of the stream
//   - presence:join {topic, id, name, status, since, avatar, url, group, data}
//   - presence:leave {topic, id, name, last_seen}
//
// If the list is cut off, a user who is not in it can cause a join when only the user's profile
// changes.
//
// A topic over the roster limit has counts, but no joins and leaves. Its list is a sample.
// A page that is in view asks for a new sample every 10 to 15 s, and for its dots every 30
// to 45 s.
//
// # Deploys
//
// The script ignores events, fields and statuses that it does not know. Tabs with two
// versions of the script may be open at once: each version has its own connection. When a
// page asks a node of another version for its script, it gets the script of that node, and
// browsers do not cache it.
//
// A page says which version of the stream it speaks. If [Config].App and handlers.Config.App
// name the site's build, the script fires presence:outdated on document when the server has
// another build than the page, once a page and in every tab, with the detail {page, server}.
// While a deploy goes on, a page of the new build may also meet a node of the old build. The script
// never loads a page again by itself, because the visitor may be writing. If the server no longer
// speaks the page's version of the stream, the page shows Texts.Outdated, and fires the event with
// an empty server.
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
// Such a rule must name two classes, and stand in a style sheet after presenceHead. Rules for
// elements, such as ".panel ul" or "button", do not reach into the widget.
//
// The style follows prefers-reduced-motion and forced-colors. Statuses differ in shape as
// well as in colour.
package templates
