package templates

import (
	"html/template"
	"strconv"

	"github.com/rollcall-go/rollcall/presence"
)

// The small elements are built by concatenation and not by templates, because a page may have
// hundreds of them.

// dot returns the dot of a user.
func (ws *workshop) dot(t knownTopic, id presence.UserID) template.HTML {
	status, text := "offline", ws.cfg.Texts.Status.Offline
	if m, online := t.member(id); online {
		status = shownStatus(m)
		text = ws.cfg.Texts.Status.of(status)
	} else if t.view == nil {
		status, text = "unknown", ws.cfg.Texts.Unknown
	}
	text = template.HTMLEscapeString(text)
	return template.HTML(`<online-dot class="presence-dot" data-presence-dot="` + template.HTMLEscapeString(string(id.Local())) +
		`" data-status="` + template.HTMLEscapeString(status) +
		`" role="img" aria-label="` + text + `" title="` + text + `"></online-dot>`)
}

const lastSeenEnd = "</last-seen>"

// lastSeenElement returns the element that says when a user was last seen.
func lastSeenElement(id presence.UserID, s sighting) template.HTML {
	return template.HTML(`<last-seen class="presence-seen" data-presence-seen="` + template.HTMLEscapeString(string(id.Local())) +
		`" datetime="` + s.datetime + `" title="` + s.title + `">` + template.HTMLEscapeString(s.text) + lastSeenEnd)
}

const countEnd = "</online-count>"

// A counting is how many users are online in a topic, as texts for visitors.
type counting struct{ value, text string }

func (ws *workshop) counting(n Count) counting {
	if !n.Known() {
		return counting{text: n.String()}
	}
	return counting{strconv.Itoa(int(n)), ws.locale.number(int(n))}
}

// countElement returns the element that says how many users are online in a topic. The script
// follows the site's own topic. An element of any other topic has a src instead: the script asks
// there for new numbers once a minute.
func (ws *workshop) countElement(topic presence.Topic, n counting) template.HTML {
	src, topic := "", topic.Local()
	if topic != ws.cfg.Topic {
		src = `" src="` + template.HTMLEscapeString(ws.prefix)
	}
	return template.HTML(`<online-count class="presence-count" topic="` + string(topic) + `" value="` + n.value + src + `">` +
		template.HTMLEscapeString(n.text) + countEnd)
}
