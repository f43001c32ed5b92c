package handlers

import (
	"errors"
	"io"
	"net/http"

	"github.com/rollcall-go/rollcall/presence"
)

// Health returns a handler for load balancers and Kubernetes. Mount it at a path of the
// site's own, outside of sessions:
//
//	mux.Handle("GET /healthz", live.Health())
//
// It answers two questions, as plain text. It reads memory only.
//
//   - /healthz?live asks whether the process answers at all. The answer is always 200. Use
//     it for a livenessProbe: restarting a node does not bring a store back.
//   - /healthz asks whether the node is ready. The answer is 503 once the tracker closes, so
//     that a node that shuts down gets no new visitors. It is also 503 while the store has
//     been out for longer than [track.Config.TTL]. During a shorter outage, such as a
//     restart of Redis, it is 200. Use it for a readinessProbe.
//
// If the nodes share a store, all of them lose it at the same time, and a balancer without any ready node
// serves nobody. Pages work without presence. So configure the balancer to serve all nodes if none is ready,
// or use ?live for readiness too.
func (h *Handler) Health() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status, text := http.StatusOK, "ok\n"
		if !r.URL.Query().Has("live") {
			status, text = readiness(h.tracker.Health())
		}
		header := w.Header()
		header.Set("Content-Type", "text/plain; charset=utf-8")
		header.Set("Cache-Control", "no-store")
		w.WriteHeader(status)
		io.WriteString(w, text) // an error means that the client has gone
	})
}

// readiness returns the answer for an error of [track.Tracker.Health].
func readiness(err error) (status int, text string) {
	switch {
	case err == nil:
		return http.StatusOK, "ok\n"
	case errors.Is(err, presence.ErrClosed):
		return http.StatusServiceUnavailable, "stopping\n"
	}
	return http.StatusServiceUnavailable, "the store has been out for longer than the ttl\n"
}
