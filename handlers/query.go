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

// A query is a request's parameters.
type query struct {
	url.Values
	form    url.Values // in the body of a POST
	request *http.Request
	visitor presence.Visitor
	site    *siteCode
}

// query returns the parameters of a visitor's request.
func (s *siteCode) query(r *http.Request, v presence.Visitor) (query, error) {
	values, err := parseQuery(r)
	return query{values, nil, r, v, s}, err
}

// posted returns the parameters of a stream's request. A POST may have those that are long in its body. Any other body
// is read too, while it has a deadline.
func (ss *streams) posted(w http.ResponseWriter, r *http.Request, v presence.Visitor) (q query, err error) {
	if q, err = ss.site.query(r, v); err == nil && r.Method != http.MethodPost && r.ContentLength != 0 {
		_, err = readBody(w, r, ss.cfg.MaxBody)
	}
	if err != nil || r.Method != http.MethodPost {
		return q, err
	}
	q.form, err = readForm(w, r, ss.cfg.listLimit())
	for _, param := range []string{"topic", "cursor"} {
		q.Values[param] = append(q.Values[param], q.form[param]...)
	}
	return q, err
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
func (q query) named(limit int, params ...string) ([]presence.Topic, error) {
	var topics []presence.Topic
	for _, param := range params {
		for _, s := range q.Values[param] {
			t, err := parseTopic(q.visitor, s)
			if err != nil {
				return nil, err
			}
			if slices.Contains(topics, t) {
				continue
			}
			if len(topics) == limit {
				return nil, presence.ErrTooManyTopics
			}
			topics = append(topics, t)
		}
	}
	if topics == nil {
		topics = []presence.Topic{presence.Site.In(q.visitor.Tenant)}
	}
	return topics, nil
}

// topic returns the one topic that a request names, or an error if the visitor may not see
// its roster.
func (q query) topic() (presence.Topic, error) {
	topics, err := q.named(1, "topic")
	if err != nil {
		return "", err
	}
	return topics[0], q.site.permit(q.site.lists, q.request, q.visitor, topics...)
}

// errForbidden is the same error whether the topic exists or not.
func errForbidden() error {
	return forbidden("There is no such topic, or you may not see it. The site's Config.Authorize decides that.")
}

// limit returns how many users the request asks for.
func (q query) limit() (int, error) {
	if !q.Has("limit") {
		return q.site.cfg.Limit, nil
	}
	n, err := q.number("limit", 1, maxLimit)
	return int(n), err
}

// number returns a parameter that is a whole number from least to most; 0 if it is missing.
func (q query) number(param string, least, most int64) (int64, error) {
	if !q.Has(param) {
		return 0, nil
	}
	n, err := strconv.ParseInt(q.Get(param), 10, 64)
	if err != nil || n < least || n > most {
		return 0, badRequest("The " + param + " is a number from " + strconv.FormatInt(least, 10) + " to " + strconv.FormatInt(most, 10) + ".")
	}
	return n, nil
}

// cursor joins the cursors of a request into one.
func (q query) cursor() presence.Cursor {
	return presence.ReadCursor(strings.Join(q.Values["cursor"], "~"))
}

// flag returns a parameter that is 1 or 0. Default: false.
func (q query) flag(param string) (bool, error) {
	if !q.Has(param) {
		return false, nil
	}
	on, err := strconv.ParseBool(q.Get(param))
	if err != nil {
		return false, badRequest("The parameter " + param + " is 1 or 0.")
	}
	return on, nil
}

// isOne returns whether a request has a parameter that is 1 or left out.
func isOne(param string, values []string) (bool, error) {
	for _, value := range values {
		if value != "1" {
			return false, badRequest("The parameter " + param + " is 1, or left out.")
		}
	}
	return len(values) > 0, nil
}

// beat returns whether the page beats, and whether it lets the server decide that.
func (q query) beat() (beats, auto bool, err error) {
	switch said := q.Get("beat"); {
	case !q.Has("beat"):
		return false, false, nil
	case said == "auto":
		return false, true, nil
	default:
		if beats, err = strconv.ParseBool(said); err != nil {
			err = badRequest("The parameter beat is 1, 0 or auto.")
		}
		return beats, false, err
	}
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

// mine returns an error if the request comes from the page of another user.
func (q query) mine() error {
	if ofAnother(q.Values, q.visitor) {
		return problem.New(http.StatusUnauthorized, "Somebody else has signed in since this page was loaded, or a cache gave this visitor the page of another one. Load it again.")
	}
	return nil
}

// nobeat returns the status with which a beat of the page was refused; 0: none was.
func (q query) nobeat() (status int, err error) {
	if !q.Has("nobeat") {
		return 0, nil
	}
	status, err = strconv.Atoi(q.Get("nobeat"))
	if err != nil || status < 100 || status > 599 {
		return 0, badRequest("The parameter nobeat is the status by which a beat of the page was refused, from 100 to 599.")
	}
	return status, nil
}
