package handlers

import (
	"net/http"
	"strings"

	"github.com/rollcall-go/rollcall/presence"
)

// Several sites may share a process: see presence.Visitor.Tenant. In this package the names of all visitors,
// topics and users include their tenant. Names are converted in three places:
//
//	in    visitorOf and keptRequest.visitor; parseTopic and insideIDs for what a client writes
//	out   Local, in all that is encoded, beside the events, which the tracker encodes
//	site  siteCode, which calls the site's functions with the names that the site knows
//
// So no endpoint needs to know about tenants (rules T1 to T4).

// visitorOf returns the visitor of a request.
func visitorOf(r *http.Request) presence.Visitor {
	return presence.VisitorFromContext(r.Context()).Inside()
}

// parseTopic returns the topic that a visitor names. It shares no memory with s.
func parseTopic(v presence.Visitor, s string) (presence.Topic, error) {
	t, err := presence.ParseTopic(s)
	if err != nil {
		return "", err
	}
	if v.Tenant == "" {
		return presence.Topic(strings.Clone(s)), nil
	}
	return t.In(v.Tenant), nil
}

// insideIDs adds the visitor's tenant to ids of users.
func insideIDs(v presence.Visitor, ids []presence.UserID) []presence.UserID {
	if v.Tenant != "" {
		for i, id := range ids {
			ids[i] = id.In(v.Tenant)
		}
	}
	return ids
}

// localTopics returns topics without their tenant. It does not change the slice.
func localTopics(topics []presence.Topic) []presence.Topic {
	if len(topics) == 0 || topics[0].Tenant() == "" { // all topics are of one tenant
		return topics
	}
	local := make([]presence.Topic, len(topics))
	for i, t := range topics {
		local[i] = t.Local()
	}
	return local
}

// errNoTenant refuses a request whose tenant is not valid: see core.Config.Tenant.
func errNoTenant() error { return forbidden("There is no such site here.") }
