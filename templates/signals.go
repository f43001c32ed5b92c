package templates

import (
	"errors"
	"html/template"
	"strings"

	"github.com/rollcall-go/rollcall/presence"
)

// errNoSignals is returned for a topic without a roster: only users in a roster send signals.
var errNoSignals = errors.New("templates: typing and editors need a topic with a roster, which inbox, people and feeds have not")

// rosterTopic returns the topic that a template names, as topicOf does. It returns errNoSignals for
// a topic without a roster.
func (v *visit) rosterTopic(topic any) (presence.Topic, error) {
	t, err := v.topicOf(topic)
	if name := t.Local(); err == nil && (name == "people" || name == "inbox" || strings.HasPrefix(string(name), "feed:")) {
		err = errNoSignals
	}
	return t, err
}

// signalParts are the parts of typing and editors that are the same on all pages.
type signalParts struct {
	typing, editors template.HTML // the words for the script
}

func (ws *workshop) newSignalParts() signalParts {
	texts := ws.cfg.Texts.Signals
	return signalParts{
		typing: wordsOf(map[string]any{"one": texts.Typing, "two": texts.BothTyping, "many": texts.ManyTyping}),
		editors: wordsOf(map[string]any{
			"editing": texts.Editing, "unknown": texts.NotKnown, "came": texts.CameToEdit, "left": texts.LeftEdit,
			"saved": texts.Saved, "somebody": ws.cfg.Texts.Feeds.Somebody,
		}),
	}
}

// isolated returns a name as HTML. A name from right to left does not change the text around it.
func isolated(name string) string {
	return "<bdi>" + template.HTMLEscapeString(name) + "</bdi>"
}
