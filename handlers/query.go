package handlers

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/rollcall-go/rollcall/presence"
)

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

// topics returns the topics that a request names by the given parameters, each once; if
// it names none, the whole site. It returns an error for more than limit topics, or if
// the visitor may not see one of them.
func (h *Handler) topics(r *http.Request, v presence.Visitor, q url.Values, limit int, params ...string) ([]presence.Topic, error) {
	var topics []presence.Topic
	for _, param := range params {
		for _, s := range q[param] {
			t, err := presence.ParseTopic(s)
			if err != nil {
				return nil, err
			}
			if slices.Contains(topics, t) {
				continue
			}
			if len(topics) == limit {
				return nil, presence.ErrTooManyTopics
			}
			topics = append(topics, presence.Topic(strings.Clone(string(t)))) // not the whole request
		}
	}
	if topics == nil {
		topics = []presence.Topic{presence.Site}
	}
	if err := h.permit(r, v, topics...); err != nil {
		return nil, err
	}
	return topics, nil
}

// topic returns the one topic that a request names, as topics does.
func (h *Handler) topic(r *http.Request, v presence.Visitor, q url.Values) (presence.Topic, error) {
	topics, err := h.topics(r, v, q, 1, "topic")
	if err != nil {
		return "", err
	}
	return topics[0], nil
}

// errForbidden is the same whether the topic exists or not.
func errForbidden() error { return forbidden("There is no such topic, or you may not see it.") }

// permit returns an error unless the visitor of a request may see all of the topics. It
// calls the site in this goroutine; for an open stream, rights does.
func (h *Handler) permit(r *http.Request, v presence.Visitor, topics ...presence.Topic) error {
	if h.cfg.hasAuthorize {
		ctx, cancel := siteContext(r.Context())
		defer cancel()
		r = r.WithContext(ctx)
	}
	for _, t := range topics {
		if !h.site.authorize(r, v, t) {
			return errForbidden()
		}
	}
	return nil
}

// limit returns how many users the request asks for.
func (h *Handler) limit(q url.Values) (int, error) {
	if !q.Has("limit") {
		return h.cfg.Limit, nil
	}
	n, err := strconv.Atoi(q.Get("limit"))
	if err != nil || n < 1 || n > maxLimit {
		return 0, badRequest("The limit is a number from 1 to " + strconv.Itoa(maxLimit) + ".")
	}
	return n, nil
}

// flag returns a parameter that is 1 or 0. Default: false.
func flag(q url.Values, param string) (bool, error) {
	if !q.Has(param) {
		return false, nil
	}
	on, err := strconv.ParseBool(q.Get(param))
	if err != nil {
		return false, badRequest("The parameter " + param + " is 1 or 0.")
	}
	return on, nil
}
