package templates

import (
	"html/template"
	"net/http"
	"strings"

	"github.com/rollcall-go/rollcall/presence"
)

// A Page renders the parts of one page, in any template language. [Widgets.Page] makes it:
//
//	page := widgets.Page(r)
//	gomponents.Raw(string(page.WhosOnline("site")))
//	@templ.Raw(page.WhosOnline("site"))
//	fmt.Fprintf(w, "<aside>%s</aside>", page.WhosOnline("site"))
//
// Its methods do what the template functions of the same names do, which the package's
// documentation describes. They return HTML that is to be written as it is. Topics and ids
// may be of any type: the methods take the text that fmt prints.
//
// The methods return no errors. An invalid topic or option is a mistake in the site's
// code: its element is left out of the page, and one line a minute is logged. If the store
// is slow or out, a page waits 50 ms for it in all. After that it shows that an answer is unknown.
//
// A Page belongs to one request. It shows each topic as it was when the page first asked
// for it. The first element that it renders names the visitor, so the HTML must not be
// shown to another visitor. Its methods must not be called concurrently.
type Page struct {
	visit
	rosters rosterElements
	marked  markedElements
	parts   partElements
	people  peopleElements
	feeds   feedElements
}

// Page returns the page of a request, whose context holds the visitor (see
// [presence.ContextWithVisitor]). It costs one allocation, and does not ask the store.
func (ws *Widgets) Page(r *http.Request) *Page {
	p := new(Page)
	p.init(ws.workshop)
	p.begin(r)
	return p
}

// init gives all elements of the page the same visit.
func (p *Page) init(ws *workshop) {
	v := &p.visit
	v.workshop, v.hangs = ws, &ws.hangs
	p.rosters.visit, p.rosters.parts = v, &p.parts
	p.marked.visit, p.parts.visit, p.people.visit, p.feeds.visit = v, v, v, v
}

func (p *Page) begin(r *http.Request) {
	p.request = r
	p.visitor = presence.VisitorFromContext(r.Context()).Inside()
	p.me = p.visitor.User.ID.Local()
}

// Head links the style and the script. Put it into the page's head, once. The nonce is for pages
// with a Content-Security-Policy that uses nonces: all links get it.
func (p *Page) Head(nonce ...string) template.HTML {
	return p.orNothing(p.rosters.head(strings.Join(nonce, "")))
}

// Style links the style alone, for pages that htmx or Turbo keep live. The nonce is as for
// [Page.Head].
func (p *Page) Style(nonce ...string) template.HTML {
	return p.orNothing(p.rosters.style(strings.Join(nonce, "")))
}

// WhosOnline renders the widget of a topic. The options are pairs of a name and a value:
// "max", "form", "figures", "label", "more" and "about".
func (p *Page) WhosOnline(topic any, options ...any) template.HTML {
	return p.orNothing(p.rosters.whosOnline(topic, options...))
}

// Dot renders the dot beside a user's name.
func (p *Page) Dot(id any) template.HTML { return p.orNothing(p.rosters.onlineDot(id)) }

// Avatar renders a user's picture, or the initials of the user's name.
func (p *Page) Avatar(user presence.User) template.HTML { return p.orNothing(p.workshop.avatar(user)) }

// LastSeen renders when a user was last seen: "online now", "12 minutes ago", or an empty
// element if that is unknown. Each user who is not in memory costs a round trip to the
// store. For a list of users call [Page.PrefetchSeen] first.
func (p *Page) LastSeen(id any) template.HTML { return p.orNothing(p.marked.lastSeen(id)) }

// PrefetchSeen loads when users were last seen, up to 200 users in one round trip. Each
// argument is one user's id or a slice of ids.
func (p *Page) PrefetchSeen(ids ...any) { p.orNothing("", p.marked.prefetch(ids)) }

// RecentlyActive renders who was active in a topic lately, and when. The options are pairs of
// a name and a value: "max" and "within".
func (p *Page) RecentlyActive(topic any, options ...any) template.HTML {
	return p.orNothing(p.parts.recentlyActive(topic, options...))
}

// MostOnline renders the most users who were ever online in a topic, and when.
func (p *Page) MostOnline(topic any) template.HTML { return p.orNothing(p.parts.mostOnline(topic)) }

// Where renders where in the site users are. It leaves out places that the visitor may not see.
// The option is "max".
func (p *Page) Where(options ...any) template.HTML { return p.orNothing(p.parts.where(options...)) }

// Legend renders the site's groups of users.
func (p *Page) Legend() template.HTML { return p.workshop.legend() }

// Contacts renders the visitor's contacts. The options are pairs of a name and a value: "max"
// and "label".
func (p *Page) Contacts(options ...any) template.HTML {
	return p.orNothing(p.people.contacts(options...))
}

// Person renders what the visitor may know of a user: a dot, the status, and when the user
// was last seen. It costs what [track.People.Find] costs.
func (p *Page) Person(id any) template.HTML { return p.orNothing(p.people.person(id)) }

// Contact renders the buttons with which the visitor adds a user to the contacts, or blocks the
// user.
func (p *Page) Contact(id any) template.HTML { return p.orNothing(p.people.contact(id)) }

// Sessions renders the devices from which the visitor is online. The options are pairs of a
// name and a value: "label", and "fields", a template.HTML of further fields for each form.
func (p *Page) Sessions(options ...any) template.HTML {
	return p.orNothing(p.people.sessions(options...))
}

// Settings renders the form with which the visitor chooses a status, and who sees it. The
// options are pairs of a name and a value: "label", "error", and "fields" as for [Page.Sessions].
func (p *Page) Settings(options ...any) template.HTML {
	return p.orNothing(p.people.settings(options...))
}

// Bell renders the link to the visitor's notifications, with the number of unread ones. The
// options are pairs of a name and a value: "label", "popover", "word", and "fields" and "mute" as for
// [Page.Notifications]. It costs nothing while a page of the visitor is open at this node, and
// otherwise one query.
func (p *Page) Bell(options ...any) template.HTML { return p.orNothing(p.feeds.bell(options...)) }

// Notifications renders the visitor's notifications. The options are pairs of a name and a
// value: "max", "label", "error", "mute", and "fields", a template.HTML of further fields for
// each form. Cost: one query.
func (p *Page) Notifications(options ...any) template.HTML {
	return p.orNothing(p.feeds.notifications(options...))
}

// Room renders the element that adds new items of a room to the page. head is the [feed.Head] of
// the room: read it before you read the items that the page shows. It is nil if it is not known.
// The options are pairs of a name and a value: "template", "list" and "about".
func (p *Page) Room(name, head any, options ...any) template.HTML {
	return p.orNothing(p.feeds.room(name, head, options...))
}

// Typing renders the line that says who is typing in a topic. The page also sends signals while its
// visitor types in the form around the element, or in the form or field that the option "input"
// selects. Options are pairs of a name and a value. Typing costs nothing.
func (p *Page) Typing(topic any, options ...any) template.HTML {
	return p.orNothing(p.rosters.typing(topic, options...))
}

// Editors renders the other users who edit the same thing: those in a topic that pages follow while
// they edit it. The options are pairs of a name and a value: "label", "revision" and "saved". It
// costs what [Page.WhosOnline] costs.
func (p *Page) Editors(topic any, options ...any) template.HTML {
	return p.orNothing(p.rosters.editors(topic, options...))
}

// PrefetchCounts loads how many users are online in topics. Topics that are not in memory take one
// round trip together, and Count and Total of them cost none afterwards. Each argument is a topic
// or a slice of topics.
func (p *Page) PrefetchCounts(topics ...any) { p.orNothing("", p.marked.prefetchCounts(topics)) }

// Count renders how many users are online in a topic, or "–" if that is unknown. For a list
// of topics call [Page.PrefetchCounts] first.
func (p *Page) Count(topic any) template.HTML { return p.orNothing(p.marked.onlineCount(topic)) }

// Total returns how many users are online in a topic, or [Unknown].
func (p *Page) Total(topic any) Count {
	n, err := p.marked.onlineTotal(topic)
	p.orNothing("", err)
	return n
}

// IsOnline reports whether a user is online. It returns false if that is unknown.
func (p *Page) IsOnline(id any) bool {
	online, err := p.rosters.isOnline(id)
	p.orNothing("", err)
	return online
}

// Funcs returns the template functions of this page, by the names of [Funcs], for an engine
// that clones html/template templates for each request:
//
//	t, err := parsed.Clone() // parsed with Funcs
//	err = t.Funcs(widgets.Page(r).Funcs()).ExecuteTemplate(w, name, data)
func (p *Page) Funcs() template.FuncMap { return p.funcs() }
