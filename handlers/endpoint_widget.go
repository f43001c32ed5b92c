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
	ctx, cancel := siteContext(r.Context())
	defer cancel()
	return h.assets(w, r.WithContext(ctx))
}

// assets gives a request for the widget's script or style on.
func (h *Handler) assets(w http.ResponseWriter, r *http.Request) (err error) {
	if h.cfg.Widget == nil {
		return notFound("This site has no widget here.")
	}
	http.StripPrefix(h.prefix, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err = h.serveWidget(w, r)
	})).ServeHTTP(w, r)
	return err
}
