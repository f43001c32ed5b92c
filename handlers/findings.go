package handlers

import (
	"net/http"

	"github.com/rollcall-go/rollcall/presence"
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

func (n *notes) warn(f presence.Finding) { n.Warnings = append(n.Warnings, f.Text()) }

// foundProxy reports a request that came through a proxy that the site has not named.
func (h *Handler) foundProxy(r *http.Request) {
	h.tracker.Found(presence.UnnamedProxy, "proxy", remoteIP(r))
}

// refuseTopics reports topics that were left out of a stream. A page of a user who has
// signed out since is no mistake of the site.
func (h *Handler) refuseTopics(q query, topics []presence.Topic, n *notes) {
	n.Refused = localTopics(topics)
	if len(topics) == 0 || q.Get("me") != "" && !q.visitor.SignedIn() {
		return
	}
	for _, t := range topics {
		if h.cfg.own(t) {
			continue // of a guest: the site has no say in it
		}
		h.tracker.Found(presence.TopicRefused, "topic", t, "guest", !q.visitor.SignedIn())
	}
}
