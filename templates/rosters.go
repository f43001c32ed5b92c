package templates

import (
	"fmt"
	"html/template"

	"github.com/rollcall-go/rollcall/presence"
)

// rosterElements show who is in a topic, and link the script and the style.
type rosterElements struct {
	*visit
	parts *partElements
}

func (e *rosterElements) head(nonce ...any) (template.HTML, error) {
	presence.ShowHead(e.request.Context())
	site := knownTopic{topic: e.workshop.cfg.Topic}
	if !e.closed() {
		site = e.site()
	}
	return e.workshop.head(site, e.visitor, fmt.Sprint(nonce...))
}

func (e *rosterElements) style(nonce ...any) (template.HTML, error) {
	return withNonce(e.workshop.headParts.style, fmt.Sprint(nonce...)), nil
}

func (e *rosterElements) whosOnline(topic any, options ...any) (template.HTML, error) {
	if e.closed() {
		return "", nil
	}
	parsed, err := e.topicOf(topic)
	if err != nil { // a mistake in the template
		return "", err
	}
	t := e.know(parsed)
	o, err := e.workshop.optionsFor(t.topic).with(options)
	if err != nil {
		return "", err
	}
	html, err := e.widget(t, o)
	if err != nil {
		return "", err
	}
	presence.ShowElement(e.request.Context())
	return e.element(html), nil
}

// widget renders the widget of a topic. With the option about it asks the parts of this page for the
// notes beside the names, because the visitor may not see all places.
func (e *rosterElements) widget(t knownTopic, o options) (template.HTML, error) {
	if !o.about || t.view == nil {
		return e.workshop.widget(t, o, nil)
	}
	return e.workshop.widget(t, o, e.parts.about)
}

// dotsLooked is how many dots noteDot looks at, unless one is of a user who is online.
const dotsLooked = 100

// noteDot reports a finding if all dots are grey though somebody is online: the ids in the templates
// may not be the ids of the site's users.
func (ws *workshop) noteDot(site knownTopic, id presence.UserID) {
	if site.view == nil || site.view.Total == 0 || ws.dots.Load() >= dotsLooked {
		return
	}
	if _, online := site.member(id); online {
		ws.dots.Store(dotsLooked)
	} else if ws.dots.Add(1) == dotsLooked {
		ws.tracker.Found(presence.UnknownIDs, "id", id.Local(), "online", site.view.Total)
	}
}

func (e *rosterElements) onlineDot(id any) (template.HTML, error) {
	if e.closed() {
		return "", nil
	}
	user := e.idOf(id)
	presence.ShowElement(e.request.Context())
	e.workshop.noteDot(e.site(), user)
	return e.element(e.workshop.dot(e.site(), user)), nil
}

func (e *rosterElements) isOnline(id any) (bool, error) {
	if e.closed() {
		return false, nil
	}
	_, online := e.site().member(e.idOf(id))
	return online, nil
}
