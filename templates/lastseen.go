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

// see makes sure, as far as the page waits for it, that it is known when users were
// last seen. It takes along the users for whom the page was asked the last time, so that
// a list costs one round trip.
func (p *page) see(t known, ids ...presence.UserID) {
	seen := p.kit.seen
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

// prefetchSeen asks in one round trip when users were last seen, two hundred at a
// time, for a list that is to call lastSeen for each. Its arguments are ids, or slices of them. It renders
// nothing.
func (p *page) prefetchSeen(ids ...any) (string, error) {
	k, err := p.site()
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
		p.see(k, some...)
	}
	return "", nil
}

// lastSeen renders when a user was last seen: empty if that is not known.
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
		return template.HTML(template.HTMLEscapeString(p.kit.cfg.Texts.OnlineNow)), nil
	}
	p.see(t, user)
	seen := p.kit.seen.get(user)
	if seen.IsZero() {
		return "", nil
	}
	seen = seen.UTC()
	return p.kit.execute("seen", struct{ Datetime, Title, Text string }{
		seen.Format(time.RFC3339), seen.Format("2006-01-02 15:04 UTC"), p.kit.ago(time.Since(seen)),
	})
}

// ago says how long something is past.
func (k *kit) ago(d time.Duration) string {
	texts := k.cfg.Texts
	switch {
	case d < time.Minute:
		return texts.JustNow
	case d < time.Hour:
		return k.locale.text(texts.Minutes, int(d/time.Minute))
	case d < 24*time.Hour:
		return k.locale.text(texts.Hours, int(d/time.Hour))
	}
	return k.locale.text(texts.Days, int(d/(24*time.Hour)))
}
