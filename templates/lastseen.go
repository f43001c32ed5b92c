package templates

import (
	"context"
	"fmt"
	"html/template"
	"reflect"
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// see loads when users were last seen, while the page still waits. It loads the users that
// the page asked for the last time along with them, so that a list costs one round trip.
func (p *page) see(t knownTopic, ids ...presence.UserID) {
	seen := p.widgets.seen
	if !p.waits() || !seen.missing(ids...) {
		return
	}
	var absent []presence.UserID
	for _, id := range append(ids, seen.before(p.route)...) {
		if _, online := t.member(id); !online && len(absent) < maxAsked && !slices.Contains(absent, id) && seen.missing(id) {
			absent = append(absent, id)
		}
	}
	_ = p.ask(func(ctx context.Context) error { return seen.ask(ctx, absent) }) // without an answer it is unknown
}

// prefetchSeen loads when users were last seen, 200 users in one round trip. Its arguments
// are ids, or slices of ids. It renders nothing.
func (p *page) prefetchSeen(ids ...any) (string, error) {
	t, err := p.site()
	if err != nil {
		return "", err
	}
	var all []presence.UserID
	for _, id := range ids {
		v := reflect.ValueOf(id)
		if v.Kind() != reflect.Slice && v.Kind() != reflect.Array {
			all = append(all, presence.UserID(fmt.Sprint(id)))
			continue
		}
		for i := range v.Len() {
			all = append(all, presence.UserID(fmt.Sprint(v.Index(i))))
		}
	}
	for some := range slices.Chunk(all, maxAsked) {
		p.see(t, some...)
	}
	return "", nil
}

// lastSeen renders when a user was last seen, and nothing if that is unknown.
func (p *page) lastSeen(id any) (template.HTML, error) {
	t, err := p.site()
	if err != nil {
		return "", err
	}
	user := presence.UserID(fmt.Sprint(id))
	if len(p.seen) < maxAsked {
		p.seen = append(p.seen, user)
	}
	if _, online := t.member(user); online {
		return template.HTML(template.HTMLEscapeString(p.widgets.cfg.Texts.OnlineNow)), nil
	}
	p.see(t, user)
	seen := p.widgets.seen.get(user)
	if seen.IsZero() {
		return "", nil
	}
	seen = seen.UTC()
	return p.widgets.render("seen", struct{ Datetime, Title, Text string }{
		seen.Format(time.RFC3339), seen.Format("2006-01-02 15:04 UTC"), p.widgets.ago(time.Since(seen)),
	})
}

// ago returns the text for a time that is d ago.
func (ws *Widgets) ago(d time.Duration) string {
	texts := ws.cfg.Texts
	switch {
	case d < time.Minute:
		return texts.JustNow
	case d < time.Hour:
		return ws.locale.text(texts.Minutes, int(d/time.Minute))
	case d < 24*time.Hour:
		return ws.locale.text(texts.Hours, int(d/time.Hour))
	}
	return ws.locale.text(texts.Days, int(d/(24*time.Hour)))
}
