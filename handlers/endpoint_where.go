package handlers

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"

	"github.com/rollcall-go/rollcall/internal/gate"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/track"
)

// Bounds of one answer: the number of topics in it, and the number of topics about which the site is asked
// whether the visitor may see them.
const (
	maxPlaces      = 100
	maxPlacesAsked = 1000
)

// placeJSON is the JSON of one topic.
type placeJSON struct {
	Topic  presence.Topic `json:"topic"`
	Total  int            `json:"total"`
	Guests int            `json:"guests"`
	Users  members        `json:"users"`
	Names  *bool          `json:"names,omitempty"` // false: the topic is count-only; otherwise left out
}

// where answers with the topics that have people in them and that the visitor may see, the
// fullest first. It reads memory only.
func (e *rosterEndpoints) where(w http.ResponseWriter, r *http.Request, v presence.Visitor) error {
	q := e.site.query(r, v)
	limit := min(q.limit(), maxPlaces)
	if q.err != nil {
		return q.err
	}
	after, err := parsePlace(v, q.Get("after"))
	if err != nil {
		return err
	}
	ctx, cancel := storeContext(r)
	defer cancel()
	all, err := e.tracker.Places(ctx, v.Tenant)
	if err != nil {
		return err
	}
	topics, next, err := e.seenPlaces(r, v, all, after, limit)
	if err != nil {
		return err
	}
	answer := struct {
		Topics []placeJSON `json:"topics"`
		Next   string      `json:"next,omitempty"`
	}{make([]placeJSON, len(topics)), next}
	config := e.tracker.Config()
	for i, p := range topics {
		answer.Topics[i] = placeJSON{Topic: p.Topic.Local(), Total: p.Total, Guests: p.Guests, Users: p.Users}
		if config.Kind(p.Topic).CountOnly {
			answer.Topics[i].Names = new(bool)
		}
	}
	return writeFresh(w, answer)
}

// seenPlaces returns up to limit places that the visitor may see, after a given place, and where the next page
// begins. It asks the site about maxPlacesAsked topics at most. If that is reached there is no next page,
// because next must name a topic that the visitor may see. The visitor pays for one page after the other, before its
// first question. If nothing is left then, seenPlaces returns the places that it has, or an error for none.
func (e *rosterEndpoints) seenPlaces(r *http.Request, v presence.Visitor, all []presence.Place, after *presence.Place, limit int) (seen []presence.Place, next string, err error) {
	asking, cancel := e.site.asking(r)
	defer cancel()
	site := e.site.rights.Asker(asking, v)
	rest := all
	if after != nil {
		rest = nil
		for _, p := range all {
			if len(rest) < maxPlacesAsked && track.FullestFirst(p, *after) > 0 {
				rest = append(rest, p)
			}
		}
	}
	items := 0
	for _, p := range rest[:min(len(rest), limit)] { // the fullest, so other places have hardly more users
		items += len(p.Users) * gate.Item
	}
	for page := range slices.Chunk(rest[:min(len(rest), maxPlacesAsked)], limit+1) {
		topics := make([]presence.Topic, len(page))
		for i, p := range page {
			topics[i] = p.Topic
		}
		if !site.Pay(topics, items) {
			if len(seen) == 0 {
				return nil, "", errTooManyRequests()
			}
			return seen, namePlace(seen[len(seen)-1]), nil
		}
		items = 0
		for _, p := range page {
			switch {
			case !site.May(p.Topic):
			case len(seen) == limit:
				return seen, namePlace(seen[limit-1]), nil
			default:
				seen = append(seen, p)
			}
		}
	}
	return seen, "", nil
}

// placeName is the value of next: where in the order of places the next page begins. It stays valid if the
// place has changed since.
type placeName struct {
	Topic         presence.Topic
	Total, Guests int
}

func namePlace(p presence.Place) string {
	name, _ := json.Marshal(placeName{p.Topic.Local(), p.Total, p.Guests}) // cannot fail
	return base64.RawURLEncoding.EncodeToString(name)
}

// parsePlace returns the place after which a page begins; nil: the first page.
func parsePlace(v presence.Visitor, after string) (*presence.Place, error) {
	if after == "" {
		return nil, nil
	}
	var name placeName
	text, err := base64.RawURLEncoding.DecodeString(after)
	if err != nil || json.Unmarshal(text, &name) != nil {
		return nil, badPage()
	}
	return &presence.Place{Topic: name.Topic.In(v.Tenant), Total: name.Total, Guests: name.Guests}, nil
}
