package templates

import (
	"context"
	"html/template"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// The form of settings has the same fields as PUT /settings and PUT /status.

// ends are the times after which a status may end by itself.
var ends = []time.Duration{30 * time.Minute, time.Hour, 4 * time.Hour, 24 * time.Hour, 7 * 24 * time.Hour}

// settings renders the form with which the visitor chooses a status, and who sees it. A guest
// has none. While the settings are not known there is no form, because saving it would overwrite
// them.
func (e *peopleElements) settings(options ...any) (template.HTML, error) {
	ws := e.workshop
	texts := ws.cfg.Texts.People
	o, err := elementOptions{label: texts.Settings}.with("settings", options, "label", "fields", "error")
	if err != nil || !e.hasPeople() || !e.visitor.SignedIn() {
		return "", err
	}
	var s presence.Settings
	err = e.askOwn(func(ctx context.Context) (err error) {
		s, err = ws.source.Settings(ctx, e.visitor.User.ID)
		return err
	})
	if err != nil {
		return newMarkup(96).raw(`<p class="presence presence-unknown">`).text(ws.cfg.Texts.Unknown).raw("</p>").html(), nil
	}
	f := e.settingsForm(s.At(time.Now()))
	b := newMarkup(4096)
	b.raw(`<form class="presence presence-settings not-prose" method="post" action="`).text(ws.cfg.SettingsURL).raw(`" aria-label="`).text(o.label).raw(`">`).raw(e.fields(o.fields))
	e.back(b)
	if o.error != "" {
		b.raw(`<p class="presence-error" role="alert">`).text(o.error).raw("</p>")
	}
	status := ws.cfg.Texts.Status
	b.choice("status", texts.Status, texts.InvisibleHint, f.status, [][2]string{
		{string(presence.Online), status.Online}, {string(presence.Away), status.Away}, {string(presence.Busy), status.Busy}, {string(presence.Invisible), texts.Invisible},
	})
	b.raw(`<p><label for="presence-text">`).text(texts.Text).raw(`</label> <input id="presence-text" name="text" maxlength="`).int(presence.MaxTextLen)
	b.raw(`" autocomplete="off" aria-describedby="presence-text-hint" value="`).text(f.text).raw(`"> <small id="presence-text-hint">`).text(texts.TextHint).raw("</small></p>")
	b.raw(`<p><label for="presence-for">`).text(texts.For).raw(`</label> <select id="presence-for" name="for">`)
	for _, end := range ws.ends(s) {
		b.raw(`<option value="`).text(end[0]).raw(`"`).chosen(" selected", end[0] == f.after).raw(">").text(end[1]).raw("</option>")
	}
	b.raw("</select></p>")
	audiences := [][2]string{{string(presence.Everyone), texts.Everyone}, {string(presence.Contacts), texts.OnlyContacts}, {string(presence.Nobody), texts.Nobody}}
	b.choice("online", texts.WhoOnline, "", f.online, audiences)
	b.choice("seen", texts.WhoSeen, texts.SeenHint, f.seen, audiences)
	return b.raw("<p><button>").text(texts.Save).raw("</button></p></form>").html(), nil
}

// A settingsForm has the values of the form's fields.
type settingsForm struct{ status, text, after, online, seen string }

// settingsForm returns the values of the form's fields. If the page answers a POST of the form, they
// are what the visitor has sent; otherwise they are the settings.
func (e *peopleElements) settingsForm(s presence.Settings) settingsForm {
	f := settingsForm{status: string(s.Status), text: s.Text, online: string(s.Online), seen: string(s.Seen)}
	if left := time.Until(s.Until); !s.Until.IsZero() && left > 0 {
		f.after = seconds(left)
	}
	if sent := e.request.PostForm; e.request.Method == http.MethodPost {
		for name, field := range map[string]*string{"status": &f.status, "text": &f.text, "for": &f.after, "online": &f.online, "seen": &f.seen} {
			if sent.Has(name) {
				*field = sent.Get(name)
			}
		}
	}
	return f
}

// ends returns the choices for when a status ends, as pairs of a value and a text. The first choice
// is never. If an end is set already, it is the second.
func (ws *workshop) ends(s presence.Settings) [][2]string {
	texts := ws.cfg.Texts.People
	all := [][2]string{{"", texts.Never}}
	if left := time.Until(s.Until); !s.Until.IsZero() && left > 0 {
		all = append(all, [2]string{seconds(left), strings.ReplaceAll(texts.Until, "{time}", ws.clock(s.Until))})
	}
	for _, end := range ends {
		text := ws.locale.text(texts.InMinutes, int(end/time.Minute))
		if end >= 24*time.Hour {
			text = ws.locale.text(texts.InDays, int(end/(24*time.Hour)))
		} else if end >= time.Hour {
			text = ws.locale.text(texts.InHours, int(end/time.Hour))
		}
		all = append(all, [2]string{seconds(end), text})
	}
	return all
}

func seconds(d time.Duration) string { return strconv.Itoa(int(d.Seconds())) }

// choice writes a fieldset with one radio button for each pair of a value and a text.
func (m *markup) choice(name, legend, hint, value string, pairs [][2]string) {
	m.raw("<fieldset")
	if hint != "" {
		m.raw(` aria-describedby="presence-`).text(name).raw(`-hint"`)
	}
	m.raw("><legend>").text(legend).raw("</legend>")
	for _, pair := range pairs {
		m.raw(`<label><input type="radio" name="`).text(name).raw(`" value="`).text(pair[0]).raw(`"`).chosen(" checked", pair[0] == value).raw("> ").text(pair[1]).raw("</label> ")
	}
	if hint != "" {
		m.raw(`<small id="presence-`).text(name).raw(`-hint">`).text(hint).raw("</small>")
	}
	m.raw("</fieldset>")
}

// chosen writes an attribute if the second argument is true.
func (m *markup) chosen(attribute template.HTML, is bool) *markup {
	if is {
		m.raw(attribute)
	}
	return m
}
