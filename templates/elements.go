package templates

import (
	"html/template"
	"strconv"

	"github.com/rollcall-go/rollcall/presence"
)

// The small elements. They are concatenated and not templates, because a page may have
// hundreds of them.

// dot returns the dot of a user.
func (ws *Widgets) dot(t knownTopic, id presence.UserID) template.HTML {
	status, text := "offline", ws.cfg.Texts.Status.Offline
	if m, online := t.member(id); online {
		status = shownStatus(m)
		text = ws.cfg.Texts.Status.of(status)
	} else if t.view == nil {
		status, text = "unknown", ws.cfg.Texts.Unknown
	}
	text = template.HTMLEscapeString(text)
	return template.HTML(`<online-dot class="presence-dot" data-presence-dot="` + template.HTMLEscapeString(string(id)) +
		`" data-status="` + template.HTMLEscapeString(status) +
		`" role="img" aria-label="` + text + `" title="` + text + `"></online-dot>`)
}

const lastSeenEnd = "</last-seen>"

// lastSeenElement returns the element that says when a user was last seen.
func lastSeenElement(id presence.UserID, s sighting) template.HTML {
	return template.HTML(`<last-seen class="presence-seen" data-presence-seen="` + template.HTMLEscapeString(string(id)) +
		`" datetime="` + s.datetime + `" title="` + s.title + `">` + template.HTMLEscapeString(s.text) + lastSeenEnd)
}

// count returns the element that says how many users are online in a topic.
func (ws *Widgets) count(t knownTopic) template.HTML {
	value, text := "", Unknown.String()
	if t.view != nil {
		value, text = strconv.Itoa(t.total()), ws.locale.number(t.total())
	}
	return template.HTML(`<online-count class="presence-count" topic="` + string(t.topic) + `" value="` + value + `">` +
		template.HTMLEscapeString(text) + `</online-count>`)
}
