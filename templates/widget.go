package templates

import (
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"strings"

	"github.com/rollcall-go/rollcall/presence"
)

//go:embed widget.html
var widgetFile embed.FS

// A kit renders the parts of pages. Any number of goroutines may use it.
type kit struct {
	tracker  *presence.Tracker
	cfg      Config
	markup   *template.Template
	assets   *assets
	rendered *renderings
	seen     *sightings
}

func newKit(tracker *presence.Tracker, cfg Config) *kit {
	cfg = cfg.withDefaults()
	return &kit{
		tracker:  tracker,
		cfg:      cfg,
		markup:   template.Must(template.ParseFS(widgetFile, "widget.html")),
		assets:   newAssets(),
		rendered: newRenderings(),
		seen:     newSightings(tracker, cfg.Topic),
	}
}

// options are what a view may say of one widget.
type options struct {
	max   int
	label string
}

// optionsFor returns how a topic is shown where the view says nothing.
func (k *kit) optionsFor(topic presence.Topic) options {
	if topic != k.cfg.Topic {
		return options{max: k.cfg.Max, label: k.cfg.Texts.Here}
	}
	return options{max: k.cfg.Max, label: k.cfg.Texts.Label}
}

// with reads pairs of a name and a value, as a view's author wrote them.
func (o options) with(pairs []any) (options, error) {
	if len(pairs)%2 != 0 {
		return o, fmt.Errorf("templates: whosOnline wants its options in pairs, and has %d values", len(pairs))
	}
	for i := 0; i < len(pairs); i += 2 {
		switch name, value := pairs[i], pairs[i+1]; name {
		case "max":
			n, ok := value.(int)
			if !ok {
				return o, fmt.Errorf("templates: max is %v, and must be an int", value)
			}
			o.max = limitMax(n)
		case "label":
			o.label = fmt.Sprint(value)
		default:
			return o, fmt.Errorf("templates: whosOnline knows no option %v; it has max and label", name)
		}
	}
	return o, nil
}

// A figure is one of the counts.
type figure struct {
	Name   string
	N      int
	Text   Plural
	Hidden bool
}

// widgetData is what the template "widget" shows.
type widgetData struct {
	Topic   presence.Topic
	Src     string
	Cursor  presence.Cursor
	Max     int
	Label   string
	Known   bool
	Figures []figure
	People  template.HTML
	Rest    int
	Empty   bool
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
	d := widgetData{Topic: t.topic, Src: k.cfg.Prefix, Max: o.max, Label: o.label, Texts: texts}
	elsewhere := t.topic != k.cfg.Topic // no page views are recorded there
	online := texts.Online
	if elsewhere {
		online = texts.Present
	}
	var guests, recent int
	if v := t.view; v != nil {
		d.Known, d.Cursor = true, v.Cursor
		guests, recent = v.Guests, v.Recent
		d.Rest = max(t.total()-o.max, 0)
		d.Empty = t.total() == 0
		var err error
		if d.People, err = k.people(t, o.max); err != nil {
			return d, err
		}
	}
	d.Figures = []figure{
		{Name: "online", N: t.total(), Text: online},
		{Name: "guests", N: guests, Text: texts.Guests},
		{Name: "recent", N: recent, Text: texts.Recent, Hidden: elsewhere},
	}
	return d, nil
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

// head returns what a page's head needs. The script learns whose page it is, so
// that the pages of two users of one browser have nothing in common.
func (k *kit) head(t known, visitor presence.Visitor, nonce string) (template.HTML, error) {
	var cursor presence.Cursor
	if t.view != nil {
		cursor = t.view.Cursor
	}
	site, err := json.Marshal(struct {
		Src      string          `json:"src"`
		Me       presence.UserID `json:"me"`
		Topic    presence.Topic  `json:"topic"`
		Cursor   presence.Cursor `json:"cursor"`
		Statuses StatusTexts     `json:"statuses"`
	}{k.cfg.Prefix, visitor.User.ID, t.topic, cursor, k.cfg.Texts.Status})
	if err != nil {
		return "", err
	}
	base := k.cfg.Prefix + "/assets/"
	d := struct {
		Site, Style, Script, Nonce string
	}{string(site), base + k.assets.style, base + k.assets.script, nonce}
	return k.execute("head", d)
}

func (k *kit) execute(name string, data any) (template.HTML, error) {
	var b strings.Builder
	err := k.markup.ExecuteTemplate(&b, name, data)
	return template.HTML(b.String()), err
}
