package handlers

import (
	"cmp"
	"net/http"
	"strings"

	"github.com/rollcall-go/rollcall/presence"
)

// watched passes a request to next, and reports a request for an endpoint that is stopped on its way. An
// error of the site, such as while its database is closed, stops requests for a while and is no mistake in the wiring.
func (h *Handler) watched(next http.Handler, w http.ResponseWriter, r *http.Request) {
	if _, ok := h.endpoints[h.cfg.endpointName(r.URL.Path)]; !ok || r.Method == http.MethodOptions {
		next.ServeHTTP(w, r)
		return
	}
	ctx, approach := presence.ContextWithApproach(r.Context())
	w, answer := watch(w)
	next.ServeHTTP(w, r.WithContext(ctx))
	if approach.Reached() || answer.status >= http.StatusInternalServerError {
		return
	}
	found := presence.LoginWall
	if r.Method == http.MethodPost {
		found = presence.BeatsRefused
	}
	h.tracker.Found(found, "endpoint", h.cfg.endpointName(r.URL.Path), "status", cmp.Or(answer.status, http.StatusOK), "location", shownLocation(w.Header()))
}

// shownLocation returns the address that an answer redirects to, without its query, for a log.
func shownLocation(header http.Header) string {
	to, _, _ := strings.Cut(header.Get("Location"), "?")
	return to[:min(len(to), maxShownPath)]
}

// A watchedWriter knows the status of its answer; 0: the answer has not begun.
type watchedWriter struct {
	http.ResponseWriter
	status int
}

// watch returns a writer that can do what w can, and knows the status. A writer that cannot flush is returned
// as it is: it collects the answer, and the status stays 0.
func watch(w http.ResponseWriter) (http.ResponseWriter, *watchedWriter) {
	answer := &watchedWriter{ResponseWriter: w}
	if _, ok := w.(http.Flusher); !ok {
		return w, answer
	}
	if hijacker, ok := w.(http.Hijacker); ok {
		return struct {
			*watchedWriter
			http.Hijacker
		}{answer, hijacker}, answer
	}
	return answer, answer
}

func (w *watchedWriter) watches() {}

func (w *watchedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *watchedWriter) WriteHeader(status int) {
	if status >= http.StatusOK { // others come before the answer
		w.status = cmp.Or(w.status, status)
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *watchedWriter) Write(p []byte) (int, error) {
	w.status = cmp.Or(w.status, http.StatusOK)
	return w.ResponseWriter.Write(p)
}

func (w *watchedWriter) Flush() { _ = w.FlushError() }

func (w *watchedWriter) FlushError() error {
	w.status = cmp.Or(w.status, http.StatusOK)
	return http.NewResponseController(w.ResponseWriter).Flush()
}
