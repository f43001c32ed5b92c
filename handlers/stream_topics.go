package handlers

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed"
)

// This file decides what a visitor may do with a topic. There are three sorts of topics:
//
//	rosters     Config.Authorize says who may see and follow them
//	own topics  people and inbox: a signed-in user follows that user's own, and the site is
//	            not asked
//	rooms       feed:…: Config.Authorize says who may follow them
//
// Own topics and rooms have no roster. An endpoint that shows a roster answers for them as for a forbidden
// topic, without asking the site.

// A right reports whether the visitor of a request may do something with a topic.
type right func(r *http.Request, v presence.Visitor, t presence.Topic) bool

// lists is the right to see a topic's roster.
func (s *siteCode) lists(r *http.Request, v presence.Visitor, t presence.Topic) bool {
	return !s.cfg.rosterless(t) && s.authorize(r, v, t)
}

// follows is the right to follow a topic in a stream, or to read a feed.
func (s *siteCode) follows(r *http.Request, v presence.Visitor, t presence.Topic) bool {
	if s.cfg.own(t) {
		return v.SignedIn()
	}
	return s.authorize(r, v, t)
}

// own reports whether each visitor has a topic of this name: people or inbox. On a site without a Directory,
// or without feeds, these are topics like any other.
func (s *settings) own(t presence.Topic) bool {
	return s.people && t.Local() == presence.PeopleTopic || s.Feeds != nil && t.Local() == feed.InboxTopic
}

// lacksKeeper reports whether a topic belongs to feeds that the tracker has and this handler lacks.
func (s *settings) lacksKeeper(t presence.Topic) bool {
	return s.Feeds == nil && (t.Local() == feed.InboxTopic || t.Kind() == roomKind) && s.rosterless(t)
}

// asked returns the topics about which the site must be asked. It does not change the slice.
func (s *settings) asked(v presence.Visitor, topics []presence.Topic) []presence.Topic {
	if !v.SignedIn() || !slices.ContainsFunc(topics, s.own) {
		return topics
	}
	return slices.DeleteFunc(slices.Clone(topics), s.own)
}

// followable returns an error for topics that the visitor cannot follow whatever the site says. A topic that
// looks like a feed and is none comes first. The other error is [presence.ErrGuest], for a guest's own topics.
func (s *settings) followable(v presence.Visitor, topics ...presence.Topic) (err error) {
	for _, t := range topics {
		if !s.named(t) {
			return badRequest(fmt.Sprintf("There is no feed %q. The topics of feeds are inbox, which is the visitor's own, and rooms such as feed:thread:1.", t.Local()))
		}
		if s.own(t) && !v.SignedIn() {
			err = presence.ErrGuest
		}
	}
	return err
}

// named reports whether a topic that looks like a feed is the name of one.
func (s *settings) named(t presence.Topic) bool {
	if s.Feeds == nil || t.Local() == feed.InboxTopic || t.Kind() != feed.InboxTopic.Kind() && t.Kind() != roomKind {
		return true
	}
	_, err := feed.NameOf(t.Local(), presence.Visitor{})
	return err == nil
}

// roomKind is the kind of the topics of rooms.
const roomKind = "feed"
