package handlers

import (
	"net/http"

	"github.com/rollcall-go/rollcall/presence"
)

// widget passes a request for the widget on if the visitor may see its topic.
func (h *Handler) widget(w http.ResponseWriter, r *http.Request, v presence.Visitor) error {
	q, err := h.query(r, v)
	if err != nil {
		return err
	}
	if _, err := q.topic(); err != nil {
		return err
	}
	ctx, cancel := siteContext(r.Context())
	defer cancel()
	return h.toWidget(w, r.WithContext(ctx))
}

// assets passes a request for the widget's script or style on.
func (h *Handler) assets(w http.ResponseWriter, r *http.Request, _ presence.Visitor) error {
	return h.toWidget(w, r)
}

// toWidget passes a request on, without the prefix.
func (h *Handler) toWidget(w http.ResponseWriter, r *http.Request) (err error) {
	if h.cfg.Widget == nil {
		h.tracker.Found(presence.NoScript)
		return notFound("This site has no widget here.")
	}
	http.StripPrefix(h.cfg.prefix, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err = h.site.serveWidget(w, r)
	})).ServeHTTP(w, r)
	return err
}
