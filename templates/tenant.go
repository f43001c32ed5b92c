package templates

import (
	"fmt"
	"slices"

	"github.com/rollcall-go/rollcall/presence"
)

// Several sites may share a process: see presence.Visitor.Tenant. In this package the names of topics
// and users include the tenant of the page's visitor. topicOf and idOf add the tenant to a name from
// a template. Local removes it again, for names in a page and for arguments of the site's functions.

// topicOf returns the topic that a template names. The name may include the page's tenant already,
// because a Go program may give a template a topic that it got from the tracker.
func (v *visit) topicOf(topic any) (presence.Topic, error) {
	name := presence.Topic(fmt.Sprint(topic))
	if name.Tenant() == v.visitor.Tenant {
		name = name.Local()
	}
	parsed, err := presence.ParseTopic(string(name))
	if err != nil {
		return "", err
	}
	return parsed.In(v.visitor.Tenant), nil
}

// idOf returns the user whom a template names, as topicOf does.
func (v *visit) idOf(id any) presence.UserID {
	name := presence.UserID(fmt.Sprint(id))
	if name.Tenant() == v.visitor.Tenant {
		name = name.Local()
	}
	return name.In(v.visitor.Tenant)
}

// localIDs returns ids as the site knows them. It does not change the slice.
func localIDs(ids []presence.UserID) []presence.UserID {
	ids = slices.Clone(ids)
	for i, id := range ids {
		ids[i] = id.Local()
	}
	return ids
}
