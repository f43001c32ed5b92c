package handlers

import (
	"net/http"
)

// widget gives a request for the widget on, once the visitor may see its topic.
func (h *Handler) widget(w http.ResponseWriter, r *http.Request) error {
	q, err := parseQuery(r)
	if err != nil {
		return err
	}
	if _, err := h.topic(r, q); err != nil {
		return err
	}
	return h.assets(w, r)
}

// assets gives a request for the widget's script or style on.
func (h *Handler) assets(w http.ResponseWriter, r *http.Request) error {
	if h.cfg.Widget == nil {
		return notFound("This site has no widget here.")
	}
	http.StripPrefix(h.cfg.Prefix, h.cfg.Widget).ServeHTTP(w, r)
	return nil
}
