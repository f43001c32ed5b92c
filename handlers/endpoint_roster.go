package handlers

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/rollcall-go/rollcall/internal/brief"
	"github.com/rollcall-go/rollcall/internal/gate"
	"github.com/rollcall-go/rollcall/internal/viewcache"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/track"
)

// rosterEndpoints serve the rosters of topics and their figures.
type rosterEndpoints struct {
	tracker   *track.Tracker
	site      *siteCode
	pages     rosterPages
	sightings sightingCache
	recents   *brief.Cache[recentQuery, backend.RecentPage] // first pages
}

// roster answers with one page of a topic's roster: the members of a state event, and
// also Order and Next.
func (e *rosterEndpoints) roster(w http.ResponseWriter, r *http.Request, v presence.Visitor) error {
	q := e.site.query(r, v)
	topic, limit, group := q.topic(), q.limit(), q.group()
	if q.err != nil {
		return q.err
	}
	ctx, cancel := storeContext(r)
	defer cancel()
	view, err := e.tracker.View(ctx, topic)
	if err != nil {
		return err
	}
	page, err := e.rosterPage(ctx, view, rosterQuery{q.Get("after"), limit, group})
	if err != nil {
		return err
	}
	page.write(w, r)
	return nil
}

// write answers a request with the page, or with 304 if the client has it.
func (p *encodedPage) write(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "private, no-cache") // revalidate each time
	w.Header().Set("ETag", p.etag)
	if matches(r.Header.Values("If-None-Match"), p.etag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	gate.Owes(r.Context(), gate.Bytes(len(p.body)))
	writeBody(w, "application/json", http.StatusOK, p.body)
}

// A rosterQuery says which page of a roster a request asks for.
type rosterQuery struct {
	after string // empty: the first page
	limit int
	group string // empty: all users
}

// rosterPages keeps the first page of rosters, by limit. The site's own pages ask for the first page.
type rosterPages struct {
	first viewcache.Cache[int, *encodedPage]
}

// keptLimits are the limits of the pages that are kept, beside Config.Limit. The pages of all other limits would
// drive these out.
var keptLimits = []int{10, 20, 50, 100, 200, 500, 1000}

// maxSearched is among how many users [track.Tracker.RosterPage] looks for those of a group.
const maxSearched = 10_000

// rosterPage returns a page of a view. The first page of all users is encoded once for a view and one of the kept
// limits. The visitor pays for any other page.
func (e *rosterEndpoints) rosterPage(ctx context.Context, view *track.View, q rosterQuery) (*encodedPage, error) {
	c := &e.pages
	kept := q.after == "" && q.group == "" && (q.limit == e.site.cfg.Limit || slices.Contains(keptLimits, q.limit))
	if kept {
		if p, ok := c.first.Get(view, q.limit); ok {
			return p, nil
		}
	}
	price := min(q.limit, view.Total) * gate.Item
	if q.group != "" {
		price += min(view.Total, maxSearched) * gate.Item / 64 // for finding them
	}
	if !gate.Pays(ctx, price) {
		return nil, errTooManyRequests()
	}
	p, err := encodePage(view, q)
	if err == nil && kept {
		c.first.Put(view, q.limit, p, len(p.body))
	}
	return p, err
}

// An encodedPage is an answer with an entity tag, such as a page of a roster. All requests
// for that page share it.
type encodedPage struct {
	body []byte
	etag string
}

// pageJSON is the JSON of a page.
type pageJSON struct {
	Topic     presence.Topic    `json:"topic"`
	Cursor    presence.Cursor   `json:"cursor"`
	Total     int               `json:"total"`
	Guests    int               `json:"guests"`
	Recent    int               `json:"recent"`
	Peak      *peakJSON         `json:"peak,omitempty"`  // the most users ever online; nil: unknown
	Bots      map[string]int    `json:"bots,omitempty"`  // crawlers by name
	Names     *bool             `json:"names,omitempty"` // false: the topic is count-only; otherwise left out
	Stale     bool              `json:"stale,omitempty"` // the store is unreachable: this is the last known roster
	Users     members           `json:"users"`
	Truncated bool              `json:"truncated"`
	Order     []presence.UserID `json:"order"`          // the order of Users, since JSON objects have none
	Next      string            `json:"next,omitempty"` // the parameter after of the next page
}

// peakJSON is the JSON of a topic's peak.
type peakJSON struct {
	Total int    `json:"total"`
	At    string `json:"at"`
}

func encodePage(view *track.View, q rosterQuery) (*encodedPage, error) {
	users, next, err := view.Page(q.group, q.after, q.limit)
	if err != nil {
		return nil, badPage()
	}
	p := pageJSON{
		Topic: view.Topic.Local(), Cursor: view.Cursor, Total: view.Total, Guests: view.Guests, Recent: view.Recent,
		Stale: view.Stale, Users: users, Truncated: len(users) < view.Total,
		Order: make([]presence.UserID, len(users)), Next: next, Bots: view.Bots,
	}
	for i, m := range users {
		p.Order[i] = m.ID.Local()
	}
	if !view.Peak.At.IsZero() {
		p.Peak = &peakJSON{view.Peak.Total, view.Peak.At.UTC().Format(timeLayout)}
	}
	if !view.Names {
		p.Names = new(bool)
	}
	body, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	return newEncodedPage(presence.Visitor{Tenant: view.Topic.Tenant()}, body), nil
}

// newEncodedPage returns an answer whose entity tag is a hash of its body and of the visitor's tenant: equal
// answers of two tenants have different tags (rule T3).
func newEncodedPage(v presence.Visitor, body []byte) *encodedPage {
	sum := sha256.Sum256(body)
	if v.Tenant != "" {
		sum = sha256.Sum256(append(sum[:], v.Tenant...))
	}
	return &encodedPage{body, `"` + hex.EncodeToString(sum[:12]) + `"`}
}

// badPage is the error for a parameter after that names no page.
func badPage() error {
	return badRequest("The parameter after is what an earlier page named as next.")
}

// members is encoded as one object by id, in the order of the slice. The values are those of a state event.
type members []presence.Member

// MarshalJSON implements [json.Marshaler].
func (ms members) MarshalJSON() ([]byte, error) {
	return objectOf(len(ms), func(i int) (presence.UserID, []byte, error) {
		value, err := ms[i].MarshalJSON() // directly, because json.Marshal would check the result once more
		return ms[i].ID, value, err
	})
}

// objectOf returns a JSON object of n users in their order.
func objectOf(n int, user func(i int) (presence.UserID, []byte, error)) ([]byte, error) {
	b := append(make([]byte, 0, 2+160*n), '{')
	for i := range n {
		id, value, err := user(i)
		if err != nil {
			return nil, err
		}
		key, err := json.Marshal(id.Local())
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, key...), ':'), value...)
	}
	return append(b, '}'), nil
}

// matches reports whether If-None-Match names an entity tag, or any with "*".
// The comparison is weak (RFC 9110 §13.1.2): a proxy that compresses may have
// put a W/ before it.
func matches(header []string, etag string) bool {
	for _, line := range header {
		for tag := range strings.SplitSeq(line, ",") {
			tag = strings.TrimSpace(tag)
			if tag == "*" || strings.TrimPrefix(tag, "W/") == etag {
				return true
			}
		}
	}
	return false
}
