package templates

import (
	"embed"
	"encoding/json"
	"html/template"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

//go:embed widget.html
var widgetFile embed.FS

// A kit renders the parts of pages. Any number of goroutines may use it.
type kit struct {
	tracker  *presence.Tracker
	cfg      Config
	locale   locale
	markup   *template.Template
	assets   *assets
	rendered *renderings
	seen     *sightings
	vain     atomic.Int64 // when a page last waited for a topic in vain, Unix nanoseconds
}

func newKit(tracker *presence.Tracker, cfg Config) *kit {
	cfg = cfg.withDefaults()
	return &kit{
		tracker:  tracker,
		cfg:      cfg,
		locale:   newLocale(cfg.Texts.Lang),
		markup:   template.Must(template.ParseFS(widgetFile, "widget.html")),
		assets:   newAssets(),
		rendered: newRenderings(),
		seen:     newSightings(tracker, cfg.Topic),
	}
}

// A figure is one of the counts.
type figure struct {
	Name   string
	N      int
	Number string // as people read it
	Key    string // of the text in Texts, for the script
	Text   string
	Hidden bool
}

// widgetData is what the template "widget" shows.
type widgetData struct {
	Topic   presence.Topic
	Src     string
	Cursor  presence.Cursor
	Max     int
	Form    form
	Label   string
	Known   bool
	Figures []figure
	People  template.HTML
	Rest    int
	More    string // and how many more
	MoreURL string
	Empty   bool
	Since   string // when the store was found to be out, RFC 3339; empty: it is not
	Lost    string
	Texts   Texts
}

// widget returns the element for a topic. One that shows no visitor of its own
// is rendered once a View, and then taken from memory.
func (k *kit) widget(t known, o options) (template.HTML, error) {
	render := func() (template.HTML, error) {
		d, err := k.widgetData(t, o)
		if err != nil {
			return "", err
		}
		return k.execute("widget", d)
	}
	if t.self != nil || t.view == nil {
		return render()
	}
	return k.rendered.get(t.view, place{t.topic, "widget", o}, render)
}

func (k *kit) widgetData(t known, o options) (widgetData, error) {
	texts := k.cfg.Texts
	d := widgetData{Topic: t.topic, Src: k.cfg.Prefix, Max: o.max, Form: o.form, Label: o.label, MoreURL: o.more, Texts: texts}
	var guests, recent int
	if v := t.view; v != nil {
		d.Known, d.Cursor = true, v.Cursor
		guests, recent = v.Guests, v.Recent
		d.Rest = max(t.total()-o.max, 0)
		d.Empty = t.total() == 0
		if v.Stale {
			at := v.AsOf.UTC()
			d.Since, d.Lost = at.Format(time.RFC3339), strings.ReplaceAll(texts.Lost, "{time}", at.Format("15:04 UTC"))
		}
		var err error
		if d.People, err = k.people(t, o.max); err != nil {
			return d, err
		}
	}
	d.More = k.locale.text(texts.More, d.Rest)
	elsewhere := t.topic != k.cfg.Topic // no page views are recorded there
	online := k.figure("online", t.total(), "online", texts.Online)
	if elsewhere {
		online = k.figure("online", t.total(), "present", texts.Present)
	}
	d.Figures = []figure{online, k.figure("guests", guests, "guests", texts.Guests), k.figure("recent", recent, "recent", texts.Recent)}
	d.Figures[2].Hidden = elsewhere
	return d, nil
}

func (k *kit) figure(name string, n int, key string, text Plural) figure {
	return figure{Name: name, N: n, Number: k.locale.number(n), Key: key, Text: k.locale.text(text, n)}
}

// people returns the items of the newest members, the visitor first where the
// View does not hold the visitor yet.
func (k *kit) people(t known, most int) (first template.HTML, err error) {
	if most == 0 {
		return "", nil
	}
	if t.self != nil {
		if first, err = k.execute("people", []person{newPerson(*t.self, k.cfg.Texts.Status)}); err != nil {
			return "", err
		}
		most--
	}
	rest, err := k.rendered.get(t.view, place{t.topic, "people", options{max: most}}, func() (template.HTML, error) {
		var people []person
		for _, m := range t.view.Newest(most) {
			people = append(people, newPerson(m, k.cfg.Texts.Status))
		}
		return k.execute("people", people)
	})
	return first + rest, err
}

// dot returns the dot for a user. It is put together by hand, since a page may
// have hundreds.
func (k *kit) dot(t known, id presence.UserID) template.HTML {
	status, text := "offline", k.cfg.Texts.Status.Offline
	if m, online := t.member(id); online {
		status = shownStatus(m)
		text = k.cfg.Texts.Status.of(status)
	} else if t.view == nil {
		status, text = "unknown", k.cfg.Texts.Unknown
	}
	text = template.HTMLEscapeString(text)
	return template.HTML(`<online-dot class="presence-dot" data-presence-dot="` + template.HTMLEscapeString(string(id)) +
		`" data-status="` + template.HTMLEscapeString(status) +
		`" role="img" aria-label="` + text + `" title="` + text + `"></online-dot>`)
}

// avatar returns a user's picture as it stands in the widget, without the dot.
func (k *kit) avatar(u presence.User) (template.HTML, error) {
	return k.execute("avatar", newPerson(presence.Member{User: u}, k.cfg.Texts.Status))
}

// head returns what a page's head needs. The script learns whose page it is, so
// that the pages of two users of one browser have nothing in common.
func (k *kit) head(t known, visitor presence.Visitor, nonce string) (template.HTML, error) {
	var cursor presence.Cursor
	if t.view != nil {
		cursor = t.view.Cursor
	}
	site, err := json.Marshal(struct {
		Src    string          `json:"src"`
		Me     presence.UserID `json:"me"`
		Topic  presence.Topic  `json:"topic"`
		Cursor presence.Cursor `json:"cursor"`
		Texts  Texts           `json:"texts"`
	}{k.cfg.Prefix, visitor.User.ID, t.topic, cursor, k.cfg.Texts})
	if err != nil {
		return "", err
	}
	d := struct {
		Site, Style, Script, Nonce string
	}{string(site), k.styleURL(), k.cfg.Prefix + "/assets/" + k.assets.script, nonce}
	return k.execute("head", d)
}

func (k *kit) styleURL() string { return k.cfg.Prefix + "/assets/" + k.assets.style }

func (k *kit) execute(name string, data any) (template.HTML, error) {
	var b strings.Builder
	err := k.markup.ExecuteTemplate(&b, name, data)
	return template.HTML(b.String()), err
}
