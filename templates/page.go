package templates

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"html/template"
	"net/http"

	"github.com/rollcall-go/rollcall/presence"
)

// errUnbound is what the functions of Funcs return.
var errUnbound = errors.New("templates: the template must be executed by templates.RendererFor or Widgets.Execute")

// A page executes the site's templates for one request at a time. Its functions know the
// request.
type page struct {
	widgets *Widgets           // nil: the page of Funcs
	bound   *template.Template // the site's templates, whose functions know this page

	request *http.Request
	visitor presence.Visitor
	topics  []knownTopic // that this page has shown
	wait    patience
	route   route
	seen    []presence.UserID // users for whom lastSeen was called
}

// A knownTopic is a topic as one page shows it, the same at every place in the page.
type knownTopic struct {
	topic presence.Topic
	view  *presence.View   // nil: unknown
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

func (p *page) funcs() template.FuncMap {
	return template.FuncMap{
		"presenceHead":   p.presenceHead,
		"presenceStyle":  p.presenceStyle,
		"whosOnline":     p.whosOnline,
		"onlineDot":      p.onlineDot,
		"presenceAvatar": p.presenceAvatar,
		"isOnline":       p.isOnline,
		"lastSeen":       p.lastSeen,
		"prefetchSeen":   p.prefetchSeen,
		"onlineCount":    p.onlineCount,
	}
}

func (p *page) begin(name string, r *http.Request) {
	p.request = r
	p.visitor = presence.VisitorFromContext(r.Context())
	p.route.template = name
	if r.URL != nil {
		p.route.path = r.URL.Path
	}
}

func (p *page) end() {
	if len(p.seen) > 0 {
		p.widgets.seen.keep(p.route, p.seen)
	}
	clear(p.topics)
	clear(p.seen)
	*p = page{widgets: p.widgets, bound: p.bound, topics: p.topics[:0], seen: p.seen[:0]}
}

// know returns a topic. A page asks for each topic once, also when the store is out: a page
// with 200 dots must not wait 200 times. If the page stops waiting, the tracker goes on
// loading the topic, for the next page. Only an invalid topic is an error, because it is a
// mistake in the template.
func (p *page) know(topic string) (knownTopic, error) {
	if p.widgets == nil {
		return knownTopic{}, errUnbound
	}
	for _, t := range p.topics {
		if string(t.topic) == topic {
			return t, nil
		}
	}
	parsed, err := presence.ParseTopic(topic)
	if err != nil {
		return knownTopic{}, err
	}
	t := knownTopic{topic: parsed}
	_ = p.ask(func(ctx context.Context) (err error) { // without an answer it is unknown
		t.view, err = p.widgets.tracker.View(ctx, parsed)
		return err
	})
	t.self = p.self(t)
	p.topics = append(p.topics, t)
	return t, nil
}

// self returns the visitor if this page view makes the visitor online, and the topic does
// not show it yet: page views are recorded later, so that no page waits for that.
func (p *page) self(t knownTopic) *presence.Member {
	user := p.visitor.User
	if t.topic != p.widgets.cfg.Topic || !p.visitor.SignedIn() || user.Hidden {
		return nil
	}
	status := cmp.Or(user.Status, p.widgets.tracker.Status(user.ID))
	if status == presence.Invisible || status == "" && user.Veiled {
		return nil
	}
	if t.view != nil {
		if _, there := t.view.Member(user.ID); there {
			return nil
		}
	}
	return &presence.Member{User: user}
}

func (p *page) site() (knownTopic, error) {
	if p.widgets == nil {
		return knownTopic{}, errUnbound
	}
	return p.know(string(p.widgets.cfg.Topic))
}

// presenceHead links the style and the script.
func (p *page) presenceHead(nonce ...any) (template.HTML, error) {
	t, err := p.site()
	if err != nil {
		return "", err
	}
	return p.widgets.head(t, p.visitor, fmt.Sprint(nonce...))
}

// presenceStyle links the style alone.
func (p *page) presenceStyle() (template.HTML, error) {
	if p.widgets == nil {
		return "", errUnbound
	}
	return p.widgets.render("style", p.widgets.styleURL())
}

func (p *page) whosOnline(topic any, options ...any) (template.HTML, error) {
	t, err := p.know(fmt.Sprint(topic))
	if err != nil {
		return "", err
	}
	o, err := p.widgets.optionsFor(t.topic).with(options)
	if err != nil {
		return "", err
	}
	return p.widgets.widget(t, o)
}

func (p *page) onlineDot(id any) (template.HTML, error) {
	t, err := p.site()
	if err != nil {
		return "", err
	}
	return p.widgets.dot(t, presence.UserID(fmt.Sprint(id))), nil
}

func (p *page) presenceAvatar(user presence.User) (template.HTML, error) {
	if p.widgets == nil {
		return "", errUnbound
	}
	return p.widgets.avatar(user)
}

func (p *page) isOnline(id any) (bool, error) {
	t, err := p.site()
	if err != nil {
		return false, err
	}
	_, online := t.member(presence.UserID(fmt.Sprint(id)))
	return online, nil
}

// onlineCount returns how many users are online in a topic, or [Unknown].
func (p *page) onlineCount(topic any) (Count, error) {
	t, err := p.know(fmt.Sprint(topic))
	if err != nil || t.view == nil {
		return Unknown, err
	}
	return Count(t.total()), nil
}
