package templates

import (
	"context"
	"html/template"
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/internal/lastseen"
	"github.com/rollcall-go/rollcall/presence"
)

// A sighting is when a user was last seen, as texts for visitors. The zero value means that it
// is unknown.
type sighting struct{ datetime, title, text string }

// lastSeen renders when a user was last seen.
func (e *markedElements) lastSeen(id any) (template.HTML, error) {
	if e.closed() {
		return "", nil
	}
	user := e.idOf(id)
	return e.element(lastSeenElement(user, e.sighting(e.site(), user))), nil
}

// sighting returns when a user was last seen. It returns a marker if the store must be asked: that
// happens at the end of the page, for all users at once.
func (e *markedElements) sighting(t knownTopic, user presence.UserID) sighting {
	if _, online := t.member(user); online {
		return sighting{text: e.workshop.cfg.Texts.OnlineNow}
	}
	if e.markers != nil && e.workshop.seen.Missing(user) {
		return e.markers.add(user)
	}
	e.see(t, user)
	return e.workshop.sighting(user)
}

// prefetchSeen is prefetch as a template function, which must return a value.
func (e *markedElements) prefetchSeen(ids ...any) (string, error) { return "", e.prefetch(ids) }

// prefetch loads when users were last seen. Each argument is an id or a slice of ids.
func (e *markedElements) prefetch(ids []any) error {
	var all []presence.UserID
	for _, id := range flatten(ids) {
		all = append(all, e.idOf(id))
	}
	e.see(e.site(), all...)
	return nil
}

// see asks the store when users were last seen, if the page still waits for the store.
func (e *markedElements) see(t knownTopic, ids ...presence.UserID) {
	seen := e.workshop.seen
	if !e.waits() || !seen.Missing(ids...) {
		return
	}
	var absent []presence.UserID
	for _, id := range ids {
		if _, online := t.member(id); !online && seen.Missing(id) {
			absent = append(absent, id)
		}
	}
	slices.Sort(absent)
	for some := range slices.Chunk(slices.Compact(absent), lastseen.MaxAsked) {
		if err := e.ask(func(ctx context.Context) error { return seen.Ask(ctx, some) }); err != nil {
			return // without an answer they are unknown
		}
	}
}

// sighting returns when a user was last seen, from memory.
func (ws *workshop) sighting(user presence.UserID) sighting {
	seen := ws.seen.Get(user)
	if seen.IsZero() {
		return sighting{}
	}
	seen = seen.UTC()
	return sighting{seen.Format(time.RFC3339), seen.Format("2006-01-02 15:04 UTC"), ws.ago(time.Since(seen))}
}

// ago returns the text for a time that is d ago.
func (ws *workshop) ago(d time.Duration) string {
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
