package handlers

import (
	"math"
	"net/http"

	"github.com/rollcall-go/rollcall/internal/gate"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed"
)

// feedEndpoints serve feeds, and change what the visitor has read and muted.
type feedEndpoints struct {
	cfg   *settings
	site  *siteCode
	types *typeSets
}

// maxItems is how many items of a feed one answer has.
const maxItems = 100

// read answers with a page of a feed, or with what changed since a cursor. It costs one
// query, also for 304.
func (e *feedEndpoints) read(w http.ResponseWriter, r *http.Request, v presence.Visitor) error {
	q, err := e.site.query(r, v)
	if err != nil {
		return err
	}
	types, err := q.types(e.types)
	if err != nil {
		return err
	}
	name, err := q.feed()
	if err != nil {
		return err
	}
	want, err := q.items()
	if err != nil {
		return err
	}
	ctx, cancel := storeContext(r)
	defer cancel()
	if !gate.Pays(ctx, max(want.Limit, gate.Token/gate.Name)*gate.Name) {
		return errTooManyRequests()
	}
	body, _, err := e.cfg.Feeds.Read(ctx, name, want)
	if err != nil {
		return err
	}
	event := presence.Event{Type: presence.EventState, Topic: name.Topic(), Data: body} // or a diff, which has the same keys
	newEncodedPage(v, types.read(event)).write(w, r)
	return nil
}

// feed returns the one feed that a request names, or an error if the visitor may not read it.
func (q query) feed() (feed.Name, error) {
	topics, err := q.named(1, "topic")
	if err != nil {
		return "", err
	}
	if err := q.mine(); err != nil {
		return "", err
	}
	if err := q.site.cfg.followable(q.visitor, topics...); err != nil {
		return "", err
	}
	name, err := feed.NameOf(topics[0], q.visitor)
	if err != nil {
		return "", badRequest("Name one feed: topic=inbox, or a room such as topic=feed:thread:1.")
	}
	return name, q.site.permit(q.site.follows, q.request, q.visitor, topics...)
}

// items returns which items of a feed a request asks for.
func (q query) items() (want feed.Query, err error) {
	if q.Has("before") && q.Has("cursor") {
		return want, badRequest("Give either before or cursor, and not both.")
	}
	if want.Before, err = q.number("before", 1, math.MaxInt64); err != nil {
		return want, err
	}
	if want.Times, err = isOne("times", q.Values["times"]); err != nil {
		return want, err
	}
	limit, err := q.number("limit", 1, maxItems)
	want.Limit, want.Cursor = int(limit), q.cursor()
	return want, err
}
