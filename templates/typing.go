package templates

import (
	"html/template"
	"strings"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/track"
)

// typingForm is the form in which GET /widget returns only the line that says who is typing.
const typingForm = "typing"

// typingSignal is the type of the signals that say that somebody is typing.
const typingSignal = "typing"

// typing renders the line that says who is typing in a topic. The server leaves the line empty,
// because a page without script would say for ever that Bob is typing.
func (e *rosterElements) typing(topic any, options ...any) (template.HTML, error) {
	if e.closed() {
		return "", nil
	}
	ws := e.workshop
	o, err := elementOptions{}.with("typing", options, "input")
	if err != nil {
		return "", err
	}
	t, err := e.rosterTopic(topic)
	if err != nil {
		return "", err
	}
	b := ws.feedElement(newMarkup(512), "presence-typing", t, "typing", ws.signalParts.typing)
	if o.input != "" {
		b.raw(` data-input="`).text(o.input).raw(`"`)
	}
	b.raw(">").typists(t.Local(), "").raw(`<p class="presence-said" role="status"></p></presence-part>`)
	return e.element(b.html()), nil
}

// typists writes the line that says who is typing.
func (m *markup) typists(t presence.Topic, line template.HTML) *markup {
	return m.raw(`<p class="presence-typists" data-typing="`).text(string(t)).raw(`">`).raw(line).raw("</p>")
}

// typistsNow returns the line that says who is typing in a topic now, except the visitor. It is for
// streams of HTML, which send the line again when it changes.
func (ws *workshop) typistsNow(view *track.View, visitor presence.Visitor) template.HTML {
	var names []string
	for _, s := range ws.standing(view.Topic) {
		if s.Type != typingSignal || s.From == "" || s.From == visitor.User.ID {
			continue
		}
		if m, there := view.Member(s.From); there {
			names = append(names, m.DisplayName())
		}
	}
	return newMarkup(256).typists(view.Topic.Local(), ws.typistsLine(names)).html()
}

// typistsLine returns the text for the names of users who are typing.
func (ws *workshop) typistsLine(names []string) template.HTML {
	texts := ws.cfg.Texts.Signals
	switch len(names) {
	case 0:
		return ""
	case 1:
		return fillIn(texts.Typing, "{name}", isolated(names[0]))
	case 2:
		return fillIn(texts.BothTyping, "{name}", isolated(names[0]), "{other}", isolated(names[1]))
	}
	return template.HTML(template.HTMLEscapeString(strings.ReplaceAll(texts.ManyTyping, "{n}", ws.locale.number(len(names)))))
}
