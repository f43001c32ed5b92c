package handlers

import (
	"net/http"
	"strings"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/track"
)

// widgetEndpoints pass requests on to the site's widget.
type widgetEndpoints struct {
	tracker *track.Tracker
	cfg     *settings
	site    *siteCode
}

// widget passes a request on to the site's widget, if the visitor may see its topic.
func (e *widgetEndpoints) widget(w http.ResponseWriter, r *http.Request, v presence.Visitor) error {
	q := e.site.query(r, v)
	if q.topic(); q.err != nil {
		return q.err
	}
	ctx, cancel := siteContext(r.Context())
	defer cancel()
	return e.toWidget(w, r.WithContext(ctx))
}

// assets passes on a request for the widget's script or style.
func (e *widgetEndpoints) assets(w http.ResponseWriter, r *http.Request, _ presence.Visitor) error {
	if strings.HasSuffix(r.URL.Path, ".js") {
		e.tracker.MeetScript()
	}
	return e.toWidget(w, r)
}

// toWidget passes a request on, without the prefix.
func (e *widgetEndpoints) toWidget(w http.ResponseWriter, r *http.Request) (err error) {
	if e.cfg.Widget == nil {
		e.tracker.Found(presence.NoScript)
		return notFound("This site has no widget here.")
	}
	http.StripPrefix(e.cfg.prefix, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err = e.site.serveWidget(w, r)
	})).ServeHTTP(w, r)
	return err
}
