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
var errUnbound = errors.New("templates: the view must be executed by templates.Renderer or templates.Views")

// A page is one rendering of a view at a time: the functions of its clone are
// bound to it.
type page struct {
	kit   *kit // nil: of Funcs
	views *template.Template

	request *http.Request
	visitor presence.Visitor
	topics  []known // asked for by this page
	wait    patience
	route   route
	seen    []presence.UserID // for whom lastSeen was called
}

// known is a topic as one page sees it: the same at every place in the page.
type known struct {
	topic presence.Topic
	view  *presence.View   // nil: nothing is known
	self  *presence.Member // the visitor, if online and not in view yet
}

func (k known) total() int {
	switch {
	case k.view == nil:
		return 0
	case k.self != nil:
		return k.view.Total + 1
	}
	return k.view.Total
}

func (k known) member(id presence.UserID) (presence.Member, bool) {
	if k.self != nil && k.self.ID == id {
		return *k.self, true
	}
	if k.view == nil {
		return presence.Member{}, false
	}
	return k.view.Member(id)
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

func (p *page) begin(view string, r *http.Request) {
	p.request = r
	p.visitor = presence.VisitorFromContext(r.Context())
	p.route.view = view
	if r.URL != nil {
		p.route.path = r.URL.Path
	}
}

func (p *page) end() {
	if len(p.seen) > 0 {
		p.kit.seen.keep(p.route, p.seen)
	}
	clear(p.topics)
	clear(p.seen)
	*p = page{kit: p.kit, views: p.views, topics: p.topics[:0], seen: p.seen[:0]}
}

// know returns a topic, which is asked for once a page, also when the store is
// out: a page with 200 dots must not wait 200 times. Where the page waits no longer
// the topic is loaded behind its back, for the next page. The only error is that
// of a topic that [presence.ParseTopic] refuses, which is the view's author's.
func (p *page) know(topic string) (known, error) {
	if p.kit == nil {
		return known{}, errUnbound
	}
	for _, k := range p.topics {
		if string(k.topic) == topic {
			return k, nil
		}
	}
	parsed, err := presence.ParseTopic(topic)
	if err != nil {
		return known{}, err
	}
	k := known{topic: parsed}
	_ = p.ask(func(ctx context.Context) (err error) { // without an answer it is unknown
		k.view, err = p.kit.tracker.View(ctx, parsed)
		return err
	})
	k.self = p.self(k)
	p.topics = append(p.topics, k)
	return k, nil
}

// self returns the visitor where this very page view makes the visitor online
// and the topic does not show it yet: the view is recorded behind the page's
// back, so that no page waits for it.
func (p *page) self(k known) *presence.Member {
	user := p.visitor.User
	if k.topic != p.kit.cfg.Topic || !p.visitor.SignedIn() || user.Hidden {
		return nil
	}
	status := cmp.Or(user.Status, p.kit.tracker.Status(user.ID))
	if status == presence.Invisible || status == "" && user.Veiled {
		return nil
	}
	if k.view != nil {
		if _, there := k.view.Member(user.ID); there {
			return nil
		}
	}
	return &presence.Member{User: user}
}

func (p *page) site() (known, error) {
	if p.kit == nil {
		return known{}, errUnbound
	}
	return p.know(string(p.kit.cfg.Topic))
}

// presenceHead links the style and the script. The cursor is for dots.
func (p *page) presenceHead(nonce ...any) (template.HTML, error) {
	k, err := p.site()
	if err != nil {
		return "", err
	}
	return p.kit.head(k, p.visitor, fmt.Sprint(nonce...))
}

// presenceStyle links the style alone, for a page that something else keeps live.
func (p *page) presenceStyle() (template.HTML, error) {
	if p.kit == nil {
		return "", errUnbound
	}
	return p.kit.execute("style", p.kit.styleURL())
}

func (p *page) whosOnline(topic any, options ...any) (template.HTML, error) {
	k, err := p.know(fmt.Sprint(topic))
	if err != nil {
		return "", err
	}
	o, err := p.kit.optionsFor(k.topic).with(options)
	if err != nil {
		return "", err
	}
	return p.kit.widget(k, o)
}

func (p *page) onlineDot(id any) (template.HTML, error) {
	k, err := p.site()
	if err != nil {
		return "", err
	}
	return p.kit.dot(k, presence.UserID(fmt.Sprint(id))), nil
}

func (p *page) presenceAvatar(user presence.User) (template.HTML, error) {
	if p.kit == nil {
		return "", errUnbound
	}
	return p.kit.avatar(user)
}

func (p *page) isOnline(id any) (bool, error) {
	k, err := p.site()
	if err != nil {
		return false, err
	}
	_, online := k.member(presence.UserID(fmt.Sprint(id)))
	return online, nil
}

// onlineCount returns how many users are online in a topic, [Unknown] if that is
// not known.
func (p *page) onlineCount(topic any) (Count, error) {
	k, err := p.know(fmt.Sprint(topic))
	if err != nil || k.view == nil {
		return Unknown, err
	}
	return Count(k.total()), nil
}
