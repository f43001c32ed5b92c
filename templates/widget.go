package templates

import (
	"html/template"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// A figure is one of the widget's counts, such as the number of guests.
type figure struct {
	Name   string
	N      int
	Number string // N with its digits grouped
	Key    string // the name of the text in Texts, for the script
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
	More    string // the text that says how many more there are
	MoreURL string
	Empty   bool
	Since   string // if the store is out: the time of the list, RFC 3339
	Lost    string
	About   string        // the address of the notes beside the names; empty: there are none
	Bots    template.HTML // the part for bots
	Texts   Texts
}

// An aboutFunc prepares the notes of some members of a topic. It returns a function that renders the
// note beside the name of one of them.
type aboutFunc func(presence.Topic, []presence.Member) func(presence.Member) template.HTML

// widget returns the element for a topic. The element is rendered once for each View. It is rendered
// for each page if it shows the visitor, whom the View does not have yet, or if it has the notes of
// about.
func (ws *workshop) widget(t knownTopic, o options, about aboutFunc) (template.HTML, error) {
	o = ws.allowed(t.topic, o)
	if t.self != nil || t.view == nil || o.about {
		return ws.fresh(t, o, about)
	}
	html, err := ws.known(t, o)
	if err == nil {
		ws.rendered.Put(t.view, o, html, len(o.label)+len(o.more)+len(html))
	}
	return html, err
}

// known returns the element for a topic from memory if a page has it. It keeps none, since a request may name any
// options: they must not drive out the elements of pages.
func (ws *workshop) known(t knownTopic, o options) (template.HTML, error) {
	if html, ok := ws.rendered.Get(t.view, o); ok {
		return html, nil
	}
	return ws.fresh(t, o, nil)
}

// fresh renders the element for a topic.
func (ws *workshop) fresh(t knownTopic, o options, about aboutFunc) (template.HTML, error) {
	d, err := ws.widgetData(t, o, about)
	if err != nil {
		return "", err
	}
	return ws.render("widget", d)
}

func (ws *workshop) widgetData(t knownTopic, o options, about aboutFunc) (widgetData, error) {
	texts := ws.cfg.Texts
	d := widgetData{Topic: t.topic.Local(), Src: ws.prefix, Max: o.max, Form: o.form, Label: o.label, MoreURL: o.more, Texts: texts}
	var guests, recent int
	if v := t.view; v != nil {
		d.Known, d.Cursor = true, v.PageCursor(o.max)
		guests, recent = v.Guests, v.Recent
		d.Rest = max(t.total()-o.max, 0)
		d.Empty = t.total() == 0
		if v.Stale {
			at := v.AsOf.UTC()
			d.Since, d.Lost = at.Format(time.RFC3339), strings.ReplaceAll(texts.Lost, "{time}", at.Format("15:04 UTC"))
		}
		var err error
		if o.about && about != nil {
			d.People, err = ws.peopleAbout(t, o.max, about)
		} else {
			d.People, err = ws.people(t, o.max)
		}
		if err != nil {
			return d, err
		}
	}
	if o.about {
		d.About = fragment{part: "about", topic: t.topic, max: o.max}.src(ws.prefix)
	}
	if ws.site.Kind(t.topic).Bots {
		var bots template.HTML
		if t.view != nil {
			bots = ws.botsOf(t.view.Bots)
		}
		d.Bots = ws.partElement(fragment{part: "bots", topic: t.topic}, bots)
	}
	d.More = ws.locale.text(texts.More, d.Rest)
	elsewhere := t.topic.Local() != ws.cfg.Topic // page views are recorded in cfg.Topic only
	online := ws.figure("online", t.total(), "online", texts.Online)
	if elsewhere {
		online = ws.figure("online", t.total(), "present", texts.Present)
	}
	d.Figures = []figure{online, ws.figure("guests", guests, "guests", texts.Guests), ws.figure("recent", recent, "recent", texts.Recent)}
	d.Figures[2].Hidden = elsewhere
	d.Figures[1].Hidden = ws.cfg.Members
	for i := len(d.Figures) - 1; i >= 0; i-- {
		if !o.figures.has(i) {
			d.Figures = slices.Delete(d.Figures, i, i+1)
		}
	}
	return d, nil
}

func (ws *workshop) figure(name string, n int, key string, text Plural) figure {
	return figure{Name: name, N: n, Number: ws.locale.number(n), Key: key, Text: ws.locale.text(text, n)}
}

// people returns the items of the newest n members. The visitor is the first if the View
// does not have the visitor yet.
func (ws *workshop) people(t knownTopic, n int) (first template.HTML, err error) {
	if n == 0 {
		return "", nil
	}
	if t.self != nil {
		if first, err = ws.render("people", []person{newPerson(*t.self, ws.cfg.Texts.Status)}); err != nil {
			return "", err
		}
		n--
	}
	rest, err := ws.newest(t.view, n)
	return first + rest, err
}

// peopleAbout returns the items of the newest n members, with the notes of about.
func (ws *workshop) peopleAbout(t knownTopic, n int, about aboutFunc) (template.HTML, error) {
	var members []presence.Member
	if t.self != nil && n > 0 {
		members = append(members, *t.self)
	}
	members = append(members, t.view.Newest(n-len(members))...)
	of := about(t.view.Topic, members)
	people := make([]person, len(members))
	for i, m := range members {
		people[i] = newPerson(m, ws.cfg.Texts.Status)
		people[i].HasAbout, people[i].About = true, of(m)
	}
	return ws.render("people", people)
}

// avatar returns a user's picture as in the widget, without the dot.
func (ws *workshop) avatar(u presence.User) (template.HTML, error) {
	return ws.render("avatar", newPerson(presence.Member{User: u}, ws.cfg.Texts.Status))
}
