package handlers

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/rollcall-go/rollcall/internal/problem"
	"github.com/rollcall-go/rollcall/presence"
)

// A query is a request's parameters. Its methods read them. The first parameter that is wrong sets err, and what
// is read after it has no meaning: so an endpoint reads all that it needs, and then looks at err once.
type query struct {
	url.Values
	form    url.Values // in the body of a POST
	request *http.Request
	visitor presence.Visitor
	site    *siteCode
	err     error
}

// query returns the parameters of a visitor's request.
func (s *siteCode) query(r *http.Request, v presence.Visitor) *query {
	values, err := parseQuery(r)
	return &query{values, nil, r, v, s, err}
}

// fail sets err, unless it is set or why is nil.
func (q *query) fail(why error) {
	if q.err == nil {
		q.err = why
	}
}

// bad sets err to the answer for a parameter that is wrong, unless it is set.
func (q *query) bad(detail string) { q.fail(badRequest(detail)) }

// posted returns the parameters of a stream's request. A POST may have those that are long in its body. Any other body
// is read too, while it has a deadline.
func (ss *streams) posted(w http.ResponseWriter, r *http.Request, v presence.Visitor) *query {
	q := ss.site.query(r, v)
	switch {
	case q.err != nil:
	case r.Method == http.MethodPost:
		q.form, q.err = readForm(w, r, ss.cfg.listLimit())
		for _, param := range []string{"topic", "cursor"} {
			q.Values[param] = append(q.Values[param], q.form[param]...)
		}
	case r.ContentLength != 0:
		_, q.err = readBody(w, r, ss.cfg.MaxBody)
	}
	return q
}

// parseQuery returns the request's parameters. A malformed one is an error, except for
// a cursor, which is ignored.
func parseQuery(r *http.Request) (url.Values, error) {
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err == nil {
		return q, nil
	}
	onlyCursors := false
	for pair := range strings.SplitSeq(r.URL.RawQuery, "&") {
		if _, err := url.ParseQuery(pair); err != nil {
			if onlyCursors = strings.HasPrefix(pair, "cursor="); !onlyCursors {
				break
			}
		}
	}
	if !onlyCursors {
		return nil, badRequest("The query string cannot be read.")
	}
	return q, nil
}

// named returns the topics that a request names in the given parameters, each once. If it names none, it
// returns the topic of the whole site. More than limit topics are an error.
func (q *query) named(limit int, params ...string) (topics []presence.Topic) {
	for _, param := range params {
		for _, s := range q.Values[param] {
			t, err := parseTopic(q.visitor, s)
			switch {
			case err != nil:
				q.fail(err)
				return nil
			case slices.Contains(topics, t):
				continue
			case len(topics) == limit:
				q.fail(presence.ErrTooManyTopics)
				return nil
			}
			topics = append(topics, t)
		}
	}
	if topics == nil {
		topics = []presence.Topic{presence.Site.In(q.visitor.Tenant)}
	}
	return topics
}

// topic returns the one topic that a request names. That the visitor may not see its roster is an error.
func (q *query) topic() presence.Topic {
	topics := q.named(1, "topic")
	if q.err != nil {
		return ""
	}
	q.err = q.site.permit(q.site.lists, q.request, q.visitor, topics...)
	return topics[0]
}

// errForbidden is the same error whether the topic exists or not.
func errForbidden() error {
	return forbidden("There is no such topic, or you may not see it. The site's Config.Authorize decides that.")
}

// limit returns how many users the request asks for.
func (q *query) limit() int { return q.number("limit", maxLimit, q.site.cfg.Limit) }

// number returns a parameter that is a whole number from 1 to most, or otherwise if it is missing.
func (q *query) number(param string, most, otherwise int) int {
	if !q.Has(param) {
		return otherwise
	}
	n, err := strconv.Atoi(q.Get(param))
	if err != nil || n < 1 || n > most {
		q.bad("The " + param + " is a number from 1 to " + strconv.Itoa(most) + ".")
	}
	return n
}

// cursor joins the cursors of a request into one.
func (q *query) cursor() presence.Cursor {
	return presence.ReadCursor(strings.Join(q.Values["cursor"], "~"))
}

// flag returns a parameter that is 1 or 0. Default: false.
func (q *query) flag(param string) bool { return q.flagOr(param, "1 or 0") }

// flagOr is flag for a parameter that may have other values too. values are all of them, for the error.
func (q *query) flagOr(param, values string) bool {
	on, err := strconv.ParseBool(q.Get(param))
	if q.Has(param) && err != nil {
		q.bad("The parameter " + param + " is " + values + ".")
	}
	return on
}

// isOne returns whether a parameter, which is 1 or left out, is there.
func (q *query) isOne(param string, values []string) bool {
	if slices.ContainsFunc(values, func(value string) bool { return value != "1" }) {
		q.bad("The parameter " + param + " is 1, or left out.")
	}
	return len(values) > 0
}

// beat returns whether the page beats, and whether it lets the server decide that.
func (q *query) beat() (beats, auto bool) {
	if q.Get("beat") == "auto" {
		return false, true
	}
	return q.flagOr("beat", "1, 0 or auto"), false
}

// ofAnother reports whether a request comes from the page of another user. The parameter or field me names the page's
// user. If another user has signed in since, the page must not follow or change anything as that user.
func ofAnother(q url.Values, v presence.Visitor) bool {
	me := q.Get("me")
	return me != "" && v.SignedIn() && me != string(v.User.ID.Local())
}

func errOfAnother() error {
	return forbidden("Somebody else has signed in since that page was loaded. Nothing has changed.")
}

// mine checks that the request does not come from the page of another user. It returns err.
func (q *query) mine() error {
	if ofAnother(q.Values, q.visitor) {
		q.fail(problem.New(http.StatusUnauthorized, "Somebody else has signed in since this page was loaded, or a cache gave this visitor the page of another one. Load it again."))
	}
	return q.err
}

// nobeat returns the status with which a beat of the page was refused; 0: none was.
func (q *query) nobeat() int {
	status, err := strconv.Atoi(q.Get("nobeat"))
	if q.Has("nobeat") && (err != nil || status < 100 || status > 599) {
		q.bad("The parameter nobeat is the status by which a beat of the page was refused, from 100 to 599.")
	}
	return status
}
