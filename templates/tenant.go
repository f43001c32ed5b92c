package templates

import (
	"fmt"
	"slices"

	"github.com/rollcall-go/rollcall/presence"
)

// Several sites may share a process: see presence.Visitor.Tenant. In this package topics and
// users have the names of inside, of the tenant of the page's visitor. What a template names is
// taken inside by topicOf and idOf. What is written into a page, and what the site's functions
// get, has the names that the site knows: by Local.

// topicOf returns the topic that a template names. A Go program that gives a template what it
// got of the tracker may name one of the page's tenant as it is.
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
