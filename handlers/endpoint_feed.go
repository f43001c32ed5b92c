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
	q := e.site.query(r, v)
	types, name, want := q.types(e.types), q.feed(), q.items()
	if q.err != nil {
		return q.err
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

// feed returns the one feed that a request names. That the visitor may not read it is an error.
func (q *query) feed() feed.Name {
	topics := q.named(1, "topic")
	if q.mine() != nil {
		return ""
	}
	if q.fail(q.site.cfg.followable(q.visitor, topics...)); q.err != nil {
		return ""
	}
	name, err := feed.NameOf(topics[0], q.visitor)
	if err != nil {
		q.bad("Name one feed: topic=inbox, or a room such as topic=feed:thread:1.")
	} else {
		q.fail(q.site.permit(q.site.follows, q.request, q.visitor, topics...))
	}
	return name
}

// items returns which items of a feed a request asks for.
func (q *query) items() feed.Query {
	if q.Has("before") && q.Has("cursor") {
		q.bad("Give either before or cursor, and not both.")
	}
	return feed.Query{
		Before: int64(q.number("before", math.MaxInt, 0)), Times: q.isOne("times", q.Values["times"]),
		Limit: q.number("limit", maxItems, 0), Cursor: q.cursor(),
	}
}
