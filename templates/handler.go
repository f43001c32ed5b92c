package templates

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"html/template"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/internal/gate"
	"github.com/rollcall-go/rollcall/internal/gzipped"
	"github.com/rollcall-go/rollcall/internal/problem"
	"github.com/rollcall-go/rollcall/presence"
)

// Handler returns the handler for Config.Widget of the package handlers.
//
// It serves GET /widget?topic=…&max=…&form=…, the widget as an HTML fragment. With form=typing
// this is the line that says who is typing. The topic is one of the tenant of the request's
// visitor. A request for the widget is not a page view.
//
// It also serves GET /assets/…, the script and the style, under names with a hash of their content.
// It packs these by gzip if the browser accepts that, unless a middleware before it packs answers.
//
// A site in several languages has Widgets for each language, over one tracker. It calls Handler of
// one of them, and passes all others, so that the texts of every language are served.
//
// The handler checks no permissions: any visitor who reaches it sees any topic. The package
// handlers asks its Config.Authorize first.
func (ws *Widgets) Handler(others ...*Widgets) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, isAsset := strings.CutPrefix(r.URL.Path, "/assets/")
		var refused *problem.Problem
		switch {
		case !isAsset && r.URL.Path != "/widget":
			refused = problem.New(http.StatusNotFound, "There is nothing here.")
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			refused = problem.New(http.StatusMethodNotAllowed, "Use GET or HEAD.").With("Allow", "GET, HEAD")
		case isAsset:
			refused = ws.withAsset(name, others).serveAsset(w, r, name)
		default:
			refused = ws.serveWidget(w, r)
		}
		if refused != nil {
			refused.Write(w)
		}
	})
}

// withAsset returns the widgets that have a file with a name: ws, unless only another one has it.
func (ws *Widgets) withAsset(name string, others []*Widgets) *Widgets {
	for _, w := range append([]*Widgets{ws}, others...) {
		if _, ok := w.assets.byName[name]; ok {
			return w
		}
	}
	return ws
}

// serveAsset answers with a file. Like the functions below it returns the answer in its place if it cannot.
func (ws *workshop) serveAsset(w http.ResponseWriter, r *http.Request, name string) *problem.Problem {
	a, lasts, ok := ws.assets.find(name)
	if !ok {
		return problem.New(http.StatusNotFound, "There is no such file. Its name changes with its content: load the page again.")
	}
	h := w.Header()
	h.Set("Content-Type", a.contentType)
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	h.Set("ETag", `"`+a.name+`"`)
	if !lasts {
		h.Set("Cache-Control", "no-cache")
	}
	if name == clientName { // it imports the script, so it changes with the script
		h.Set("ETag", `"`+ws.assets.script+`"`)
	}
	h.Set("X-Content-Type-Options", "nosniff")
	gzipped.Vary(h, "Accept-Encoding")
	body := a.body
	if packed := a.packed(); packed != "" && gzipped.Wanted(w, r) {
		body = packed
		h.Set("Content-Encoding", "gzip")
		h.Set("Content-Length", strconv.Itoa(len(packed))) // ServeContent leaves it out of packed answers
		h.Set("ETag", "W/"+h.Get("ETag"))                  // weak: other bytes of the same file
	}
	r.Header.Del("Range") // no page needs a part, and one request may name thousands of them
	http.ServeContent(w, r, "", time.Time{}, strings.NewReader(body))
	return nil
}

func (ws *Widgets) serveWidget(w http.ResponseWriter, r *http.Request) *problem.Problem {
	query := r.URL.Query()
	if !query.Has("topic") {
		query.Set("topic", string(presence.Site)) // the default of the package handlers too
	}
	topic, err := presence.ParseTopic(query.Get("topic"))
	if err != nil {
		return problem.New(http.StatusBadRequest, err.Error())
	}
	topic = topic.In(presence.VisitorFromContext(r.Context()).Tenant)
	if query.Has("part") {
		return ws.serveFragment(w, r, topic, query)
	}
	if query.Get("form") == typingForm {
		return ws.serveTyping(w, r, topic)
	}
	o, detail := ws.optionsFor(topic).of(query)
	if detail != "" {
		return problem.New(http.StatusBadRequest, detail)
	}
	view, err := ws.tracker.View(r.Context(), topic)
	if err != nil { // the page keeps the widget that it has
		return problem.New(http.StatusServiceUnavailable, "Who is online is not known right now.").With("Retry-After", "5")
	}
	about := gate.Bytes(min(o.max, view.Total) * userBytes)
	if !gate.Pays(r.Context(), about) {
		return unpaid()
	}
	html, err := ws.known(knownTopic{topic: topic, view: view}, ws.allowed(topic, o))
	if err != nil {
		return problem.New(http.StatusInternalServerError, "The widget could not be rendered.")
	}
	gate.Owes(r.Context(), gate.Bytes(len(html))-about)
	writeHTML(w, html)
	return nil
}

// userBytes is about how many bytes the item of a user has.
const userBytes = 300

// unpaid is the answer to a visitor who cannot pay now: see the package gate.
func unpaid() *problem.Problem {
	return problem.New(http.StatusTooManyRequests, "Too many requests within one second.").With("Retry-After", "1")
}

// serveTyping answers with the line that says who is typing.
func (ws *workshop) serveTyping(w http.ResponseWriter, r *http.Request, topic presence.Topic) *problem.Problem {
	view, err := ws.tracker.View(r.Context(), topic)
	if err != nil {
		return problem.New(http.StatusServiceUnavailable, "Who is typing is not known right now.").With("Retry-After", "5")
	}
	writeHTML(w, ws.typistsNow(view, presence.VisitorFromContext(r.Context()).Inside()))
	return nil
}

// serveFragment answers with the content of a part of a page. It answers 304 if the browser has
// this content already.
func (ws *Widgets) serveFragment(w http.ResponseWriter, r *http.Request, topic presence.Topic, query url.Values) *problem.Problem {
	f, detail := parseFragment(topic, query)
	if detail != "" {
		return problem.New(http.StatusBadRequest, detail)
	}
	html, err := fragmentParts[f.part](&ws.Page(r).parts, f)
	if errors.Is(err, errUnpaid) {
		return unpaid()
	}
	if err != nil {
		return problem.New(http.StatusInternalServerError, "The part could not be rendered.")
	}
	gate.Owes(r.Context(), gate.Bytes(len(html)))
	sum := sha256.Sum256([]byte(topic.Tenant() + string(html)))
	etag := `"` + hex.EncodeToString(sum[:8]) + `"`
	w.Header().Set("ETag", etag)
	if strings.TrimPrefix(r.Header.Get("If-None-Match"), "W/") == etag {
		w.Header().Set("Cache-Control", "private, no-cache")
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	writeHTML(w, html)
	return nil
}

func writeHTML(w http.ResponseWriter, html template.HTML) {
	h := w.Header()
	h.Set(problem.Header, "1")
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "private, no-cache")
	h.Set("X-Content-Type-Options", "nosniff")
	io.WriteString(w, string(html))
}
