package handlers

import (
	"net/http"
	"slices"

	"github.com/rollcall-go/rollcall/internal/netaddr"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/track"
)

// This file reports wiring mistakes that show in requests: see presence.Finding. The author of a site often
// looks at the browser's console and not at the log. So mistakes that do not stop a stream are also named in
// the stream.

// notes are what a client is told about its request, in addition to the events. They are sent in welcome and
// in the answer to a poll.
type notes struct {
	Refused  []presence.Topic `json:"refused,omitempty"`  // left out because the visitor may not see them
	Warnings []string         `json:"warnings,omitempty"` // the texts of findings
	App      string           `json:"app,omitempty"`      // Config.App; only in the first poll
}

func (n *notes) empty() bool { return len(n.Refused)+len(n.Warnings)+len(n.App) == 0 }

// warn adds a finding to the notes, once.
func (n *notes) warn(f presence.Finding) {
	if !slices.Contains(n.Warnings, f.Text()) {
		n.Warnings = append(n.Warnings, f.Text())
	}
}

// foundProxy reports a request that came through a proxy that the site has not configured.
func foundProxy(t *track.Tracker, r *http.Request) {
	t.Found(presence.UnnamedProxy, "proxy", remoteIP(r))
}

// findTimeouts reports a server that has no timeout for the header of a request. It looks only at requests from
// public addresses: others come from a proxy, which has timeouts of its own, or from a test.
func (h *Handler) findTimeouts(r *http.Request) {
	server, ok := r.Context().Value(http.ServerContextKey).(*http.Server)
	if !ok || server.ReadHeaderTimeout != 0 || server.ReadTimeout != 0 {
		return
	}
	if ip, _ := netaddr.Parse(r.RemoteAddr); ip.IsGlobalUnicast() && !ip.IsPrivate() {
		h.tracker.Found(presence.NoTimeouts)
	}
}

// refuseTopics reports topics that were left out of a stream, with the cause. If the user of a page has signed
// out since, that is no mistake of the site. Without the middleware nobody is signed in, and that has been
// reported already.
func (ss *streams) refuseTopics(q *query, topics []presence.Topic, n *notes) {
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
			continue // the site does not decide this, or it has been reported
		}
		ss.tracker.Found(why, "topic", t, "guest", !q.visitor.SignedIn())
		n.warn(why)
	}
}

// findKeeper reports a request for a feed if this handler has no Keeper while the tracker has one.
func (ss *streams) findKeeper(topics []presence.Topic, n *notes) {
	for _, t := range topics {
		if ss.cfg.lacksKeeper(t) {
			ss.tracker.Found(presence.NoKeeper, "config", "handlers.Config.Feeds", "topic", t)
			n.warn(presence.NoKeeper)
		}
	}
}
