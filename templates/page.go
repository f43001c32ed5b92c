package templates

import (
	"cmp"
	"context"
	"fmt"
	"html/template"
	"net/http"
	"strings"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/track"
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
// is slow or out, a page waits 50 ms for it in all, and then says that it does not know.
//
// A Page belongs to one request. It shows each topic as it was when the page first asked
// for it. The first element that it renders names the visitor, so the HTML must not be
// shown to another visitor. Its methods must not be called concurrently.
type Page struct {
	widgets *Widgets
	request *http.Request
	visitor presence.Visitor // by the names of inside
	topics  []knownTopic     // that this page has shown
	wait    patience
	ownWait patience        // for the visitor's own contacts, devices, settings and notifications
	first   []template.HTML // the start tags of the first elements of each kind
	markers *markers        // nil: the page is not in a buffer
	counts  map[presence.Topic]Count
	placed  map[presence.Topic]place
	people  []presence.Person // that this page has shown by person
	inbox   inbox             // of the visitor
}

// Page returns the page of a request, whose context holds the visitor (see
// [presence.ContextWithVisitor]). It costs one allocation, and does not ask the store.
func (ws *Widgets) Page(r *http.Request) *Page {
	p := &Page{widgets: ws}
	p.begin(r)
	return p
}

func (p *Page) begin(r *http.Request) {
	p.request = r
	p.visitor = presence.VisitorFromContext(r.Context()).Inside()
}

// Head links the style and the script. Put it into the page's head, once. The nonce is that
// of a Content-Security-Policy, for policies that use nonces: both links have it.
func (p *Page) Head(nonce ...string) template.HTML {
	return p.orNothing(p.head(strings.Join(nonce, "")))
}

// Style links the style alone, for pages that htmx or Turbo keep live. The nonce is as for
// [Page.Head].
func (p *Page) Style(nonce ...string) template.HTML {
	return p.orNothing(p.style(strings.Join(nonce, "")))
}

// WhosOnline renders the widget of a topic. The options are pairs of a name and a value:
// "max", "form", "label" and "more".
func (p *Page) WhosOnline(topic any, options ...any) template.HTML {
	return p.orNothing(p.whosOnline(topic, options...))
}

// Dot renders the dot beside a user's name.
func (p *Page) Dot(id any) template.HTML { return p.orNothing(p.onlineDot(id)) }

// Avatar renders a user's picture, or the initials of the user's name.
func (p *Page) Avatar(user presence.User) template.HTML { return p.orNothing(p.avatar(user)) }

// LastSeen renders when a user was last seen: "online now", "12 minutes ago", or an empty
// element if that is unknown. Each user who is not in memory costs a round trip to the
// store. For a list of users call [Page.PrefetchSeen] first.
func (p *Page) LastSeen(id any) template.HTML { return p.orNothing(p.lastSeen(id)) }

// PrefetchSeen loads when users were last seen, up to 200 users in one round trip. Each
// argument is one user's id or a slice of ids.
func (p *Page) PrefetchSeen(ids ...any) { p.orNothing("", p.prefetch(ids)) }

// RecentlyActive renders who was active in a topic lately, and when. The options are pairs of
// a name and a value: "max" and "within".
func (p *Page) RecentlyActive(topic any, options ...any) template.HTML {
	return p.orNothing(p.recentlyActive(topic, options...))
}

// MostOnline renders the most users who were ever online in a topic, and when.
func (p *Page) MostOnline(topic any) template.HTML { return p.orNothing(p.mostOnline(topic)) }

// Where renders where in the site users are, as far as the visitor may see it. The option is
// "max".
func (p *Page) Where(options ...any) template.HTML { return p.orNothing(p.where(options...)) }

// Legend renders the site's groups of users.
func (p *Page) Legend() template.HTML { return p.orNothing(p.legend()) }

// Contacts renders the visitor's contacts. The options are pairs of a name and a value: "max"
// and "label".
func (p *Page) Contacts(options ...any) template.HTML { return p.orNothing(p.contacts(options...)) }

// Person renders what the visitor may know of a user: a dot, the status, and when the user
// was last seen. It costs what [track.People.Find] costs.
func (p *Page) Person(id any) template.HTML { return p.orNothing(p.person(id)) }

// Contact renders the buttons with which the visitor lists a user, or blocks the user.
func (p *Page) Contact(id any) template.HTML { return p.orNothing(p.contact(id)) }

// Sessions renders the devices from which the visitor is online. The options are pairs of a
// name and a value: "label", and "fields", a template.HTML of further fields for each form.
func (p *Page) Sessions(options ...any) template.HTML { return p.orNothing(p.sessions(options...)) }

// Settings renders the form with which the visitor chooses a status, and who sees it. The
// options are pairs of a name and a value: "label", "error", and "fields" as of Sessions.
func (p *Page) Settings(options ...any) template.HTML { return p.orNothing(p.settings(options...)) }

// Bell renders the link to the visitor's notifications, with the number of unread ones. The
// options are pairs of a name and a value: "label", "popover", "word", and "fields" and "mute" as of
// Notifications. Cost: nothing where a page of the visitor is open at this node, else one
// query.
func (p *Page) Bell(options ...any) template.HTML { return p.orNothing(p.bell(options...)) }

// Notifications renders the visitor's notifications. The options are pairs of a name and a
// value: "max", "label", "error", "mute", and "fields", a template.HTML of further fields for
// each form. Cost: one query.
func (p *Page) Notifications(options ...any) template.HTML {
	return p.orNothing(p.notifications(options...))
}

// Room renders the live end of a room. head is the [feed.Head] of the room, which the site
// has read before it has read the items that the page shows; nil: not known. The options are
// pairs of a name and a value: "template", "list" and "about".
func (p *Page) Room(name, head any, options ...any) template.HTML {
	return p.orNothing(p.room(name, head, options...))
}

// Typing renders the line that says who is typing in a topic, and has a form say so of its
// visitor: the form around the element, or the one that the option names. The options are
// pairs of a name and a value: "input". It costs nothing.
func (p *Page) Typing(topic any, options ...any) template.HTML {
	return p.orNothing(p.typing(topic, options...))
}

// Editors renders who else follows a topic that pages follow while they edit something. The
// options are pairs of a name and a value: "label", "revision" and "saved". It costs what
// WhosOnline costs.
func (p *Page) Editors(topic any, options ...any) template.HTML {
	return p.orNothing(p.editors(topic, options...))
}

// PrefetchCounts loads how many users are online in topics, in one round trip for all that
// are not in memory, so that Count and Total of them cost none. Each argument is a topic or
// a slice of topics.
func (p *Page) PrefetchCounts(topics ...any) { p.orNothing("", p.prefetchCounts(topics)) }

// Count renders how many users are online in a topic, or "–" if that is unknown. For a list
// of topics call [Page.PrefetchCounts] first.
func (p *Page) Count(topic any) template.HTML { return p.orNothing(p.onlineCount(topic)) }

// Total returns how many users are online in a topic, or [Unknown].
func (p *Page) Total(topic any) Count {
	n, err := p.onlineTotal(topic)
	p.orNothing("", err)
	return n
}

// IsOnline reports whether a user is online. It returns false if that is unknown.
func (p *Page) IsOnline(id any) bool {
	online, err := p.isOnline(id)
	p.orNothing("", err)
	return online
}

// Funcs returns the template functions of this page, by the names of [Funcs], for an engine
// that clones html/template templates for each request:
//
//	t, err := parsed.Clone() // parsed with Funcs
//	err = t.Funcs(widgets.Page(r).Funcs()).ExecuteTemplate(w, name, data)
func (p *Page) Funcs() template.FuncMap { return p.funcs() }

// orNothing returns the HTML if there is no error. Otherwise it logs the error.
func (p *Page) orNothing(html template.HTML, err error) template.HTML {
	if err == nil {
		return html
	}
	if p.widgets.mistakes.Pass() {
		p.widgets.tracker.Config().Logger.Error("presence: an element is left out of a page", "path", p.path(), "error", err)
	}
	return ""
}

// maxShownPath bounds the part of a path that is logged, in bytes.
const maxShownPath = 100

// path returns the path of the page, for the log.
func (p *Page) path() string {
	path := p.request.URL.EscapedPath()
	if len(path) > maxShownPath {
		path = path[:maxShownPath] + "…"
	}
	return path
}

// A knownTopic is a topic as one page shows it, the same at every place in the page.
type knownTopic struct {
	topic presence.Topic
	view  *track.View      // nil: unknown
	self  *presence.Member // the visitor, if online but not yet in the view
}

func (t knownTopic) total() int {
	switch {
	case t.view == nil:
		return 0
	case t.self != nil:
		return t.view.Total + 1
	}
	return t.view.Total
}

func (t knownTopic) member(id presence.UserID) (presence.Member, bool) {
	if t.self != nil && t.self.ID == id {
		return *t.self, true
	}
	if t.view == nil {
		return presence.Member{}, false
	}
	return t.view.Member(id)
}

// know returns a topic. A page asks for each topic once, also when the store is out: a page
// with 200 dots must not wait 200 times. If the page stops waiting, the tracker goes on
// loading the topic, for the next page.
func (p *Page) know(topic presence.Topic) knownTopic {
	for _, t := range p.topics {
		if t.topic == topic {
			return t
		}
	}
	t := knownTopic{topic: topic}
	_ = p.ask(func(ctx context.Context) (err error) { // without an answer it is unknown
		t.view, err = p.widgets.tracker.View(ctx, topic)
		return err
	})
	t.self = p.self(t)
	p.topics = append(p.topics, t)
	return t
}

// self returns the visitor if this page view makes the visitor online, and the topic does
// not show it yet: page views are recorded later, so that no page waits for that.
func (p *Page) self(t knownTopic) *presence.Member {
	user := p.visitor.User
	if t.topic.Local() != p.widgets.cfg.Topic || !p.visitor.SignedIn() || user.Hidden {
		return nil
	}
	if t.view != nil {
		if _, there := t.view.Member(user.ID); there {
			return nil
		}
	}
	tracker := p.widgets.tracker
	// If nobody can tell what the visitor chose, the page says online: no other visitor reads it.
	_ = p.ask(func(ctx context.Context) error { return tracker.AwaitChoice(ctx, user) })
	status := cmp.Or(user.Status, tracker.Status(user.ID))
	if status == presence.Invisible || status == "" && user.Veiled || !tracker.InRosters(user.ID) {
		return nil
	}
	return &presence.Member{User: user}
}

// site returns the topic of dots, isOnline and lastSeen.
func (p *Page) site() knownTopic { return p.know(p.widgets.cfg.Topic.In(p.visitor.Tenant)) }

// element returns an element of the script, from HTML that is the same for every visitor.
// The first element of a page names the visitor: the script learns from it that somebody
// has signed in, or out, where pages come without a new head. A page in a buffer gets the
// name at its end, so that a widget of 40 KB is not copied for it.
func (p *Page) element(html template.HTML) template.HTML {
	kind := html[:strings.IndexByte(string(html), ' ')+1]
	for _, tag := range p.first {
		if p.markers == nil || strings.HasPrefix(string(tag), string(kind)) {
			return html
		}
	}
	at := startTagEnd(html)
	p.first = append(p.first, html[:at+1])
	if p.markers != nil {
		return html
	}
	return html[:at] + p.name() + html[at:]
}

// name returns the attribute that names the visitor.
func (p *Page) name() template.HTML {
	return ` me="` + escaped(string(p.visitor.User.ID.Local())) + `"`
}

func (p *Page) head(nonce ...any) (template.HTML, error) {
	site := knownTopic{topic: p.widgets.cfg.Topic}
	if !p.closed() {
		site = p.site()
	}
	return p.widgets.head(site, p.visitor, fmt.Sprint(nonce...))
}

// closed reports whether the page shows nothing of presence: a guest's, on a site of members.
func (p *Page) closed() bool { return p.widgets.cfg.Members && !p.visitor.SignedIn() }

func (p *Page) style(nonce ...any) (template.HTML, error) {
	return withNonce(p.widgets.headParts.style, fmt.Sprint(nonce...)), nil
}

func (p *Page) whosOnline(topic any, options ...any) (template.HTML, error) {
	if p.closed() {
		return "", nil
	}
	parsed, err := p.topicOf(topic)
	if err != nil { // a mistake in the template
		return "", err
	}
	t := p.know(parsed)
	o, err := p.widgets.optionsFor(t.topic).with(options)
	if err != nil {
		return "", err
	}
	html, err := p.widget(t, o)
	if err != nil {
		return "", err
	}
	return p.element(html), nil
}

// widget renders the widget of a topic. Where the users are depends on the visitor.
func (p *Page) widget(t knownTopic, o options) (template.HTML, error) {
	if !o.about || t.view == nil {
		return p.widgets.widget(t, o, nil)
	}
	return p.widgets.widget(t, o, p.about)
}

// dotsLooked is how many dots are looked at, until one is of a user who is online.
const dotsLooked = 100

// noteDot reports that all dots are grey, on a site where somebody is online.
func (ws *Widgets) noteDot(site knownTopic, id presence.UserID) {
	if site.view == nil || site.view.Total == 0 || ws.dots.Load() >= dotsLooked {
		return
	}
	if _, online := site.member(id); online {
		ws.dots.Store(dotsLooked)
	} else if ws.dots.Add(1) == dotsLooked {
		ws.tracker.Found(presence.UnknownIDs, "id", id.Local(), "online", site.view.Total)
	}
}

func (p *Page) onlineDot(id any) (template.HTML, error) {
	if p.closed() {
		return "", nil
	}
	user := p.idOf(id)
	p.widgets.noteDot(p.site(), user)
	return p.element(p.widgets.dot(p.site(), user)), nil
}

func (p *Page) avatar(user presence.User) (template.HTML, error) { return p.widgets.avatar(user) }

func (p *Page) isOnline(id any) (bool, error) {
	if p.closed() {
		return false, nil
	}
	_, online := p.site().member(p.idOf(id))
	return online, nil
}
