package handlers

import (
	"encoding/json"
	"net/http"
	"net/url"
	"time"

	"github.com/rollcall-go/rollcall/internal/gate"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/track"
)

// How many people one request may name.
const (
	maxPeopleAsked  = 100 // in the query of GET /people
	maxPeoplePosted = 500 // in the body of POST /people
	maxInQuery      = 60  // parameters person of a stream; more go into a body
)

// The sizes of the largest lists of people, in bytes, unless Config.MaxBody is larger. Both have room for 500
// of the longest ids. A form is larger because it escapes each byte with three.
const (
	maxPeopleMessage = 64 << 10  // over a WebSocket
	maxPeopleForm    = 192 << 10 // in the body of a POST
)

// personJSON is the JSON of one person. An unknown person and one whom the visitor may not see have the zero
// value.
type personJSON struct {
	Online   bool            `json:"online"`
	Status   presence.Status `json:"status,omitempty"`
	Text     string          `json:"text,omitempty"`
	On       []string        `json:"on,omitempty"` // kinds of devices
	Since    string          `json:"since,omitempty"`
	LastSeen string          `json:"last_seen,omitempty"`

	// These are for detail=1.
	Source presence.PersonSource `json:"source,omitempty"`
	Name   string                `json:"name,omitempty"`
	Avatar string                `json:"avatar,omitempty"`
	URL    string                `json:"url,omitempty"`
}

// peopleEndpoints serve people on a site with a Directory: other users as the visitor may see them, and the
// visitor's own settings and sessions.
type peopleEndpoints struct {
	tracker *track.Tracker
	cfg     *settings
	site    *siteCode
	faults  *faults
	choices *choices
}

// people answers how the visitor may see other users. The users are in the order of their ids, so that equal
// answers have equal entity tags, whatever the order of the request. A POST is answered 304 too: it only
// reads, and has a body because the list may be long.
func (e *peopleEndpoints) people(w http.ResponseWriter, r *http.Request, v presence.Visitor) error {
	q := e.site.query(r, v)
	if q.err != nil {
		return q.err
	}
	named, most, detail := q.Values["id"], maxPeopleAsked, q.Values["detail"]
	if r.Method == http.MethodPost {
		form, err := readForm(w, r, e.cfg.listLimit())
		if err != nil {
			return err
		}
		named, most, detail = append(named, form["id"]...), maxPeoplePosted, append(detail, form["detail"]...)
	}
	ids, err := userIDs(v, named, most)
	if err != nil {
		return err
	}
	if !gate.Pays(r.Context(), len(ids)*gate.Name) {
		return errTooManyRequests()
	}
	ask := e.tracker.People().Find
	if q.isOne("detail", detail) {
		ask = e.tracker.People().FindInDetail
	}
	if q.err != nil {
		return q.err
	}
	found, err := ask(r.Context(), v.User.ID, ids...)
	if err != nil {
		return err
	}
	people := make(map[presence.UserID]personJSON, len(ids))
	for i, p := range found {
		people[ids[i].Local()] = newPersonJSON(p)
	}
	body, err := json.Marshal(map[string]any{"users": people})
	if err != nil {
		return err
	}
	newEncodedPage(v, body).write(w, r)
	return nil
}

func newPersonJSON(p presence.Person) personJSON {
	person := personJSON{LastSeen: rfc3339(p.LastSeen)}
	if p.Online {
		person = personJSON{Online: true, Status: p.Status.Shown(), Text: p.Text, On: p.On, Since: rfc3339(p.Since)}
	}
	if p.Source != "" {
		person.Source, person.Name, person.Avatar, person.URL = p.Source, p.Name, p.Avatar, p.URL
	}
	return person
}

// rfc3339 returns a time as events have it; empty: no time.
func rfc3339(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(timeLayout)
}

// listLimit is MaxBody for a form with a list of people or topics.
func (s *settings) listLimit() int64 {
	if s.MaxBody < 0 {
		return s.MaxBody
	}
	return max(s.MaxBody, maxPeopleForm)
}

// readForm returns the form in a request's body of at most limit bytes, and the visitor pays for them. It ignores the
// Content-Type, as decodeJSON does. A middleware may have read the body already, for example for a CSRF token. Then
// readForm returns the form that the middleware parsed.
func readForm(w http.ResponseWriter, r *http.Request, limit int64) (url.Values, error) {
	if r.PostForm != nil {
		return r.PostForm, nil
	}
	body, err := readBody(w, r, limit)
	if err != nil {
		return nil, err
	}
	if !gate.Pays(r.Context(), gate.Bytes(len(body))) {
		return nil, errTooManyRequests()
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, badRequest("The body must be a form such as person=alice&person=bob")
	}
	return form, nil
}
