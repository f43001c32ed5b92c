package templates

import (
	"context"
	"html/template"
	"net/url"
	"slices"
	"strings"

	"github.com/rollcall-go/rollcall/presence"
)

// sessions renders the devices from which the visitor is online, each with a form that ends
// its session. A guest has none.
func (e *peopleElements) sessions(options ...any) (template.HTML, error) {
	ws := e.workshop
	texts := ws.cfg.Texts.People
	o, err := elementOptions{label: texts.Sessions}.with("sessions", options, "label", "fields")
	if err != nil || !e.hasPeople() || !e.visitor.SignedIn() {
		return "", err
	}
	var sessions []presence.Session
	err = e.askOwn(func(ctx context.Context) (err error) {
		sessions, err = ws.source.Sessions(ctx, e.visitor.User.ID)
		return err
	})
	if this := e.visitor.Device; err == nil && this.ID != "" && !slices.ContainsFunc(sessions, func(s presence.Session) bool { return s.ID == this.ID }) {
		// This page view is recorded later, so this device may not be among the sessions yet.
		sessions = append([]presence.Session{{Device: this}}, sessions...)
	}
	b := newMarkup(128 + 640*len(sessions))
	b.raw(`<section class="presence presence-sessions not-prose" aria-label="`).text(o.label).raw(`">`)
	switch {
	case err != nil:
		b.raw(`<p class="presence-unknown">`).text(ws.cfg.Texts.Unknown).raw("</p>")
	case len(sessions) == 0:
		b.raw(`<p class="presence-empty">`).text(texts.NoSessions).raw("</p>")
	default:
		b.raw(`<ul role="list">`)
		for _, s := range sessions {
			e.session(b, s, s.ID != "" && s.ID == e.visitor.Device.ID, o.fields)
		}
		b.raw("</ul>")
	}
	return b.raw("</section>").html(), nil
}

// session writes a device. A device without an id has no form, because the form could not name it.
func (e *peopleElements) session(b *markup, s presence.Session, current bool, fields template.HTML) {
	ws := e.workshop
	texts := ws.cfg.Texts
	label := s.Label
	if label == "" {
		label = texts.People.Device
	}
	b.raw(`<li data-session="`).text(string(s.ID)).raw(`" data-kind="`).text(s.Kind).raw(`"><span class="presence-who"><bdi>`).text(label).raw("</bdi>")
	if current {
		b.raw(` <b class="presence-current">`).text(texts.People.ThisDevice).raw("</b>")
	}
	b.raw(` <span class="presence-note">`)
	if s.Connections > 0 {
		b.raw("<span>").text(ws.locale.text(texts.People.Connections, s.Connections)).raw("</span> ")
	}
	if !s.Since.IsZero() {
		at := newMarkup(128).time(s.Since, ws.clock(s.Since)).html()
		b.raw("<span>").raw(fillIn(texts.Since, "{time}", string(at))).raw("</span>")
	}
	b.raw("</span></span>")
	if s.ID != "" && ws.cfg.EndSessionURL != "" {
		action := strings.ReplaceAll(ws.cfg.EndSessionURL, devicePlace, url.PathEscape(string(s.ID)))
		b.raw(` <form method="post" action="`).text(action).raw(`">`).raw(e.fields(fields))
		e.back(b)
		b.raw(`<button aria-label="`).text(texts.People.End + ": " + label)
		b.raw(`">`).text(texts.People.End).raw("</button></form>")
	}
	b.raw("</li>")
}
