package templates

import (
	"context"
	"errors"
	"html/template"
	"maps"
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/internal/gate"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// Bounds for the places that a page shows.
const (
	maxAuthorized = 500 // topics about which a page asks Config.Authorize
	maxPlacesOf   = 2   // places that are named beside one user
)

// errUnpaid means that the visitor cannot pay for a part now: see the package gate.
var errUnpaid = errors.New("templates: the visitor asks for too much")

// A place is a topic as one visitor may see it.
type place struct {
	seen  bool // the visitor may see it
	title string
	url   string // empty: no link
}

// where renders where in the site users are.
func (e *partElements) where(options ...any) (template.HTML, error) {
	f := fragment{part: "where", topic: e.workshop.cfg.Topic.In(e.visitor.Tenant), max: maxNames}
	f, err := f.with("where", options, "max")
	if err != nil {
		return "", err
	}
	return e.part(f)
}

// places renders the content of the part "where": the places that the visitor may see, the fullest
// first.
func (e *partElements) places(f fragment) (template.HTML, error) {
	ws := e.workshop
	var all []presence.Place
	err := e.ask(func(ctx context.Context) (err error) {
		all, err = ws.tracker.Places(ctx, e.visitor.Tenant)
		return err
	})
	texts := ws.cfg.Texts
	if err != nil {
		return newMarkup(64).raw(`<p class="presence-unknown">`).text(texts.Unknown).raw("</p>").html(), nil
	}
	site := func(at presence.Place) bool { return at.Topic.Local() == ws.cfg.Topic }
	all = slices.DeleteFunc(slices.Clone(all[:min(len(all), maxAuthorized+1)]), site)
	b := newMarkup(512 * min(f.max, len(all)))
	items := 0
	for _, at := range all[:min(f.max, len(all))] { // the fullest, so other places have hardly more users
		items += len(at.Users) * gate.Item
	}
	shown := 0
	for page := range slices.Chunk(all, max(f.max, 1)) {
		topics := make([]presence.Topic, len(page))
		for i, at := range page {
			topics[i] = at.Topic
		}
		if shown == f.max {
			break
		}
		if !e.pay(topics, items) {
			return "", errUnpaid
		}
		items = 0
		for _, at := range page {
			place := e.place(at.Topic)
			if !place.seen || shown == f.max {
				continue
			}
			if shown++; shown == 1 {
				b.raw(`<ul class="presence-places" role="list">`)
			}
			b.raw(`<li data-place="`).text(string(at.Topic.Local())).raw(`">`)
			ws.placeOf(b, place)
			b.raw(` <span class="presence-there">`)
			if at.Total > 0 {
				b.raw(ws.counted(at.Total, texts.Present))
			}
			if at.Guests > 0 {
				b.raw(" ").raw(ws.counted(at.Guests, texts.Guests))
			}
			b.raw("</span>")
			e.names(b, at)
			b.raw("</li>")
		}
	}
	if shown == 0 {
		return b.raw(`<p class="presence-empty">`).text(texts.Nowhere).raw("</p>").html(), nil
	}
	return b.raw("</ul>").html(), nil
}

// counted returns a number and the word for it.
func (ws *workshop) counted(n int, text Plural) template.HTML {
	return newMarkup(64).raw(`<span><data value="`).int(n).raw(`">`).text(ws.locale.number(n)).raw("</data> ").text(ws.locale.text(text, n)).raw("</span>").html()
}

// names writes the users of a place by name.
func (e *partElements) names(b *markup, at presence.Place) {
	if len(at.Users) == 0 {
		return
	}
	b.raw(` <ul class="presence-names" role="list">`)
	for _, m := range at.Users {
		b.raw(`<li data-person="`).text(string(m.ID.Local())).raw(`"`).group(m.User).raw(">").named(m.User).raw("</li>")
	}
	if n := at.Total - len(at.Users); n > 0 {
		b.raw(`<li class="presence-more">`).text(e.workshop.locale.text(e.workshop.cfg.Texts.More, n)).raw("</li>")
	}
	b.raw("</ul>")
}

// place returns a topic as the page's visitor may see it. It asks the site once for each
// topic of a page, after pay.
func (e *partElements) place(topic presence.Topic) place {
	if known, ok := e.placed[topic]; ok {
		return known
	}
	var at place
	cfg := &e.workshop.cfg
	if topic.Local() != cfg.Topic && cfg.Authorize != nil && len(e.placed) < maxAuthorized {
		at = e.askSite(topic)
	}
	if e.placed == nil {
		e.placed = make(map[presence.Topic]place)
	}
	e.placed[topic] = at
	return at
}

// pay pays for what the site is asked about some topics, which it may change, and more points, before the first question. It reports whether the
// visitor could pay.
func (e *partElements) pay(topics []presence.Topic, more int) bool {
	cfg := &e.workshop.cfg
	if cfg.Authorize == nil {
		return gate.Pays(e.request.Context(), more)
	}
	if e.rights == nil {
		e.rights = e.workshop.rights.Asker(e.request, e.visitor)
	}
	topics = slices.DeleteFunc(topics, func(t presence.Topic) bool { return t.Local() == cfg.Topic })
	if cfg.Title != nil || cfg.Link != nil { // they are asked each time: Rights remembers no titles
		more += len(topics) * gate.Question
	}
	return e.rights.Pay(topics, more)
}

// askSite asks the site about a topic. After a panic of the site's code the visitor does not
// see the topic, and the page goes on.
func (e *partElements) askSite(topic presence.Topic) (at place) {
	cfg := &e.workshop.cfg
	defer func() {
		if panicked := recover(); panicked != nil {
			at = place{}
			if e.workshop.mistakes.Pass() {
				e.workshop.tracker.Config().Logger.Error("presence: Authorize, Title or Link of templates.Config panicked; the topic is not shown as a place",
					"topic", topic.Local(), "panic", panicked)
			}
		}
	}()
	if !e.rights.May(topic) {
		return place{}
	}
	topic = topic.Local()
	at = place{seen: true, title: string(topic)}
	if cfg.Title != nil {
		at.title = cfg.Title(e.request.Context(), topic)
	}
	if cfg.Link != nil && at.title != "" {
		at.url = link(cfg.Link(e.request.Context(), topic))
	}
	return at
}

// placeOf writes the words for a place.
func (ws *workshop) placeOf(b *markup, at place) {
	switch {
	case at.title == "":
		b.raw(`<span class="presence-place">`).text(ws.cfg.Texts.Elsewhere).raw("</span>")
	case at.url == "":
		b.raw(`<bdi class="presence-place">`).text(at.title).raw("</bdi>")
	default:
		b.raw(`<a class="presence-place" href="`).text(at.url).raw(`"><bdi>`).text(at.title).raw("</bdi></a>")
	}
}

// abouts renders the content of the part "about": the notes beside the names of the newest users in
// a widget.
func (e *partElements) abouts(f fragment) (template.HTML, error) {
	t := e.know(f.topic)
	if t.view == nil {
		return "", nil
	}
	members := t.view.Newest(f.max)
	about := e.about(f.topic, members)
	if about == nil {
		return "", errUnpaid
	}
	b := newMarkup(256 * len(members))
	for _, m := range members {
		b.raw(`<span data-about="`).text(string(m.ID.Local())).raw(`">`).raw(about(m)).raw("</span>\n")
	}
	return b.html(), nil
}

// about returns a function that renders the note beside a member's name: the member's places that
// the visitor may see, since when the member is online, and when the member last viewed a page.
// The function works only for the given members of the topic. It is nil if the visitor cannot pay.
func (e *partElements) about(topic presence.Topic, members []presence.Member) func(presence.Member) template.HTML {
	ws := e.workshop
	ids := make([]presence.UserID, len(members))
	for i, m := range members {
		ids[i] = m.ID
	}
	var topics map[presence.UserID][]presence.Topic
	if ws.cfg.Authorize != nil {
		_ = e.ask(func(ctx context.Context) (err error) { // without an answer no places are shown
			topics, err = ws.tracker.PlacesOf(ctx, ids...)
			return err
		})
	}
	asked := slices.Concat(slices.Collect(maps.Values(topics))...)
	slices.Sort(asked)
	if !e.pay(slices.Compact(asked), len(members)*gate.Item) {
		return nil
	}
	active := e.lastActive(topic)
	return func(m presence.Member) template.HTML {
		b := newMarkup(256)
		shown := 0
		for _, topic := range topics[m.ID] {
			if at := e.place(topic); at.seen && shown < maxPlacesOf {
				shown++
				ws.placeOf(b, at)
				b.raw(" ")
			}
		}
		if !m.Since.IsZero() {
			at := newMarkup(128).time(m.Since, ws.clock(m.Since)).html()
			b.raw("<span>").raw(fillIn(ws.cfg.Texts.Since, "{time}", string(at))).raw("</span>")
		}
		at := m.Active // zero unless the topic's Kind has Active
		if at.IsZero() {
			at = active[m.ID]
		}
		if !at.IsZero() {
			ago := newMarkup(128).time(at, ws.ago(time.Since(at))).html()
			b.raw(" <span>").raw(fillIn(ws.cfg.Texts.Active, "{ago}", string(ago))).raw("</span>")
		}
		return b.html()
	}
}

// lastActive returns when the latest users of a topic were active, if its Kind has Recent. So a page
// can show these times without Kind.Active, which costs diffs for page views.
func (e *partElements) lastActive(topic presence.Topic) map[presence.UserID]time.Time {
	cfg := e.workshop.tracker.Config()
	if cfg.Kind(topic).Recent == 0 {
		return nil
	}
	active := make(map[presence.UserID]time.Time)
	_ = e.ask(func(ctx context.Context) error { // without an answer nothing is shown
		page, err := e.workshop.tracker.LatelyActive(ctx, topic, backend.MaxWithin, maxLatelyShown)
		for _, u := range page.Users {
			active[u.ID] = u.Active
		}
		return err
	})
	return active
}

// maxLatelyShown is how many users [track.Tracker.LatelyActive] returns at most.
const maxLatelyShown = 100

// clock returns the time of day of a moment in the last 24 hours, and the date of an older one.
func (ws *workshop) clock(at time.Time) string {
	if time.Since(at) < 24*time.Hour {
		return at.UTC().Format("15:04 UTC")
	}
	return at.UTC().Format(time.DateOnly)
}
