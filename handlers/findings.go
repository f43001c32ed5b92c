package handlers

import (
	"net/http"
	"slices"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/track"
)

// This file reports mistakes of wiring that show in requests: see presence.Finding. Who
// wires a site often has the browser's console in view and not the log, so the mistakes
// that leave a stream running are also named in the stream.

// notes are what a client is told about its request beside the events. They stand in
// welcome and in the answer to a poll.
type notes struct {
	Refused  []presence.Topic `json:"refused,omitempty"`  // left out, since the visitor may not see them
	Warnings []string         `json:"warnings,omitempty"` // the texts of findings
	App      string           `json:"app,omitempty"`      // of the first poll: Config.App
}

func (n *notes) empty() bool { return len(n.Refused)+len(n.Warnings)+len(n.App) == 0 }

// warn has a client told of a finding, once.
func (n *notes) warn(f presence.Finding) {
	if !slices.Contains(n.Warnings, f.Text()) {
		n.Warnings = append(n.Warnings, f.Text())
	}
}

// foundProxy reports a request that came through a proxy that the site has not named.
func foundProxy(t *track.Tracker, r *http.Request) {
	t.Found(presence.UnnamedProxy, "proxy", remoteIP(r))
}

// refuseTopics reports topics that were left out of a stream, with the cause. A page of a user who
// has signed out since is no mistake of the site. Without the middleware nobody is signed in, which
// has been reported.
func (ss *streams) refuseTopics(q query, topics []presence.Topic, n *notes) {
	n.Refused = localTopics(topics)
	if len(topics) == 0 || q.Get("me") != "" && !q.visitor.SignedIn() || !presence.HasVisitor(q.request.Context()) {
		return
	}
	why := presence.TopicRefused
	if !q.visitor.SignedIn() && !ss.tracker.MetUser() {
		why = presence.NoUser
	}
	for _, t := range topics {
		if ss.cfg.own(t) || ss.cfg.lacksKeeper(t) {
			continue // the site has no say in it, or it has been reported
		}
		ss.tracker.Found(why, "topic", t, "guest", !q.visitor.SignedIn())
		n.warn(why)
	}
}

// findKeeper reports a topic of feeds that is asked of a handler without a Keeper, while the tracker
// has one.
func (ss *streams) findKeeper(topics []presence.Topic, n *notes) {
	for _, t := range topics {
		if ss.cfg.lacksKeeper(t) {
			ss.tracker.Found(presence.NoKeeper, "config", "handlers.Config.Feeds", "topic", t)
			n.warn(presence.NoKeeper)
		}
	}
}
